# SPDX-License-Identifier: Apache-2.0
#
# evlbd and the unit tests of its parts.

core_SRCS := controller/core/addr.c controller/core/apportion.c \
	controller/core/boundary.c controller/core/calendar.c controller/core/calendar-plan.c \
	controller/core/epoch.c controller/core/frame.c \
	controller/core/instance.c controller/core/issue.c \
	controller/core/lead.c \
	controller/core/lead-run.c \
	controller/core/mem.c controller/core/neighbour.c \
	controller/core/overlay.c controller/core/predictor.c \
	controller/core/prefix.c controller/core/shuffle.c \
	controller/core/slots.c
# Tokens need libcrypto, so who uses them says so.
token_SRCS := controller/core/token.c controller/core/token-tree.c
token_PKGS := libcrypto
book_SRCS := controller/core/book.c controller/core/book-check.c controller/core/chain.c controller/core/control.c controller/core/control-share.c \
	controller/core/control-warn.c $(token_SRCS)
rules_SRCS := controller/rules/rule.c controller/rules/rule-build.c \
	controller/rules/rule-diff.c controller/rules/rule-epochs.c \
	controller/rules/rule-set.c

flows_SRCS := flows/calendar.c flows/cookie.c flows/describe.c \
	flows/describe-rule.c flows/draft.c flows/entry.c \
	flows/epoch.c flows/flows.c flows/header.c flows/l2.c flows/l3.c \
	flows/local.c flows/member.c flows/nd.c flows/parse.c flows/probe.c flows/readback.c \
	flows/source.c
tls_PKGS := libevent_openssl openssl
ovs_SRCS := controller/tls.c controller/target/ovs/address.c controller/target/ovs/change.c \
	controller/target/ovs/connection.c \
	controller/target/ovs/listener.c controller/target/ovs/ports.c \
	controller/target/ovs/readback.c controller/target/ovs/server.c \
	controller/target/ovs/session.c \
	controller/target/ovs/session-change.c \
	controller/target/ovs/session-handshake.c \
	controller/target/ovs/session-packet.c \
	controller/target/ovs/session-role.c \
	controller/target/ovs/session-stats.c \
	controller/target/ovs/session-trial.c \
	controller/target/ovs/snapshot.c \
	controller/target/ovs/snapshot-decode.c
config_SRCS := controller/config.c controller/config-admin.c \
	controller/config-api.c controller/config-chain.c \
	controller/config-bridge.c controller/config-file.c \
	controller/config-history.c \
	controller/config-http.c controller/config-listen.c \
	controller/config-tls.c lib/ejfat-uri.c \
	controller/config-instance.c controller/config-log.c \
	controller/config-member.c controller/config-neighbour.c \
	controller/config-numbers.c \
	controller/config-reader.c controller/config-reservations.c \
	controller/config-state.c \
	controller/config-sync.c \
	controller/config-values.c controller/sync-address.c \
	controller/log.c

trace_SRCS := controller/trace.c controller/trace-packet.c
store_SRCS := controller/store/db-file.c controller/store/store.c \
	controller/store/store-db.c controller/store/worker.c
series_SRCS := controller/store/series.c controller/store/series-db.c
store_PKGS := libevent_core sqlite3
book_record_SRCS := controller/store/book-record.c \
	controller/store/chain-record.c controller/store/demand-record.c
record_SRCS := $(book_record_SRCS) controller/store/neighbour-record.c \
	controller/store/overlay-record.c controller/store/record-text.c
engine_SRCS := lib/histogram.c controller/counters.c controller/engine.c \
	controller/engine-lead.c \
	controller/engine-neighbour.c controller/engine-carry.c controller/engine-change.c \
	controller/engine-control.c controller/engine-held.c controller/engine-history.c \
	controller/engine-operation.c \
	controller/engine-plan.c controller/epoch-log.c \
	controller/engine-cleanup.c controller/engine-store.c \
	controller/engine-timing.c $(record_SRCS) $(series_SRCS) \
	$(store_SRCS) \
	controller/sync.c endpoints/wire.c
engine_PKGS := sqlite3

# gRPC: the server's side, the client's, and the operator's service.
grpc_session_SRCS := controller/api/grpc-call.c \
	controller/api/grpc-filter.c controller/api/grpc-greeting.c \
	controller/api/grpc-message.c controller/api/grpc-peer.c controller/api/grpc-request.c \
	controller/api/grpc-session.c controller/api/grpc-status.c
