# SPDX-License-Identifier: Apache-2.0
#
# Tests that run the patched Open vSwitch.

CHECK_SUITES += ovs
ovs_CMD := $(PYTEST) tests/ovs
ovs_FORMAT := pytest
ovs_DEPS := $(OVS_STAMP)
