# SPDX-License-Identifier: Apache-2.0
#
# Packets in, packets out: evlbd's rules in the patched Open vSwitch.

CHECK_SUITES += conformance
conformance_CMD := $(PYTEST) tests/conformance
conformance_FORMAT := pytest
conformance_DEPS := all