grpc_server_SRCS := controller/api/grpc-peers.c controller/api/grpc-server.c \
	controller/api/health.c controller/api/peer.c $(grpc_session_SRCS)
health_PROTOS := controller/api/health.proto
grpc_client_SRCS := controller/api/dial.c controller/api/grpc-client.c \
	controller/api/grpc-client-session.c controller/api/grpc-message.c \
	controller/api/grpc-status.c controller/tls.c controller/tls-client.c
grpc_client_PKGS := libevent_extra $(tls_PKGS)
grpc_PKGS := libevent_core libnghttp2 libprotobuf-c
admin_SRCS := controller/api/admin.c controller/api/admin-change.c \
	controller/api/admin-counters.c controller/api/admin-describe.c \
	controller/api/admin-flows.c controller/api/admin-gather.c \
	controller/api/admin-neighbours.c \
	controller/api/admin-show.c controller/api/admin-targets.c \
	controller/api/admin-trace.c \
	controller/api/api-call.c controller/api/api-grpc.c \
	lib/arena.c $(grpc_server_SRCS)

# The control API, whoever carries it.
lb_SRCS := controller/api/api-call.c controller/api/lb.c \
	controller/api/lb-auth.c controller/api/lb-chain.c controller/api/lb-graph.c \
	controller/api/lb-link.c controller/api/lb-demands.c \
	controller/api/lb-message.c \
	controller/api/lb-reserve.c controller/api/lb-senders.c \
	controller/api/lb-series.c \
	controller/api/lb-status.c controller/api/lb-token.c \
	controller/api/lb-version.c controller/api/lb-worker.c \
	controller/core/registration.c controller/api/api-client.c \
	$(grpc_client_SRCS) lib/ejfat-uri.c lib/secret.c build/gen/commit.c

# Which commit this is, which changes without a change of any source.
.PHONY: FORCE
build/gen/commit.c: FORCE
	@mkdir -p $(@D)
	@printf 'const char evlb_commit[] = "%s";\n' "$$(git rev-parse \
		--short=12 HEAD 2>/dev/null || echo 'release $(VERSION)')" >$@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

pb_json_SRCS := lib/json.c lib/pb-field.c lib/pb-json.c lib/rfc3339.c

# HTTP: the server, and what it serves.
http_server_SRCS := controller/api/http-call.c \
	controller/api/http-connection.c controller/api/http-server.c
rest_parse_SRCS := controller/api/rest-parse.c lib/pb-json-parse.c \
	$(pb_json_SRCS)
http_SRCS := controller/api/http.c controller/api/http-metrics.c \
	controller/api/http-page.c \
	controller/api/metrics.c controller/api/metrics-calls.c \
	controller/api/metrics-control.c \
	controller/api/metrics-instance.c controller/api/metrics-store.c \
	controller/api/metrics-text.c \
	controller/api/metrics-switch.c \
	controller/api/metrics-sync.c \
	controller/api/metrics-traffic.c controller/api/rest.c \
	controller/api/rest-describe.c $(rest_parse_SRCS) $(http_server_SRCS)
http_PKGS := libevent
build/obj/controller/api/http-page.o: web/index.html

PROGRAMS += evlbd
doors_SRCS := controller/api/api-doors.c controller/tls-watch.c
evlbd_SRCS := controller/evlbd.c controller/lead-probe.c $(doors_SRCS) \
	controller/notify.c $(engine_SRCS) $(admin_SRCS) $(lb_SRCS) \
	$(http_SRCS) $(trace_SRCS) $(book_SRCS) \
	$(config_SRCS) $(core_SRCS) $(rules_SRCS) $(flows_SRCS) $(ovs_SRCS)
lb_PROTOS := controller/api/loadbalancer.proto \
	google/protobuf/struct.proto google/protobuf/timestamp.proto
evlbd_PROTOS := controller/api/admin.proto $(health_PROTOS) $(lb_PROTOS)
evlbd_PKGS := $(http_PKGS) $(grpc_PKGS) $(grpc_client_PKGS) $(engine_PKGS) libconfig libsystemd $(tls_PKGS)
evlbd_OVS := yes
evlbd_DIR := sbin
MANS += man/evlbd.8 build/man/evlb.conf.5

