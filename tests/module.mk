# SPDX-License-Identifier: Apache-2.0
#
# Tests of the build's own parts.  Other tests are declared by the fragment of
# the part that they test.

CHECK_SUITES += build
build_CMD := $(PYTEST) tests/build
build_FORMAT := pytest
build_DEPS := $(DEPS_STAMP)
