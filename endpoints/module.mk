# SPDX-License-Identifier: Apache-2.0
#
# The programs at the ends, and their tests.

endpoints_COMMON := endpoints/address.c lib/json.c endpoints/options.c \
	endpoints/payload.c endpoints/util.c endpoints/wire.c

ejfat_uri_SRCS := lib/ejfat-uri.c controller/core/addr.c controller/core/mem.c

# The control API from the side of its clients.
endpoints_API := endpoints/api-options.c controller/api/api-client.c \
	$(ejfat_uri_SRCS) $(grpc_client_SRCS)

PROGRAMS += evlb-send
evlb-send_SRCS := endpoints/evlb-send.c endpoints/pacer.c endpoints/plan.c \
	endpoints/reorder.c endpoints/send-config.c endpoints/sender.c \
	endpoints/senders.c endpoints/sync.c $(endpoints_API) $(endpoints_COMMON)
evlb-send_PROTOS := $(lb_PROTOS)
evlb-send_PKGS := $(grpc_PKGS) $(grpc_client_PKGS)

PROGRAMS += evlb-recv
evlb-recv_SRCS := endpoints/evlb-recv.c endpoints/intake.c \
	endpoints/owned.c endpoints/ranges.c endpoints/reassembly.c endpoints/receiver.c \
	endpoints/recv-config.c endpoints/recv-log.c endpoints/recv-report.c \
	endpoints/control.c endpoints/registration.c endpoints/work.c \
	lib/slot-ranges.c endpoints/worker.c $(endpoints_API) $(endpoints_COMMON)
evlb-recv_PROTOS := $(lb_PROTOS)
evlb-recv_PKGS := $(grpc_PKGS) $(grpc_client_PKGS)
evlb-recv_LIBS := -lm

# Unit tests that let allocations fail by their number.
endpoints_WRAP := -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc

UNIT_TESTS += test-wire
test-wire_SRCS := tests/unit/test-wire.c endpoints/wire.c

UNIT_TESTS += test-payload
test-payload_SRCS := tests/unit/test-payload.c endpoints/payload.c

UNIT_TESTS += test-ranges
test-ranges_SRCS := tests/unit/test-ranges.c endpoints/ranges.c
test-ranges_LIBS := $(endpoints_WRAP)

UNIT_TESTS += test-reassembly
test-reassembly_SRCS := tests/unit/test-reassembly.c endpoints/payload.c \
	endpoints/ranges.c endpoints/reassembly.c
test-reassembly_LIBS := $(endpoints_WRAP)

UNIT_TESTS += test-intake
test-intake_SRCS := tests/unit/test-intake.c endpoints/intake.c \
	endpoints/owned.c endpoints/util.c \
	endpoints/payload.c endpoints/ranges.c endpoints/reassembly.c \
	endpoints/wire.c
test-intake_LIBS := $(endpoints_WRAP)

UNIT_TESTS += test-owned
test-owned_SRCS := tests/unit/test-owned.c endpoints/owned.c endpoints/util.c \
	endpoints/wire.c

UNIT_TESTS += test-plan
test-plan_SRCS := tests/unit/test-plan.c endpoints/pacer.c endpoints/payload.c \
	endpoints/plan.c

UNIT_TESTS += test-reorder
test-reorder_SRCS := tests/unit/test-reorder.c endpoints/payload.c \
	endpoints/reorder.c
test-reorder_LIBS := $(endpoints_WRAP)

UNIT_TESTS += test-options
test-options_SRCS := tests/unit/test-options.c endpoints/address.c \
	lib/json.c endpoints/options.c endpoints/recv-config.c \
	endpoints/send-config.c endpoints/util.c endpoints/api-options.c \
	lib/slot-ranges.c $(ejfat_uri_SRCS)
test-options_LIBS := -lm

UNIT_TESTS += test-worker
test-worker_SRCS := tests/unit/test-worker.c endpoints/worker.c

UNIT_TESTS += test-work
test-work_SRCS := tests/unit/test-work.c endpoints/control.c endpoints/work.c
test-work_LIBS := -lm

UNIT_TESTS += test-ejfat-uri
test-ejfat-uri_SRCS := tests/unit/test-ejfat-uri.c $(ejfat_uri_SRCS)

FUZZERS += fuzz-ejfat-uri
fuzz-ejfat-uri_SRCS := tests/fuzz/fuzz-ejfat-uri.c $(ejfat_uri_SRCS)
fuzz-ejfat-uri_SEEDS := tests/fuzz/seeds/ejfat-uri

FUZZERS += fuzz-reassembly
fuzz-reassembly_SRCS := tests/fuzz/fuzz-reassembly.c endpoints/intake.c \
	endpoints/owned.c endpoints/util.c \
	endpoints/payload.c endpoints/ranges.c endpoints/reassembly.c \
	endpoints/wire.c
fuzz-reassembly_SEEDS := tests/fuzz/seeds/reassembly

CHECK_SUITES += endpoints
endpoints_CMD := $(PYTEST) tests/integration/test_endpoints.py
endpoints_FORMAT := pytest
endpoints_TIMEOUT := 300
endpoints_DEPS := build/bin/evlb-send build/bin/evlb-recv

CHECK_SUITES += api-ends
api-ends_CMD := $(PYTEST) tests/integration/test_api_ends.py
api-ends_FORMAT := pytest
api-ends_TIMEOUT := 300
api-ends_DEPS := build/bin/evlbd build/bin/evlbctl build/bin/evlb-send \
	build/bin/evlb-recv

MANS += man/evlb-send.1 man/evlb-recv.1