CHECK_SUITES += http
http_CMD := $(PYTEST) tests/http/test_http.py tests/http/test_rest.py \
	tests/http/test_grafana.py
http_FORMAT := pytest
http_TIMEOUT := 180
http_DEPS := build/bin/evlbd

# The web page, in a browser.
CHECK_SUITES += web
web_CMD := $(PYTEST) tests/http/test_web.py
web_FORMAT := pytest
web_TIMEOUT := 300
web_DEPS := build/bin/evlbd

PROGRAMS += evlbctl
evlbctl_SRCS := $(addprefix controller/ctl/,evlbctl.c api.c api-options.c arguments.c \
	call.c chain.c change.c commands.c completion.c flows.c help.c \
	options.c reservation.c session.c show.c table.c timeseries.c token.c \
	trace.c values.c watch.c workers.c) controller/trace-switch.c \
	controller/api/api-client.c lib/ejfat-uri.c lib/slot-ranges.c \
	controller/core/addr.c controller/core/mem.c $(pb_json_SRCS) $(grpc_client_SRCS)
evlbctl_PROTOS := controller/api/admin.proto $(lb_PROTOS)
evlbctl_PKGS := $(grpc_PKGS) $(grpc_client_PKGS)
evlbctl_LIBS := -lm
MANS += build/man/evlbctl.8
COMPLETIONS += build/completion/evlbctl

CHECK_SUITES += evlbctl
evlbctl_CMD := $(PYTEST) tests/integration/test_evlbctl.py
evlbctl_FORMAT := pytest
evlbctl_TIMEOUT := 120
evlbctl_DEPS := build/bin/evlbd build/bin/evlbctl build/man/evlbctl.8 \
	build/completion/evlbctl

CHECK_SUITES += api-ctl
api-ctl_CMD := $(PYTEST) tests/integration/test_api_ctl.py
api-ctl_FORMAT := pytest
api-ctl_TIMEOUT := 120
api-ctl_DEPS := build/bin/evlbd build/bin/evlbctl build/completion/evlbctl

CHECK_SUITES += api-switch
api-switch_CMD := tests/integration/in-lab tests/integration/api_switch.py
api-switch_FORMAT := pytest
api-switch_TIMEOUT := 180
api-switch_DEPS := all

CHECK_SUITES += evlbctl-switch
evlbctl-switch_CMD := tests/integration/in-lab \
	tests/integration/evlbctl_switch.py
evlbctl-switch_FORMAT := pytest
evlbctl-switch_TIMEOUT := 180
UNITS += build/evlbd.service

CHECK_SUITES += operations
operations_CMD := $(PYTEST) tests/integration/test_operations.py
operations_FORMAT := pytest
operations_TIMEOUT := 120
operations_DEPS := build/bin/evlbd build/bin/evlbctl

CHECK_SUITES += service
service_CMD := $(PYTEST) tests/integration/test_service.py \
	tests/integration/test_config_mistakes.py
service_FORMAT := pytest
service_TIMEOUT := 120
service_DEPS := build/bin/evlbd build/evlbd.service
CONFIGS += configs/evlb.conf
EXAMPLES += configs/demo.conf configs/dpdk.conf \
	configs/grafana-dashboard.json configs/local.conf

UNIT_TESTS += test-prefix
test-prefix_SRCS := tests/unit/test-prefix.c controller/core/prefix.c

UNIT_TESTS += test-calendar
test-calendar_SRCS := tests/unit/test-calendar.c \
	controller/core/apportion.c controller/core/calendar.c \
	controller/core/mem.c

UNIT_TESTS += test-calendar-plan
test-calendar-plan_SRCS := tests/unit/test-calendar-plan.c \
	controller/core/apportion.c controller/core/calendar.c \
	controller/core/calendar-plan.c controller/core/mem.c \
	controller/core/shuffle.c controller/core/slots.c

FUZZERS += fuzz-calendar
fuzz-calendar_SRCS := tests/fuzz/fuzz-calendar.c \
	controller/core/apportion.c controller/core/calendar.c \
	controller/core/calendar-plan.c controller/core/mem.c \
	controller/core/shuffle.c controller/core/slots.c
