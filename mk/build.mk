# SPDX-License-Identifier: Apache-2.0
#
# How programs, unit tests and fuzzers that the fragments name are built.

BUILD_FILES := Makefile $(wildcard mk/*.mk) mk/banned.h
FRAGMENTS := $(filter %/module.mk,$(MAKEFILE_LIST))

.PHONY: deps
deps: $(DEPS_STAMP)

$(DEPS_STAMP): mk/packages.txt mk/deps
	@mkdir -p $(@D)
	@mk/deps
	@touch $@

# $(call link_libs,PROGRAM): what PROGRAM is linked with.  Evaluated when the
# command is run, that is, after packages and Open vSwitch were installed.
link_libs = $(if $($(1)_PKGS),$(shell pkg-config --libs $($(1)_PKGS))) \
	$(if $($(1)_OVS),$(OVS_LIBS)) $($(1)_LIBS)
compile_flags = $(if $($(1)_PKGS),$(shell pkg-config --cflags $($(1)_PKGS))) \
	$(if $($(1)_OVS),$(OVS_CFLAGS)) $($(1)_CFLAGS)

# $(call program_rules,PROGRAM,FILE,OBJDIR,KIND): FILE is linked from the
# objects of PROGRAM's sources, which go to OBJDIR; KIND is the prefix of the
# variables _CC, _CFLAGS, _LDLIBS.
define program_rules
$(2): $(patsubst %.c,$(3)/%.o,$($(1)_SRCS)) $(if $($(1)_OVS),$(OVS_STAMP)) \
		$(FRAGMENTS)
	@mkdir -p $$(@D)
	$$(call quiet,LD,$$@)$$($(4)_CC) $$($(4)_CFLAGS) -pthread $$(LDFLAGS) \
		-o $$@ $$(filter %.o,$$^) $$(call link_libs,$(1)) $$($(4)_LDLIBS)

$(patsubst %.c,$(3)/%.o,$($(1)_SRCS)): USERS += $(1)
$(patsubst %.c,$(3)/%.o,$($(1)_SRCS)): USED_IN := $(4)
ifneq ($($(1)_OVS),)
$(patsubst %.c,$(3)/%.o,$($(1)_SRCS)): | $(OVS_STAMP)
endif
ALL_OBJS += $(patsubst %.c,$(3)/%.o,$($(1)_SRCS))
endef

# $(call object_rule,OBJDIR,KIND)
define object_rule
$(1)/%.o: %.c $(BUILD_FILES) | $(DEPS_STAMP)
	@mkdir -p $$(@D)
	$$(call quiet,CC,$$<$$($(2)_NOTE))$$($(2)_CC) $$(BASE_CFLAGS) \
		$$(WARNINGS) $$($(2)_CFLAGS) $$(user_flags) $$(CFLAGS) \
		-MD -MP -c -o $$@ $$<
endef

# The flags that the programs which contain the object ask for, each once.
user_flags = $(foreach u,$(sort $(USERS)),$(call compile_flags,$(u)))

plain_CC = $(CC)
plain_CFLAGS = $(OPT)
test_CC = $(CC)
test_CFLAGS = $(OPT)
test_LDLIBS = -lcmocka
san_CC = $(CC)
san_CFLAGS = $(SAN_CFLAGS)
san_LDLIBS = -lcmocka
san_NOTE := $(space)(sanitized)
fuzz_CC = $(CLANG)
fuzz_CFLAGS = $(FUZZ_CFLAGS)
fuzz_NOTE := $(space)(fuzzed)

$(foreach p,$(PROGRAMS),$(eval \
	$(call program_rules,$(p),build/bin/$(p),build/obj,plain)))
$(foreach p,$(UNIT_TESTS),$(eval \
	$(call program_rules,$(p),build/plain/$(p),build/obj,test)))
$(foreach p,$(UNIT_TESTS),$(eval \
	$(call program_rules,$(p),build/san/bin/$(p),build/san/obj,san)))
$(foreach p,$(HELPERS),$(eval \
	$(call program_rules,$(p),build/san/bin/$(p),build/san/obj,san)))
$(foreach p,$(HELPERS),$(eval \
	$(call program_rules,$(p),build/plain/$(p),build/obj,test)))
$(foreach p,$(FUZZERS),$(eval \
	$(call program_rules,$(p),build/fuzz/bin/$(p),build/fuzz/obj,fuzz)))
$(eval $(call object_rule,build/obj,plain))
$(eval $(call object_rule,build/san/obj,san))
$(eval $(call object_rule,build/fuzz/obj,fuzz))

PROGRAM_FILES := $(addprefix build/bin/,$(PROGRAMS))
UNIT_FILES := $(addprefix build/san/bin/,$(UNIT_TESTS))
FUZZ_FILES := $(addprefix build/fuzz/bin/,$(FUZZERS))

all: $(DEPS_STAMP) ovs programs
.PHONY: programs units fuzzers
programs: $(PROGRAM_FILES)
units: $(UNIT_FILES)
fuzzers: $(FUZZ_FILES)

# Objects are made again when a generated header is, once it is known that they
# include it; the first time, it only has to be there.
$(ALL_OBJS): | $(PROTO_HEADERS)

# Formatting and static checks look at every C file that a fragment lists,
# and at the headers beside them.
C_SRCS := $(filter-out build/%,$(sort $(foreach p,$(PROGRAMS) $(UNIT_TESTS) \
	$(HELPERS) $(FUZZERS),$($(p)_SRCS))))
C_FILES := $(sort $(C_SRCS) $(LINT_C) \
	$(wildcard $(addsuffix *.h,$(sort $(dir $(C_SRCS) $(LINT_C))))))
TIDY_OBJS := $(patsubst %.c,build/tidy/%.ok,$(C_SRCS))

.PHONY: format tidy
format: | $(DEPS_STAMP)
	clang-format -i $(C_FILES)

tidy: $(TIDY_OBJS)

$(foreach p,$(PROGRAMS) $(UNIT_TESTS) $(HELPERS) $(FUZZERS),$(eval \
	$(patsubst %.c,build/tidy/%.ok,$($(p)_SRCS)): USERS += $(p)))
$(foreach p,$(PROGRAMS) $(UNIT_TESTS) $(HELPERS) $(FUZZERS),$(if $($(p)_OVS),$(eval \
	$(patsubst %.c,build/tidy/%.ok,$($(p)_SRCS)): | $(OVS_STAMP))))

build/tidy/%.ok: %.c $(filter %.h,$(C_FILES)) .clang-tidy $(BUILD_FILES) \
		| $(DEPS_STAMP) $(PROTO_HEADERS)
	@mkdir -p $(@D)
	$(call quiet,TIDY,$<)clang-tidy --quiet --warnings-as-errors='*' $< -- \
		$(BASE_CFLAGS) $(user_flags) $(CFLAGS) >$@.log 2>&1 \
		|| { cat $@.log; exit 1; }
	@touch $@

-include $(ALL_OBJS:.o=.d)

.PHONY: clean distclean
clean:
	rm -rf build/bin build/gen build/obj build/plain build/san build/fuzz build/tidy \
		build/check
distclean:
	rm -rf build

.SUFFIXES:
.DELETE_ON_ERROR:
