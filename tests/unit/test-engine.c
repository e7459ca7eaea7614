/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/engine.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "controller/api/now.h"
#include "controller/config.h"
#include "controller/core/mem.h"
#include "controller/core/overlay.h"
#include "controller/core/token.h"
#include "controller/epoch-log.h"
#include "endpoints/wire.h"
#include "tests/unit/unit.h"

#define CONFIG                                                              \
    "openflow = { listen = [ \"unix:%s/of.sock\" ]; };\n"                   \
    "state_file = \"%s/evlb.db\";\n"                                        \
    "neighbour = { resolve = false; };\n"                                   \
    "reservations = { period = 50; };\n"                                    \
    "bridges = ( { name = \"br0\"; datapath_id = \"1\"; } );\n"             \
    "interfaces = ( { name = \"data\"; mac = \"02:00:00:00:00:01\"; } );\n" \
    "instances = (\n"                                                       \
    "  { name = \"free\"; id = 2; addresses = [ \"10.0.0.2\" ];\n"          \
    "    reservable = true; sync = \"udp:127.0.0.1:%u\"; },\n"              \
    "  { name = \"other\"; id = 4; addresses = [ \"10.0.0.4\" ];\n"         \
    "    reservable = true; sync = \"udp:127.0.0.1:%u\"; },\n"              \
    "  { name = \"fixed\"; id = 3; addresses = [ \"10.0.0.1\" ];\n"         \
    "    sources = [ \"10.0.0.11\" ]; sync_from = \"any\";\n"               \
    "    sync = \"udp:127.0.0.1:%u\";\n"                                    \
    "    members = (\n"                                                     \
    "      { id = 1; ip = \"10.0.0.101\"; base = 20000;\n"                  \
    "        mac = \"02:00:00:00:01:01\"; egress = \"cn1\"; },\n"           \
    "      { id = 2; ip = \"10.0.0.102\"; base = 20000;\n"                  \
    "        mac = \"02:00:00:00:01:02\"; egress = \"cn2\"; } );\n"         \
    "    epochs = ( { from = 0; members = ( { id = 1; } ); } ); } );\n"

#define FREE 2
#define OTHER 4
#define FIXED 3

/* An engine in a directory of its own. */
struct fixture {
    char directory[32];
    char *config;
    unsigned int sync; /* The fixed instance's port for it. */
    struct event_base *base;
    struct epoch_log *log;
    struct engine *engine;
};

static char *
accept_cb(void *aux, const struct evlb_config *config)
{
    (void) aux;
    (void) config;
    return NULL;
}

static void
start(struct fixture *f)
{
    const struct engine_handlers handlers = { accept_cb, NULL };
    struct evlb_config *config;

    f->base = event_base_new();
    unit_assert_error(evlb_config_load(f->config, &config), NULL);
    unit_assert_error(epoch_log_open(NULL, &f->log), NULL);
    unit_assert_error(
        engine_create(f->base, config, f->log, &handlers, &f->engine), NULL);
}

static void
stop(struct fixture *f)
{
    engine_destroy(f->engine);
    epoch_log_close(f->log);
    event_base_free(f->base);
}

static unsigned int
find_port(void)
{
    struct sockaddr_in sin = { .sin_family = AF_INET };
    socklen_t len = sizeof sin;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *) &sin, sizeof sin), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *) &sin, &len), 0);
    close(fd);
    return ntohs(sin.sin_port);
}

static int
setup(void **state)
{
    struct fixture *f = mem_zalloc(sizeof *f);
    FILE *stream;

    snprintf(f->directory, sizeof f->directory, "/tmp/test-engine.XXXXXX");
    assert_non_null(mkdtemp(f->directory));
    f->config = mem_printf("%s/evlb.conf", f->directory);
    stream = fopen(f->config, "w");
    assert_non_null(stream);
    f->sync = find_port();
    fprintf(stream, CONFIG, f->directory, f->directory, find_port(),
            find_port(), f->sync);
    fclose(stream);
    start(f);
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;
    char *command = mem_printf("rm -r %s", f->directory);

    stop(f);
    assert_int_equal(system(command), 0);
    free(command);
    free(f->config);
    free(f);
    return 0;
}

/* One change, and what became of it. */
struct change {
    const struct fixture *f;
    uint64_t reservation; /* That it makes. */
    uint16_t member;      /* Whom it gives all of the fixed one; or 0. */
    uint16_t epoch;       /* And the id of that epoch. */
    const char *refuse;   /* The reason why it refuses to, or NULL. */

    size_t n_before; /* Reservations that it found. */
    unsigned int n_planned;
    unsigned int n_done;
    enum engine_outcome outcome;
    char error[200];
};

static void
put_reservation(struct book *book, uint64_t id)
{
    struct reservation r = { .entry = { 1, id },
                             .instance = id == 7 ? FREE : OTHER,
                             .name = (char *) "test",
                             .expires = INT64_MAX,
                             .token = TOKEN_ROOT };

    book_put_reservation(book, reservation_clone(&r));
}

static char *
connect_fixed(struct engine_draft *draft, const struct change *c)
{
    const struct calendar_share share = { c->member, 1, 0, 0 };
    const struct calendar *calendar;
    char *error = calendar_create(&share, 1, CALENDAR_BITS_MAX, &calendar);

    if (!error) {
        error = overlay_connect(engine_draft_change_overlay(draft), FIXED,
                                c->epoch, 1000u * c->epoch, 0, calendar);
        calendar_unref(calendar);
    }
    return error;
}

static char *
plan_cb(void *c_, struct engine_draft *draft)
{
    struct change *c = c_;

    c->n_planned++;
    c->n_before = engine_draft_book(draft)->reservations.n;
    if (c->refuse) {
        return mem_strdup(c->refuse);
    }
    if (c->reservation) {
        put_reservation(engine_draft_change_book(draft), c->reservation);
    }
    return c->member ? connect_fixed(draft, c) : NULL;
}

static void
done_cb(void *c_, enum engine_outcome outcome, const char *error)
{
    struct change *c = c_;

    c->n_done++;
    c->outcome = outcome;
    snprintf(c->error, sizeof c->error, "%s", error ? error : "");
}

/* Runs the 'n' 'changes' of 'f' until they are done. */
static void
run(struct fixture *f, struct change *changes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        engine_change(f->engine, plan_cb, done_cb, &changes[i]);
        assert_int_equal(changes[i].n_planned, 0); /* Later, not at once. */
    }
    for (size_t i = 0; i < n; i++) {
        while (!changes[i].n_done) {
            event_base_loop(f->base, EVLOOP_ONCE);
        }
    }
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(changes[i].n_done, 1);
    }
}

static void
test_one_draft(void **state)
{
    struct fixture *f = *state;
    struct change changes[] = { { .reservation = 7 }, { .reservation = 9 } };

    run(f, changes, 2);
    assert_int_equal(changes[0].n_before, 0);
    assert_int_equal(changes[1].n_before, 1); /* That of the other one. */
    assert_int_equal(changes[1].outcome, ENGINE_DONE);
    assert_int_equal(engine_get_book(f->engine)->reservations.n, 2);

    stop(f);
    start(f);
    assert_int_equal(engine_get_book(f->engine)->reservations.n, 2);
}

static void
test_refusal(void **state)
{
    struct fixture *f = *state;
    struct change changes[] = { { .reservation = 7 },
                                { .refuse = "not today" },
                                { .reservation = 9 } };

    run(f, changes, 3);
    assert_int_equal(changes[0].outcome, ENGINE_DONE);
    assert_int_equal(changes[1].outcome, ENGINE_REFUSED);
    assert_string_equal(changes[1].error, "not today");
    assert_int_equal(changes[2].outcome, ENGINE_DONE);
    assert_int_equal(engine_get_book(f->engine)->reservations.n, 2);
}

/* One that contradicts what is there does not take others down with it. */
static void
test_contradiction(void **state)
{
    struct fixture *f = *state;
    struct change changes[] = { { .reservation = 7 },
                                { .member = 99, .epoch = 2 },
                                { .member = 2, .epoch = 3 } };
    const struct instance *fixed;

    run(f, changes, 3);
    assert_int_equal(changes[0].outcome, ENGINE_DONE);
    assert_int_equal(changes[1].outcome, ENGINE_REFUSED);
    assert_non_null(strstr(changes[1].error, "names member 99"));
    assert_int_equal(changes[2].outcome, ENGINE_DONE);
    assert_int_equal(changes[2].n_planned, 2);
    fixed = state_find_instance(engine_get_state(f->engine), FIXED);
    assert_int_equal(fixed->epochs.n, 2);
    assert_int_equal(fixed->epochs.epochs[1]->id, 3);
}

/* Storing that takes so long that the ticks have come too near. */

#define TICK 1000000
#define RATE 1000000 /* Ticks a second. */

static void
send_sync(const struct fixture *f)
{
    const struct wire_sync sync = { .source_id = 1,
                                    .tick = TICK,
                                    .rate_hz = RATE };
    struct sockaddr_in sin = { .sin_family = AF_INET };
    uint8_t data[WIRE_SYNC_LEN];
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    assert_int_equal(wire_sync_pack(&sync, data, sizeof data), WIRE_OK);
    sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sin.sin_port = htons((uint16_t) f->sync);
    assert_int_equal(
        sendto(fd, data, sizeof data, 0, (struct sockaddr *) &sin, sizeof sin),
        sizeof data);
    close(fd);
}

static const struct instance *
get_fixed(const struct fixture *f)
{
    return state_find_instance(engine_get_state(f->engine), FIXED);
}

static char *
plan_slowly_cb(void *c_, struct engine_draft *draft)
{
    usleep(150000);
    return plan_cb(c_, draft);
}