fuzz-calendar_SEEDS := tests/fuzz/seeds/calendar

FUZZERS += fuzz-boundary
fuzz-boundary_SRCS := tests/fuzz/fuzz-boundary.c \
	controller/core/boundary.c controller/core/mem.c \
	controller/core/predictor.c
fuzz-boundary_SEEDS := tests/fuzz/seeds/boundary

UNIT_TESTS += test-slots
test-slots_SRCS := tests/unit/test-slots.c controller/core/slots.c \
	controller/core/mem.c

UNIT_TESTS += test-shuffle
test-shuffle_SRCS := tests/unit/test-shuffle.c controller/core/shuffle.c

UNIT_TESTS += test-token
test-token_SRCS := tests/unit/test-token.c $(token_SRCS) \
	controller/core/mem.c
test-token_PKGS := $(token_PKGS)

UNIT_TESTS += test-neighbour
test-neighbour_SRCS := tests/unit/test-neighbour.c $(core_SRCS)

UNIT_TESTS += test-frame
test-frame_SRCS := tests/unit/test-frame.c controller/core/frame.c \
	controller/core/addr.c

UNIT_TESTS += test-lead-run
test-lead-run_SRCS := tests/unit/test-lead-run.c controller/core/lead-run.c

UNIT_TESTS += test-lead
test-lead_SRCS := tests/unit/test-lead.c controller/core/lead.c

UNIT_TESTS += test-predictor
test-predictor_SRCS := tests/unit/test-predictor.c \
	controller/core/predictor.c controller/core/mem.c

UNIT_TESTS += test-boundary
test-boundary_SRCS := tests/unit/test-boundary.c \
	controller/core/boundary.c controller/core/predictor.c \
	controller/core/mem.c

UNIT_TESTS += test-store
test-store_SRCS := tests/unit/test-store.c $(store_SRCS) \
	controller/core/mem.c
test-store_PKGS := $(store_PKGS)

HELPERS += store-writer
store-writer_SRCS := tests/store/store-writer.c $(series_SRCS) \
	$(store_SRCS) controller/core/mem.c
store-writer_PKGS := $(store_PKGS)

CHECK_SUITES += store
store_CMD := $(PYTEST) tests/integration/test_store.py
store_FORMAT := pytest
store_TIMEOUT := 180
store_DEPS := build/san/bin/store-writer

UNIT_TESTS += test-series
test-series_SRCS := tests/unit/test-series.c $(series_SRCS) $(store_SRCS) \
	controller/core/mem.c
test-series_PKGS := $(store_PKGS)

UNIT_TESTS += test-neighbour-record
test-neighbour-record_SRCS := tests/unit/test-neighbour-record.c \
	controller/store/neighbour-record.c controller/store/record-text.c \
	$(core_SRCS)

UNIT_TESTS += test-book-record
test-book-record_SRCS := tests/unit/test-book-record.c \
	tests/unit/random-book.c $(book_record_SRCS) \
	controller/store/record-text.c $(store_SRCS) $(core_SRCS) \
	$(book_SRCS)
test-book-record_PKGS := $(store_PKGS) $(token_PKGS)

FUZZERS += fuzz-book-record
fuzz-book-record_SRCS := tests/fuzz/fuzz-book-record.c \
	$(book_record_SRCS) controller/store/record-text.c \
	$(store_SRCS) $(core_SRCS) $(book_SRCS)
fuzz-book-record_SEEDS := tests/fuzz/seeds/book-record
fuzz-book-record_PKGS := $(store_PKGS) $(token_PKGS)

UNIT_TESTS += test-issue
test-issue_SRCS := tests/unit/test-issue.c controller/core/issue.c \
	controller/core/mem.c

UNIT_TESTS += test-book
test-book_SRCS := tests/unit/test-book.c tests/unit/random-book.c \
	$(book_SRCS) $(core_SRCS)
test-book_PKGS := $(token_PKGS)

UNIT_TESTS += test-control
test-control_SRCS := tests/unit/test-control.c tests/unit/control-world.c \
	$(book_SRCS) $(core_SRCS)
test-control_PKGS := $(token_PKGS)

UNIT_TESTS += sim-control
sim-control_SRCS := tests/unit/sim-control.c tests/unit/control-check.c \
	tests/unit/control-world.c $(book_SRCS) $(core_SRCS)
