# SPDX-License-Identifier: Apache-2.0
#
# The dissector of event traffic for Wireshark.

WIRESHARK += wireshark/evlb.lua

CHECK_SUITES += wireshark
wireshark_CMD := $(PYTEST) tests/integration/test_wireshark.py
wireshark_FORMAT := pytest
wireshark_TIMEOUT := 120
wireshark_DEPS := $(DEPS_STAMP) build/bin/evlb-send
