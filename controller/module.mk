# SPDX-License-Identifier: Apache-2.0
#
# evlbd and the unit tests of its parts.

core_SRCS := controller/core/addr.c controller/core/calendar.c \
	controller/core/epoch.c controller/core/instance.c \
	controller/core/mem.c controller/core/prefix.c
rules_SRCS := controller/rules/rule.c controller/rules/rule-build.c \
	controller/rules/rule-diff.c controller/rules/rule-set.c

UNIT_TESTS += test-prefix
test-prefix_SRCS := tests/unit/test-prefix.c controller/core/prefix.c

UNIT_TESTS += test-calendar
test-calendar_SRCS := tests/unit/test-calendar.c \
	controller/core/calendar.c controller/core/mem.c

UNIT_TESTS += test-addr
test-addr_SRCS := tests/unit/test-addr.c controller/core/addr.c

UNIT_TESTS += test-epoch
test-epoch_SRCS := tests/unit/test-epoch.c $(core_SRCS)

UNIT_TESTS += test-instance
test-instance_SRCS := tests/unit/test-instance.c $(core_SRCS)

UNIT_TESTS += test-rule
test-rule_SRCS := tests/unit/test-rule.c $(core_SRCS) $(rules_SRCS)

UNIT_TESTS += test-rule-diff
test-rule-diff_SRCS := tests/unit/test-rule-diff.c $(core_SRCS) $(rules_SRCS)