sim-control_PKGS := $(token_PKGS)
sim-control_LIBS := -lm

UNIT_TESTS += test-overlay
test-overlay_SRCS := tests/unit/test-overlay.c $(core_SRCS) $(rules_SRCS) \
	controller/store/overlay-record.c

UNIT_TESTS += test-addr
test-addr_SRCS := tests/unit/test-addr.c controller/core/addr.c

UNIT_TESTS += test-epoch
test-epoch_SRCS := tests/unit/test-epoch.c $(core_SRCS)

UNIT_TESTS += test-instance
test-instance_SRCS := tests/unit/test-instance.c $(core_SRCS)

UNIT_TESTS += test-rule
test-rule_SRCS := tests/unit/test-rule.c $(core_SRCS) $(rules_SRCS)

UNIT_TESTS += test-rule-diff
test-rule-diff_SRCS := tests/unit/test-rule-diff.c tests/unit/random-state.c \
	$(core_SRCS) $(rules_SRCS)

UNIT_TESTS += test-rule-epochs
test-rule-epochs_SRCS := tests/unit/test-rule-epochs.c $(core_SRCS) \
	$(rules_SRCS)

UNIT_TESTS += test-session
test-session_SRCS := tests/unit/test-session.c tests/unit/fake-switch.c \
	tests/unit/random-state.c $(core_SRCS) $(rules_SRCS) $(flows_SRCS) \
	$(filter-out %/server.c %/connection.c %/address.c %/listener.c %/tls.c,$(ovs_SRCS))
test-session_OVS := yes

UNIT_TESTS += test-snapshot
test-snapshot_SRCS := tests/unit/test-snapshot.c tests/unit/fake-switch.c \
	tests/unit/random-state.c $(core_SRCS) $(rules_SRCS) $(flows_SRCS) \
	$(filter-out %/server.c %/connection.c %/address.c %/listener.c %/tls.c,$(ovs_SRCS))
test-snapshot_OVS := yes

UNIT_TESTS += test-trace
test-trace_SRCS := tests/unit/test-trace.c tests/unit/random-state.c \
	$(trace_SRCS) controller/trace-switch.c $(core_SRCS) $(rules_SRCS) \
	$(flows_SRCS)
test-trace_OVS := yes

UNIT_TESTS += test-counters
test-counters_SRCS := tests/unit/test-counters.c controller/counters.c \
	$(core_SRCS) $(rules_SRCS) $(flows_SRCS) \
	$(filter-out %/server.c %/connection.c %/address.c %/listener.c %/tls.c,$(ovs_SRCS))
test-counters_OVS := yes

UNIT_TESTS += test-config
test-config_SRCS := tests/unit/test-config.c controller/tls.c $(config_SRCS) $(core_SRCS) \
	controller/target/ovs/address.c
test-config_PKGS := libevent_core libconfig $(tls_PKGS)
test-config_OVS := yes

FUZZERS += fuzz-config
fuzz-config_SRCS := tests/fuzz/fuzz-config.c controller/tls.c \
	$(config_SRCS) $(core_SRCS) controller/target/ovs/address.c
fuzz-config_PKGS := libevent_core libconfig $(tls_PKGS)
fuzz-config_OVS := yes
# Clang compares the signs in vlog's macros, too.
fuzz-config_CFLAGS := -Wno-sign-compare
fuzz-config_SEEDS := tests/config-mistakes

UNIT_TESTS += test-config-numbers
test-config-numbers_SRCS := tests/unit/test-config-numbers.c \
	controller/config-numbers.c controller/core/mem.c
test-config-numbers_PKGS := libconfig

UNIT_TESTS += test-epoch-log
test-epoch-log_SRCS := tests/unit/test-epoch-log.c controller/epoch-log.c \
	$(core_SRCS)

UNIT_TESTS += test-flows
test-flows_SRCS := tests/unit/test-flows.c tests/unit/random-state.c \
	$(core_SRCS) $(rules_SRCS) $(flows_SRCS)
test-flows_OVS := yes

UNIT_TESTS += test-server
test-server_SRCS := tests/unit/test-server.c tests/unit/fake-switch.c \
	tests/unit/random-state.c $(core_SRCS) $(rules_SRCS) $(flows_SRCS) \
	$(ovs_SRCS)