static void
test_late(void **state)
{
    struct fixture *f = *state;
    struct change change = { .reservation = 7, .member = 2, .epoch = 900 };
    struct engine_timing timing = { .now.known = false };

    send_sync(f);
    while (!timing.now.known) {
        event_base_loop(f->base, EVLOOP_ONCE);
        engine_get_timing(f->engine, get_fixed(f), &timing);
    }
    engine_change(f->engine, plan_slowly_cb, done_cb, &change);
    while (!change.n_done) {
        event_base_loop(f->base, EVLOOP_ONCE);
    }
    assert_int_equal(change.outcome, ENGINE_NOT_STORED);
    assert_non_null(strstr(change.error, "too near"));
    assert_int_equal(get_fixed(f)->epochs.n, 1);
    assert_int_equal(engine_get_book(f->engine)->reservations.n, 0);

    /* Nor is it there after a restart. */
    stop(f);
    start(f);
    assert_int_equal(get_fixed(f)->epochs.n, 1);
    assert_int_equal(engine_get_book(f->engine)->reservations.n, 0);
}

/* What is not done when the engine ends, ends with it. */
static void
test_end(void **state)
{
    struct fixture *f = *state;
    struct change change = { .reservation = 7 };

    engine_change(f->engine, plan_cb, done_cb, &change);
    stop(f);
    assert_int_equal(change.n_done, 1);
    assert_int_equal(change.outcome, ENGINE_NOT_STORED);
    start(f);
    assert_int_equal(engine_get_book(f->engine)->reservations.n, 0);
}

/* The control loop. */

static void
put_session(struct book *book, uint64_t id, uint16_t member)
{
    struct session s = { .entry = { 1, id },
                         .reservation = 7,
                         .member = member,
                         .name = (char *) "worker",
                         .weight = 1,
                         .base = 20000,
                         .token = TOKEN_ROOT };
    struct session *copy;

    s.report = report_create(now_ms());
    addr_from_string("10.0.0.101", &s.ip);
    s.ip.s6_addr[15] = (uint8_t) id;
    copy = session_clone(&s);
    copy->report->n_refs--; /* The original goes. */
    book_put_session(book, copy);
}

static char *
join_cb(void *id, struct engine_draft *draft)
{
    struct book *book = engine_draft_change_book(draft);

    put_reservation(book, 7);
    put_session(book, *(uint64_t *) id, (uint16_t) (*(uint64_t *) id + 100));
    return NULL;
}

static char *
expire_cb(void *aux, struct engine_draft *draft)
{
    const struct reservation *r =
        book_find_reservation(engine_draft_book(draft), 7);
    struct reservation *copy = reservation_clone(r);

    (void) aux;
    copy->expires = 1;
    book_put_reservation(engine_draft_change_book(draft), copy);
    return NULL;
}

static void
nothing_cb(void *aux, enum engine_outcome outcome, const char *error)
{
    (void) aux;
    (void) error;
    assert_int_equal(outcome, ENGINE_DONE);
}

static const struct instance *
get_free(const struct fixture *f)
{
    return state_find_instance(engine_get_state(f->engine), FREE);
}

/* Lets the loop go on until the free instance's only epoch has 'n' members. */
static void
wait_for_members(struct fixture *f, size_t n)
{
    for (;;) {
        const struct instance *instance = get_free(f);
        const struct epoch *newest = epochs_newest(&instance->epochs);

        if ((newest ? newest->calendar->n_shares : 0) == n) {
            return;
        }
        event_base_loop(f->base, EVLOOP_ONCE);
    }
}

static void
test_control_loop(void **state)
{
    struct fixture *f = *state;
    uint64_t first = 1, second = 2;
    uint16_t id;

    engine_change(f->engine, join_cb, nothing_cb, &first);
    wait_for_members(f, 1);
    assert_int_equal(get_free(f)->epochs.epochs[0]->first, 0);
    id = get_free(f)->epochs.epochs[0]->id;

    /* Nobody has sent a packet yet: the epoch is replaced. */
    engine_change(f->engine, join_cb, nothing_cb, &second);
    wait_for_members(f, 2);
    assert_int_equal(get_free(f)->epochs.n, 1);
    assert_int_equal(get_free(f)->epochs.epochs[0]->first, 0);
    assert_int_equal(get_free(f)->epochs.epochs[0]->id, id + 1);

    /* A restart goes on with it. */
    stop(f);
    start(f);
    wait_for_members(f, 2);
    assert_int_equal(get_free(f)->epochs.epochs[0]->id, id + 1);
    assert_int_equal(engine_get_book(f->engine)->sessions.n, 2);

    engine_change(f->engine, expire_cb, nothing_cb, NULL);
    wait_for_members(f, 0);
    assert_int_equal(engine_get_book(f->engine)->reservations.n, 0);
    assert_int_equal(engine_get_book(f->engine)->sessions.n, 0);
    assert_int_equal(get_free(f)->n_members, 0);
    assert_true(engine_get_periods(f->engine)->n > 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_draft, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refusal, setup, teardown),
        cmocka_unit_test_setup_teardown(test_contradiction, setup, teardown),
        cmocka_unit_test_setup_teardown(test_late, setup, teardown),
        cmocka_unit_test_setup_teardown(test_end, setup, teardown),
        cmocka_unit_test_setup_teardown(test_control_loop, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
