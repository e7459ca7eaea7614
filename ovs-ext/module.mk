# SPDX-License-Identifier: Apache-2.0
#
# Open vSwitch with our extension, and its tests.

OVS_INPUTS := $(sort $(shell find ovs-ext/src ovs-ext/patches -type f \
	! -name '*~' ! -name '.*' ! -name 'bench-*' ! -name series.bench \
	2>/dev/null))
OVS_BENCH_INPUTS := $(sort $(wildcard ovs-ext/bench-src/*/*.[ch] \
	ovs-ext/patches/bench-* ovs-ext/patches/series.bench))
OVS_RECIPE := ovs-ext/build mk/packages.txt \
	$(wildcard /usr/src/openvswitch/openvswitch.tar.gz)

.PHONY: ovs ovs-stock ovs-bench FORCE
ovs: $(OVS_STAMP)
ovs-stock: build/stamps/ovs-stock
ovs-bench: build/stamps/ovs-bench

# The list of inputs is one of the inputs: a file that was removed counts.
build/stamps/ovs-inputs: FORCE
	@mkdir -p $(@D)
	@echo '$(OVS_INPUTS)' | cmp -s - $@ || echo '$(OVS_INPUTS)' >$@

build/stamps/ovs build/stamps/ovs-bench: $(OVS_INPUTS) build/stamps/ovs-inputs
build/stamps/ovs-bench: $(OVS_BENCH_INPUTS)
build/stamps/ovs build/stamps/ovs-stock build/stamps/ovs-bench: \
		$(OVS_RECIPE) | build/stamps/deps
	@JOBS=$(JOBS) ovs-ext/build $(or $(patsubst ovs-%,%,$(filter \
		ovs-%,$(@F))),patched)
	@touch $@

# Open vSwitch's own test suite, compared with what the unpatched tree did.
# The tests use the tree itself, not what was installed.
CHECK_SUITES += upstream
upstream_CMD := ovs-ext/upstream-tests/run build/ovs-src \
	ovs-ext/upstream-tests/quick.txt
upstream_FORMAT := tap
upstream_TIMEOUT := 1200
upstream_DEPS := build/stamps/ovs

.PHONY: ovs-check ovs-check-quick
ovs-check-quick: check-upstream

ovs-check: build/stamps/ovs
	@mkdir -p build/check
	@printf '%s\t' upstream-all tap 14400 >build/check/upstream-all.suite
	@echo ovs-ext/upstream-tests/run build/ovs-src \
		>>build/check/upstream-all.suite
	@$(PYTHON) tests/run-checks build/check/upstream-all.suite build/check
