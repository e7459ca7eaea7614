# SPDX-License-Identifier: Apache-2.0
#
# The demo, and scenarios with the real switch.

.PHONY: demo
demo: all
	@mininet/demo

.PHONY: demo-dynamic
demo-dynamic: all
	@mininet/demo-dynamic

CHECK_SUITES += dynamic
dynamic_CMD := mininet/demo-dynamic --tap
dynamic_FORMAT := tap
dynamic_TIMEOUT := 200
dynamic_DEPS := all

# A few kills are a test; "mininet/kill9" by itself is 200.
CHECK_SUITES += kill9
kill9_CMD := mininet/kill9 --kills 8
kill9_FORMAT := tap
kill9_TIMEOUT := 200
kill9_DEPS := all

CHECK_SUITES += scenarios
scenarios_CMD := mininet/scenarios
scenarios_FORMAT := tap
scenarios_TIMEOUT := 300
scenarios_DEPS := all

CHECK_SUITES += mutants
mutants_CMD := mininet/mutants
mutants_FORMAT := tap
mutants_TIMEOUT := 300
mutants_DEPS := all

CHECK_SUITES += account
account_CMD := $(PYTEST) tests/integration/test_account.py \
	tests/integration/test_audit.py
account_FORMAT := pytest
account_TIMEOUT := 120
account_DEPS := $(DEPS_STAMP)

EXAMPLES += configs/mininet.conf
CHECK_SUITES += mininet
mininet_CMD := $(PYTEST) tests/integration/test_mininet.py
mininet_FORMAT := pytest
mininet_TIMEOUT := 300
mininet_DEPS := all

CHECK_SUITES += load
load_CMD := mininet/load
load_FORMAT := tap
load_TIMEOUT := 600
load_DEPS := all

# What the "measure" program finds is for people, not for tests.
.PHONY: measure
measure: all
	@mininet/measure

CHECK_SUITES += neighbours
neighbours_CMD := mininet/neighbours
neighbours_FORMAT := tap
neighbours_TIMEOUT := 300
neighbours_DEPS := all
