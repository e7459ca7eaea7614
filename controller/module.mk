# SPDX-License-Identifier: Apache-2.0
#
# evlbd and the unit tests of its parts.

UNIT_TESTS += test-prefix
test-prefix_SRCS := tests/unit/test-prefix.c controller/core/prefix.c

UNIT_TESTS += test-calendar
test-calendar_SRCS := tests/unit/test-calendar.c \
	controller/core/calendar.c controller/core/mem.c

UNIT_TESTS += test-addr
test-addr_SRCS := tests/unit/test-addr.c controller/core/addr.c

UNIT_TESTS += test-epoch
test-epoch_SRCS := tests/unit/test-epoch.c controller/core/epoch.c \
	controller/core/calendar.c controller/core/prefix.c \
	controller/core/mem.c