test-server_PKGS := libevent_core $(tls_PKGS)
test-server_OVS := yes

UNIT_TESTS += test-registration
test-registration_SRCS := tests/unit/test-registration.c \
	controller/core/registration.c controller/core/addr.c \
	controller/core/mem.c

UNIT_TESTS += test-chain
test-chain_SRCS := tests/unit/test-chain.c $(book_SRCS) $(core_SRCS)
test-chain_PKGS := $(token_PKGS)

UNIT_TESTS += test-secret
test-secret_SRCS := tests/unit/test-secret.c lib/secret.c \
	controller/core/mem.c
test-secret_PKGS := libcrypto

UNIT_TESTS += test-engine
test-engine_SRCS := tests/unit/test-engine.c controller/lead-probe.c \
	$(engine_SRCS) $(book_SRCS) $(config_SRCS) $(core_SRCS) $(rules_SRCS) \
	$(flows_SRCS) $(ovs_SRCS)
test-engine_PKGS := $(engine_PKGS) libevent_core libconfig $(tls_PKGS)
test-engine_OVS := yes

FUZZERS += fuzz-api
fuzz-api_SRCS := tests/fuzz/fuzz-api.c controller/lead-probe.c $(lb_SRCS) \
	$(engine_SRCS) $(book_SRCS) $(config_SRCS) $(core_SRCS) $(rules_SRCS) \
	$(flows_SRCS) $(ovs_SRCS) $(grpc_server_SRCS) controller/api/api-grpc.c \
	lib/arena.c
fuzz-api_SEEDS := tests/fuzz/seeds/api
fuzz-api_PROTOS := $(lb_PROTOS) $(health_PROTOS)
fuzz-api_PKGS := $(grpc_PKGS) $(grpc_client_PKGS) $(engine_PKGS) libconfig \
	$(tls_PKGS)
fuzz-api_CFLAGS := -Wno-sign-compare -Wno-cast-align
fuzz-api_OVS := yes

FUZZERS += fuzz-session
fuzz-session_SRCS := tests/fuzz/fuzz-session.c $(core_SRCS) $(rules_SRCS) \
	$(flows_SRCS) $(filter-out %/server.c %/connection.c %/address.c %/listener.c %/tls.c,$(ovs_SRCS))
fuzz-session_SEEDS := tests/fuzz/seeds/session
# Clang compares the signs in vlog's macros, too.
fuzz-session_CFLAGS := -Wno-sign-compare
fuzz-session_OVS := yes

echo_SRCS := tests/grpc/echo.c controller/core/mem.c

UNIT_TESTS += test-grpc
test-grpc_SRCS := tests/unit/test-grpc.c controller/api/grpc-message.c \
	controller/api/grpc-status.c controller/core/mem.c
test-grpc_PROTOS := tests/grpc/echo.proto
test-grpc_PKGS := $(grpc_PKGS)

UNIT_TESTS += test-grpc-session
test-grpc-session_SRCS := tests/unit/test-grpc-session.c \
	tests/unit/h2-peer.c $(echo_SRCS) $(grpc_session_SRCS)
test-grpc-session_PROTOS := tests/grpc/echo.proto
test-grpc-session_PKGS := $(grpc_PKGS)

UNIT_TESTS += test-grpc-greeting
test-grpc-greeting_SRCS := tests/unit/test-grpc-greeting.c \
	controller/api/grpc-greeting.c controller/core/mem.c

UNIT_TESTS += test-grpc-peers
test-grpc-peers_SRCS := tests/unit/test-grpc-peers.c \
	controller/api/grpc-peer.c controller/api/grpc-peers.c \
	controller/core/mem.c
test-grpc-peers_OVS := yes

FUZZERS += fuzz-grpc
fuzz-grpc_SRCS := tests/fuzz/fuzz-grpc.c controller/api/health.c $(echo_SRCS) \
	$(grpc_session_SRCS)
fuzz-grpc_SEEDS := tests/fuzz/seeds/grpc
fuzz-grpc_PROTOS := tests/grpc/echo.proto $(health_PROTOS)
fuzz-grpc_PKGS := $(grpc_PKGS)

