# SPDX-License-Identifier: Apache-2.0
#
# The control API, judged by a foreign implementation of gRPC and by tables
# that were written apart from it.

CHECK_SUITES += api
api_CMD := $(PYTEST) tests/api
api_FORMAT := pytest
api_TIMEOUT := 600
api_DEPS := build/bin/evlbd build/bin/evlbctl
