# SPDX-License-Identifier: Apache-2.0
#
# Tests of the build's own parts.  Other tests are declared by the fragment of
# the part that they test.

CHECK_SUITES += build
build_CMD := $(PYTEST) tests/build
build_FORMAT := pytest
build_DEPS := $(DEPS_STAMP)

# README.md's way to attach a bridge, followed.
CHECK_SUITES += readme
readme_CMD := tests/integration/readme
readme_FORMAT := tap
readme_TIMEOUT := 120
readme_DEPS := all

# docs/dpdk.md, done.  It is skipped where there are no huge pages.
CHECK_SUITES += dpdk
dpdk_CMD := tests/integration/dpdk
dpdk_FORMAT := tap
dpdk_TIMEOUT := 120
dpdk_DEPS := all

include tests/api/module.mk
include tests/bench/module.mk
include tests/conformance/module.mk
include tests/ovs/module.mk
include tests/package/module.mk

# The data plane's own sources of Open vSwitch's extension, compiled into its
# tests with sanitizers, so that these run and not what the library holds of
# them.  They keep the warnings of the tree that they live in.
LB_SRCS := $(addprefix ovs-ext/src/lib/,lb-calendar.c lb-forward.c \
	lb-header.c meta-flow-lb.c odp-lb.c ofp-lb.c)
LB_TESTS := test-lb-bounds test-lb-calendar test-lb-execute test-lb-fields \
	test-lb-forward test-lb-group test-lb-header test-lb-odp test-lb-ofp

define lb_test
UNIT_TESTS += $(1)
$(1)_SRCS := tests/unit/$(1).c tests/unit/lb-frame.c
$(1)_OVS := yes
build/san/bin/$(1): $(patsubst %.c,build/san/obj/%.o,$(LB_SRCS))
build/plain/$(1): $(patsubst %.c,build/obj/%.o,$(LB_SRCS))
endef
$(foreach t,$(LB_TESTS),$(eval $(call lb_test,$(t))))

build/obj/ovs-ext/%.o build/san/obj/ovs-ext/%.o build/fuzz/obj/ovs-ext/%.o: \
		WARNINGS := -Wall -Wextra -Wno-sign-compare -Werror
build/obj/ovs-ext/%.o build/san/obj/ovs-ext/%.o build/fuzz/obj/ovs-ext/%.o: \
		USERS := test-lb-header
ALL_OBJS += $(foreach d,build/obj build/san/obj,$(patsubst \
	%.c,$(d)/%.o,$(LB_SRCS)))
$(ALL_OBJS): | $(OVS_STAMP)

# Fuzzers of the same, and of what of Open vSwitch stands between them and the
# wire: these files of its library are compiled once more, with clang,
# AddressSanitizer and coverage (UndefinedBehaviorSanitizer watches ours only).
LB_FUZZERS := fuzz-lb-odp fuzz-lb-openflow fuzz-lb-packet
LB_FUZZ_OVS := $(patsubst %,build/fuzz/ovs/%.o,csum dp-packet dynamic-string \
	flow match meta-flow netlink nx-match odp-execute odp-util ofp-actions \
	ofp-flow ofp-group ofp-match ofp-msgs ofp-parse ofp-prop ofpbuf \
	packets util)

define lb_fuzzer
FUZZERS += $(1)
$(1)_SRCS := tests/fuzz/$(1).c
$(1)_SEEDS := tests/fuzz/seeds/$(patsubst fuzz-%,%,$(1))
$(1)_OVS := yes
build/fuzz/bin/$(1): $(LB_FUZZ_OVS) \
		$(patsubst %.c,build/fuzz/obj/%.o,$(LB_SRCS))
endef
$(foreach f,$(LB_FUZZERS),$(eval $(call lb_fuzzer,$(f))))
ALL_OBJS += $(patsubst %.c,build/fuzz/obj/%.o,$(LB_SRCS))
$(patsubst %.c,build/fuzz/obj/%.o,$(LB_SRCS)): | $(OVS_STAMP)

$(LB_FUZZ_OVS): build/fuzz/ovs/%.o: | $(OVS_STAMP)
	@mkdir -p $(@D)
	$(call quiet,CC,Open vSwitch lib/$*.c (fuzzed))$(CLANG) -w -g -O1 \
		-fno-omit-frame-pointer -fno-strict-aliasing -mssse3 \
		-fsanitize=address,fuzzer-no-link -D_GNU_SOURCE -DHAVE_CONFIG_H \
		-Ibuild/ovs-src -Ibuild/ovs-src/include -Ibuild/ovs-src/lib \
		$$(pkg-config --cflags-only-I libdpdk) -MD -MP -c -o $@ \
		build/ovs-src/lib/$*.c
-include $(LB_FUZZ_OVS:.o=.d)
