# SPDX-License-Identifier: Apache-2.0
#
# "make check": the suites that this file and the fragments declare, run one
# after the other by tests/run-checks.

lint_CMD := tests/lint
lint_FORMAT := tap
lint_DEPS := $(OVS_STAMP)

unit_CMD := tests/run-units $(UNIT_FILES)
unit_FORMAT := tap
unit_DEPS := units

fuzz_CMD := FUZZ_SECONDS=$(FUZZ_SECONDS) tests/run-fuzzers \
	$(foreach f,$(FUZZERS),build/fuzz/bin/$(f):$(or \
		$($(f)_SECONDS),$(FUZZ_SECONDS)):$($(f)_SEEDS))
fuzz_FORMAT := tap
fuzz_DEPS := fuzzers

ALL_SUITES := lint $(if $(UNIT_TESTS),unit) $(if $(FUZZERS),fuzz) \
	$(CHECK_SUITES)
SUITES ?= $(ALL_SUITES)
unknown_suites := $(filter-out $(ALL_SUITES),$(SUITES))

# One line a suite, read by tests/run-checks: name, format, timeout, command.
tab := $(shell printf '\t')
suite_line = $(1)$(tab)$(or $($(1)_FORMAT),tap)$(tab)$(or \
	$($(1)_TIMEOUT),900)$(tab)$($(1)_CMD)
define newline


endef

export LINT_FILES = $(C_FILES)
export LINT_TIDY = $(TIDY_OBJS)
export JOBS

.PHONY: check suites-built $(addprefix check-,$(ALL_SUITES))
suites-built: $(DEPS_STAMP) $(foreach s,$(SUITES),$(or $($(s)_DEPS),all))

check: suites-built
	$(if $(unknown_suites),$(error no such suite: $(unknown_suites); \
		there are: $(ALL_SUITES)))
	$(shell mkdir -p build/check)$(file >build/check/suites,$(foreach s,$(SUITES),$(call \
		suite_line,$(s))$(newline)))
	@$(PYTHON) tests/run-checks build/check/suites build/check

# "make check-unit" is "make check SUITES=unit".
$(addprefix check-,$(ALL_SUITES)): check-%:
	@$(MAKE) --no-print-directory check SUITES=$*