# gRPC with a foreign implementation.
HELPERS += grpc-echo
grpc-echo_SRCS := tests/grpc/grpc-echo.c $(echo_SRCS) $(grpc_server_SRCS) \
	controller/core/addr.c controller/log.c controller/tls.c \
	controller/target/ovs/address.c controller/target/ovs/listener.c
grpc-echo_PROTOS := tests/grpc/echo.proto $(health_PROTOS)
grpc-echo_PKGS := $(grpc_PKGS) $(tls_PKGS)
grpc-echo_OVS := yes

# Our client, alone.
HELPERS += grpc-ask
grpc-ask_SRCS := tests/grpc/grpc-ask.c controller/core/mem.c \
	$(grpc_client_SRCS)
grpc-ask_PROTOS := tests/grpc/echo.proto
grpc-ask_PKGS := $(grpc_PKGS) $(grpc_client_PKGS)

CHECK_SUITES += grpc
grpc_CMD := $(PYTEST) tests/integration/test_grpc.py \
	tests/integration/test_grpc_client.py tests/integration/test_grpc_doors.py
grpc_FORMAT := pytest
grpc_TIMEOUT := 300
grpc_DEPS := build/san/bin/grpc-echo build/san/bin/grpc-ask build/bin/evlbctl

UNIT_TESTS += test-grpc-client
test-grpc-client_SRCS := tests/unit/test-grpc-client.c \
	controller/api/grpc-client-session.c $(echo_SRCS) $(grpc_session_SRCS)
test-grpc-client_PROTOS := tests/grpc/echo.proto
test-grpc-client_PKGS := $(grpc_PKGS)

UNIT_TESTS += test-ctl
test-ctl_SRCS := tests/unit/test-ctl.c $(addprefix controller/ctl/,arguments.c \
	table.c values.c workers.c) controller/core/mem.c lib/rfc3339.c \
	lib/slot-ranges.c
test-ctl_PROTOS := $(lb_PROTOS)
test-ctl_PKGS := libprotobuf-c
test-ctl_LIBS := -lm

UNIT_TESTS += test-output
test-output_SRCS := tests/unit/test-output.c controller/core/mem.c \
	controller/ctl/table.c lib/arena.c $(pb_json_SRCS)
test-output_PROTOS := controller/api/admin.proto
test-output_PKGS := libprotobuf-c

UNIT_TESTS += test-rest
test-rest_SRCS := tests/unit/test-rest.c controller/api/metrics-text.c \
	controller/core/mem.c lib/arena.c lib/histogram.c $(rest_parse_SRCS)
test-rest_PROTOS := $(lb_PROTOS)
test-rest_PKGS := libevent libprotobuf-c
test-rest_OVS := yes

FUZZERS += fuzz-rest
fuzz-rest_SRCS := tests/fuzz/fuzz-rest.c tests/unit/pb-text.c \
	controller/core/mem.c lib/arena.c $(rest_parse_SRCS)
fuzz-rest_SEEDS := tests/fuzz/seeds/rest
fuzz-rest_PROTOS := $(lb_PROTOS)
fuzz-rest_PKGS := libevent libprotobuf-c
fuzz-rest_OVS := yes

UNIT_TESTS += test-pb-json
test-pb-json_SRCS := tests/unit/test-pb-json.c tests/unit/pb-text.c \
	controller/core/mem.c \
	lib/arena.c lib/pb-json-parse.c $(pb_json_SRCS)
test-pb-json_PROTOS := $(lb_PROTOS)
test-pb-json_PKGS := libprotobuf-c
test-pb-json_OVS := yes

FUZZERS += fuzz-grpc-client
fuzz-grpc-client_SRCS := tests/fuzz/fuzz-grpc-client.c \
	controller/api/grpc-client-session.c controller/api/grpc-message.c \
	controller/api/grpc-status.c controller/core/mem.c
fuzz-grpc-client_SEEDS := tests/fuzz/seeds/grpc-client
fuzz-grpc-client_PROTOS := tests/grpc/echo.proto
fuzz-grpc-client_PKGS := $(grpc_PKGS)

CHECK_SUITES += tls
tls_CMD := $(PYTEST) tests/integration/test_tls.py
tls_FORMAT := pytest
tls_DEPS := all

CHECK_SUITES += versions
versions_CMD := $(PYTEST) tests/integration/test_versions.py
versions_FORMAT := pytest
versions_DEPS := all ovs-stock
