# SPDX-License-Identifier: Apache-2.0
#
# Protocol buffers: what a fragment names in PROGRAM_PROTOS is compiled to C
# below build/gen, and is part of PROGRAM.  Sources include the header by the
# .proto's path from the top: "controller/api/admin.pb-c.h".
#
# The compiler takes names of methods as they are, words of C among them.

proto_users := $(PROGRAMS) $(UNIT_TESTS) $(HELPERS) $(FUZZERS)
PROTOS := $(sort $(foreach p,$(proto_users),$($(p)_PROTOS)))
PROTO_HEADERS := $(patsubst %.proto,build/gen/%.pb-c.h,$(PROTOS))

$(foreach p,$(proto_users),$(if $($(p)_PROTOS),$(eval \
	$(p)_SRCS += $(patsubst %.proto,build/gen/%.pb-c.c,$($(p)_PROTOS)))))

build/gen/%.pb-c.c build/gen/%.pb-c.h: %.proto | $(DEPS_STAMP)
	@mkdir -p build/gen
	$(call quiet,PROTO,$<)protoc-c --proto_path=. \
		--proto_path=$(PROTO_INCLUDE) --c_out=build/gen $<
	@sed -i 's/(\*register)/(*register_)/' build/gen/$*.pb-c.h

# What protobuf itself defines, such as google/protobuf/timestamp.proto.
PROTO_INCLUDE := /usr/include
build/gen/google/%.pb-c.c build/gen/google/%.pb-c.h: | $(DEPS_STAMP)
	@mkdir -p build/gen
	$(call quiet,PROTO,google/$*.proto)protoc-c \
		--proto_path=$(PROTO_INCLUDE) --c_out=build/gen google/$*.proto

# The compiler's output is not held to our set of warnings.
$(foreach d,build/obj build/san/obj build/fuzz/obj,$(patsubst \
	%.proto,$(d)/build/gen/%.pb-c.o,$(PROTOS))): WARNINGS := -Wall -Werror
