# SPDX-License-Identifier: Apache-2.0
#
# The programs at the ends, and their tests.

endpoints_COMMON := endpoints/address.c endpoints/json.c endpoints/options.c \
	endpoints/payload.c endpoints/util.c endpoints/wire.c

PROGRAMS += evlb-send
evlb-send_SRCS := endpoints/evlb-send.c endpoints/pacer.c endpoints/plan.c \
	endpoints/send-config.c endpoints/sender.c endpoints/sync.c \
	$(endpoints_COMMON)

PROGRAMS += evlb-recv
evlb-recv_SRCS := endpoints/evlb-recv.c endpoints/intake.c \
	endpoints/ranges.c endpoints/reassembly.c endpoints/receiver.c \
	endpoints/recv-config.c endpoints/recv-log.c endpoints/recv-report.c \
	$(endpoints_COMMON)
