# SPDX-License-Identifier: Apache-2.0
#
# "make bench" measures the data path, then changes epochs under load.

LINT_C += tests/bench/check-stream.c

BENCH_DEPS := build/stamps/ovs-bench build/bench/check-stream

.PHONY: bench epoch-soak
bench: $(BENCH_DEPS) $(OVS_STAMP) build/stamps/ovs-stock
	@tests/bench/bench $(BENCH_ARGS)
	@tests/bench/epoch-soak

epoch-soak: $(BENCH_DEPS)
	@tests/bench/epoch-soak

build/bench/check-stream: tests/bench/check-stream.c mk/banned.h \
		| $(DEPS_STAMP)
	@mkdir -p $(@D)
	$(call quiet,CC,$<)$(CC) $(BASE_CFLAGS) $(WARNINGS) $(OPT) -o $@ $<

# What the measurements themselves stand on.
CHECK_SUITES += bench-parts
bench-parts_CMD := $(PYTEST) tests/bench
bench-parts_FORMAT := pytest
bench-parts_DEPS := build/bench/check-stream

# What is computed in a control period, at full size.
UNIT_TESTS += core-scale
core-scale_SRCS := tests/bench/core-scale.c $(core_SRCS) $(rules_SRCS) \
	$(book_SRCS) controller/store/overlay-record.c
core-scale_PKGS := $(token_PKGS)

# Many workers that report.  "sendstate-rate" finds at which rate that breaks.
HELPERS += sendstate
sendstate_SRCS := tests/bench/sendstate.c controller/api/api-client.c \
	controller/core/mem.c controller/core/addr.c lib/ejfat-uri.c \
	$(grpc_client_SRCS)
sendstate_PROTOS := $(lb_PROTOS)
sendstate_PKGS := $(grpc_PKGS) $(grpc_client_PKGS)
