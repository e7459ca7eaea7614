# SPDX-License-Identifier: Apache-2.0
#
# evlb: event load balancer on Open vSwitch.  "make help" lists the targets.
#
# This is one non-recursive make.  Each part of the project describes itself
# in a fragment, DIR/module.mk, with the variables below; paths in it are
# relative to the top.  Nothing else is needed to have a program built,
# checked, and installed.
#
#   A program, built into build/bin:
#
#       PROGRAMS += evlb-send
#       evlb-send_SRCS := endpoints/send/main.c endpoints/common/wire.c
#       evlb-send_PKGS := libevent libconfig      # Names for pkg-config.
#       evlb-send_LIBS := -lm                     # More for the linker.
#       evlb-send_CFLAGS := -DSOMETHING           # More for the compiler.
#       evlb-send_OVS := yes                      # Uses libopenvswitch.
#       evlb-send_DIR := sbin                     # Default: bin.
#       evlb-send_PROTOS := controller/api/x.proto  # Compiled to C, mk/proto.mk.
#
#   A cmocka program of unit tests.  _SRCS lists the tests and what they test;
#   _PKGS and so on are as above; cmocka is linked by itself.  "make check"
#   builds it with AddressSanitizer and UndefinedBehaviorSanitizer into
#   build/san/bin and runs it there, from the top directory.
#   "make build/plain/test-wire" builds it without (for valgrind or gdb).
#
#       UNIT_TESTS += test-wire
#       test-wire_SRCS := tests/unit/test-wire.c endpoints/common/wire.c
#
#   A program that tests run: built as unit tests are, with sanitizers, into
#   build/san/bin, not run by itself and not installed.
#
#       HELPERS += grpc-echo
#       grpc-echo_SRCS := tests/grpc/grpc-echo.c
#
#   A libFuzzer program (it defines LLVMFuzzerTestOneInput), built by clang
#   into build/fuzz/bin.  "make check" runs it over the seeds and then for
#   _SECONDS (default: FUZZ_SECONDS).  What it finds goes to build/fuzz.
#
#       FUZZERS += fuzz-wire
#       fuzz-wire_SRCS := tests/fuzz/fuzz-wire.c endpoints/common/wire.c
#       fuzz-wire_SEEDS := tests/fuzz/seeds/wire  # Directory of inputs.
#
#   A suite of "make check", any command that is run by sh from the top
#   directory.  It fails if it exits with another status than 0, counts a
#   failure, or counts no test at all.
#
#       CHECK_SUITES += integration
#       integration_CMD := $(PYTEST) tests/integration
#       integration_FORMAT := pytest  # How it reports: pytest or tap.
#       integration_TIMEOUT := 600    # Seconds; default 900.
#       integration_DEPS := all       # Targets to build first; default all.
#
#   Files that "make install" installs:
#
#       CONFIGS += configs/evlb.conf              # $(sysconfdir)/evlb
#       EXAMPLES += configs/demo.conf             # $(docdir)/examples
#       MANS += endpoints/evlb-send.1             # $(mandir)/man1
#       UNITS += controller/evlbd.service         # $(unitdir)
#       COMPLETIONS += build/completion/evlbctl   # $(completiondir)
#       WIRESHARK += wireshark/evlb.lua           # $(wiresharkdir)
#
#   Sources outside the fragments' own lists that lint must look at (headers
#   beside listed sources are found by themselves):
#
#       LINT_C += ovs-ext/src/lib/lb-header.c
#
# A source includes headers of the project by their path from the top
# ("endpoints/common/wire.h").  With _OVS := yes the headers that Open vSwitch
# installs (<openvswitch/ofp-actions.h>) and those of its lib/ ("flow.h"),
# with its config.h, are reachable as well.  A source may be in any number of
# programs; it is compiled once with the flags of all of them.
#
# Variables for the command line: V=1 shows commands, JOBS=N bounds the jobs
# of the Open vSwitch build and of the checks, SUITES="unit lint" picks suites
# for "make check" ("make check-unit" for one), FUZZ_SECONDS=N, prefix=, DESTDIR=, CC=, OPT=.

all:
.PHONY: all

VERSION := 0.1

include mk/config.mk

-include ovs-ext/module.mk
-include controller/module.mk
-include endpoints/module.mk
-include flows/module.mk
-include mininet/module.mk
-include tests/module.mk
-include wireshark/module.mk

include mk/proto.mk
include mk/build.mk
include mk/check.mk
include mk/install.mk
