/* SPDX-License-Identifier: Apache-2.0 */

/* Everything that is computed in a control period in which all calendars
 * change, from the overlay to the difference of rules, at the size that evlbd
 * is made for.
 *
 * The tests check what comes out.  How long it took is said on the standard
 * error output; as figures of a build with sanitizers mean nothing, take
 *
 *     make build/plain/core-scale && build/plain/core-scale */

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "controller/core/book.h"
#include "controller/core/control.h"
#include "controller/core/mem.h"
#include "controller/core/neighbour.h"
#include "controller/core/overlay.h"
#include "controller/core/token.h"
#include "controller/rules/rule-diff.h"
#include "controller/rules/rule-set.h"
#include "controller/store/overlay-record.h"

#include "tests/unit/unit.h"

#define N_INSTANCES 8
#define N_MEMBERS 500
#define N_EPOCHS 4
#define N_ROUNDS 10
#define DATAPATH_ID 1

#define PARTS                         \
    PART(CONTROL, "control: step")    \
    PART(CLONE, "overlay: clone")     \
    PART(CONNECT, "overlay: connect") \
    PART(APPLY, "overlay: apply")     \
    PART(CHECK, "state: check")       \
    PART(BUILD, "rules: build")       \
    PART(DIFF, "rules: difference")   \
    PART(RECORD, "store: records")    \
    PART(DESTROY, "old ones: destroyed")

enum part {
#define PART(PART, NAME) PART_##PART,
    PARTS
#undef PART
        N_PARTS
};

static const char *const part_names[] = {
#define PART(PART, NAME) NAME,
    PARTS
#undef PART
};

/* Where the time goes. */
struct clock {
    double ms[N_PARTS];
    double last;
};

/* All there is, before and after a change. */
struct world {
    struct state config;
    struct bridge bridge;
    struct neighbours neighbours;
    struct book *book;
    struct overlay *overlay;
    struct state *state;
    struct rule_set *rules;
    uint16_t next_epoch;
    int64_t now;
    struct clock clock;
};

static double
clock_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double) ts.tv_sec * 1e3 + (double) ts.tv_nsec / 1e6;
}

/* Counts the time since the last call as that of 'part'. */
static void
clock_lap(struct clock *clock, enum part part)
{
    double now = clock_ms();

    clock->ms[part] += now - clock->last;
    clock->last = now;
}

static struct in6_addr
make_addr(const char *format, unsigned int a, unsigned int b)
{
    char s[ADDR_STRLEN];
    struct in6_addr addr;

    snprintf(s, sizeof s, format, a, b);
    assert_true(addr_from_string(s, &addr));
    return addr;
}

static void
init_instance(const struct state *config, struct instance *instance,
              uint16_t id)
{
    *instance = (struct instance){ .id = id,
                                   .reservable = true,
                                   .name = mem_printf("lb%u", id),
                                   .n_addresses = 2,
                                   .n_interfaces = 1,
                                   .first_port = 16384,
                                   .last_port = 32767 };
    instance->addresses = mem_alloc(2 * sizeof *instance->addresses);
    instance->addresses[0] = make_addr("192.0.%u.%u", 2, id + 1u);
    instance->addresses[1] = make_addr("2001:db8:%x::%x", 2, id + 1u);
    instance->interfaces = mem_alloc(sizeof(struct interface *));
    instance->interfaces[0] = &config->interfaces[0];
    epochs_init(&instance->epochs);
    instance->epoch_lines = mem_alloc(0);
}

static void
init_config(struct state *config)
{
    state_init(config);
    config->n_interfaces = 1;
    config->interfaces = mem_zalloc(sizeof *config->interfaces);
    config->interfaces[0].name = mem_strdup("data");
    config->interfaces[0].mac.ea[0] = 2;
    config->n_instances = N_INSTANCES;
    config->instances = mem_alloc(N_INSTANCES * sizeof *config->instances);
    for (uint16_t i = 0; i < N_INSTANCES; i++) {
        init_instance(config, &config->instances[i], i);
    }
}

/* Half of the members of an instance are IPv6. */
static struct member
make_member(unsigned int instance, unsigned int i)
{
    struct member m = { .id = (uint16_t) i,
                        .base = 19522,
                        .bits = 4,
                        .egress = { .type = PORT_SEEN } };
    unsigned int host = instance * N_MEMBERS + i + 1;

    m.ip = i % 2 ? make_addr("2001:db8:10:%x::%x", 1, host)
                 : make_addr("10.0.%u.%u", host / 250, host % 250 + 1);
    return m;
}

static void
add_workers(struct world *w)
{
    const struct mac mac = { { 2, 1, 1, 1, 1, 1 } };

    for (uint16_t i = 0; i < N_INSTANCES; i++) {
        for (unsigned int j = 0; j < N_MEMBERS; j++) {
            struct member m = make_member(i, j);
            struct neighbour_key key = { .datapath_id = DATAPATH_ID,
                                         .ip = m.ip };

            overlay_add_member(w->overlay, i, &m);
            neighbours_want(&w->neighbours, &key, 0);
            neighbours_answer(&w->neighbours, &key, &mac, 3, 1);
        }
    }
}

/* Stores in 'book' a token for 'resource' 'id', and returns its id. */
static uint32_t
add_token(struct book *book, uint32_t parent, enum token_resource resource,
          uint64_t id)
{
    struct token_permission p = { resource, id, TOKEN_UPDATE };
    struct token token = { .parent = parent,
                           .name = (char *) "",
                           .permissions = &p,
                           .n_permissions = 1 };
    char text[TOKEN_DIGITS + 1];
    uint32_t added;

    snprintf(text, sizeof text, "%016" PRIx64 "%016x", id, resource);
    assert_true(token_digest(text, token.digest));
    unit_assert_error(token_tree_add(book->tokens, &token, &added), NULL);
    return added;
}

static void
add_session(struct book *book, const struct reservation *r, unsigned int i)
{
    const struct member m = make_member(r->instance, i);
    struct session s = { .entry = { .id = book->sessions.last + 1 },
                         .reservation = r->entry.id,
                         .member = m.id,
                         .name = (char *) "worker",
                         .weight = 1,
                         .ip = m.ip,
                         .base = m.base };
    struct session *copy;

    s.report = report_create(0);
    s.token = add_token(book, r->token, TOKEN_SESSION, s.entry.id);
    copy = session_clone(&s);
    copy->report->n_refs--;
    book_put_session(book, copy);
}

/* Returns a book in which all instances are reserved and have all workers. */
static struct book *
make_book(void)
{
    struct book *book = book_create();

    for (uint16_t i = 0; i < N_INSTANCES; i++) {
        struct reservation r = { .entry = { .id = i + 1u },
                                 .instance = i,
                                 .name = (char *) "reservation" };
        struct reservation *copy;

        r.token = add_token(book, TOKEN_ROOT, TOKEN_RESERVATION, i + 1u);
        copy = reservation_clone(&r);
        book_put_reservation(book, copy);
        for (unsigned int j = 0; j < N_MEMBERS; j++) {
            add_session(book, copy, j);
        }
    }
    return book;
}

/* Has all workers of 'sessions' report at 'now', with any control signal. */
static void
report(const struct session *const *sessions, size_t n, int64_t now,
       uint64_t seed)
{
    for (size_t i = 0; i < n; i++) {
        struct report *r = sessions[i]->report;

        r->received = now;
        r->ready = r->admitted = r->news = true;
        r->control = unit_random_below(&seed, 400) - 200.0;
    }
}

static uint64_t
epoch_first(uint16_t epoch)
{
    return epoch ? UINT64_C(1700000000000000) + epoch * UINT64_C(1048576) : 0;
}

/* Connects the epoch to 'instance' of 'overlay' that the control loop makes of
 * what the workers reported, and lets the oldest go that are too many. */
static void
connect_epoch(struct world *w, struct overlay *overlay, uint16_t instance)
{
    static const struct control_settings settings = { .silent = 2000,
                                                      .gone = 60000 };
    uint16_t epoch = w->next_epoch;
    struct control_inputs in = {
        .settings = &settings,
        .now = w->now,
        .seed = epoch,
        .reservation = book_find_reservation_of(w->book, instance),
        .epochs = &w->state->instances[instance].epochs,
        .boundary = epoch_first(epoch)
    };
    struct control_outcome out;
    const struct session **sessions =
        book_find_sessions(w->book, in.reservation->entry.id, &in.n_sessions);

    report(sessions, in.n_sessions, w->now, epoch * 10u + instance + 1u);
    in.sessions = sessions;
    clock_lap(&w->clock, PART_CONNECT);
    control_step(&in, &out);
    clock_lap(&w->clock, PART_CONTROL);
    assert_non_null(out.calendar);
    assert_int_equal(out.issues.n, 0);
    unit_assert_error(overlay_connect(overlay, instance, epoch, out.boundary,
                                      0, out.calendar),
                      NULL);
    if (epoch >= N_EPOCHS) {
        overlay_retire(overlay, instance, epoch_first(epoch - N_EPOCHS + 1));
    }
    control_outcome_destroy(&out);
    free(sessions);
    clock_lap(&w->clock, PART_CONNECT);
}

/* Makes 'overlay' and all that follows from it take the place of what is there;
 * returns the number of steps from one rule set to the other. */
static size_t
serve(struct world *w, struct overlay *overlay)
{
    const struct rule_inputs inputs = { .neighbours = &w->neighbours };
    struct rule_diff diff;
    struct rule_set *rules;
    struct state *state;
    size_t n;
    int line;

    unit_assert_error(overlay_apply(overlay, &w->config, &state, &line), NULL);
    clock_lap(&w->clock, PART_APPLY);
    unit_assert_error(state_check_successor(w->state, state, &line), NULL);
    clock_lap(&w->clock, PART_CHECK);
    rules = rule_set_build(state, &w->bridge, &inputs);
    clock_lap(&w->clock, PART_BUILD);
    rule_diff_init(&diff);
    unit_assert_error(rule_diff_compute(&diff, w->rules, rules), NULL);
    clock_lap(&w->clock, PART_DIFF);

    n = diff.n;
    for (uint16_t i = 0; i < N_INSTANCES; i++) {
        free(overlay_record_format(overlay_find(overlay, i)));
    }
    clock_lap(&w->clock, PART_RECORD);
    rule_diff_destroy(&diff);
    overlay_destroy(w->overlay);
    state_destroy(w->state);
    free(w->state);
    rule_set_unref(w->rules);
    w->overlay = overlay;
    w->state = state;
    w->rules = rules;
    clock_lap(&w->clock, PART_DESTROY);
    return n;
}

/* Has each instance go on with another calendar. */
static size_t
run_period(struct world *w)
{
    struct overlay *overlay;

    w->clock.last = clock_ms();
    overlay = overlay_clone(w->overlay);
    clock_lap(&w->clock, PART_CLONE);
    for (uint16_t i = 0; i < N_INSTANCES; i++) {
        connect_epoch(w, overlay, i);
    }
    w->next_epoch++;
    w->now += 1000;
    return serve(w, overlay);
}

static void
init_world(struct world *w)
{
    *w = (struct world){ .bridge = { .datapath_id = DATAPATH_ID } };
    init_config(&w->config);
    neighbours_init(&w->neighbours, NEIGHBOUR_REFRESH_MS, 1);
    w->book = make_book();
    w->overlay = overlay_create();
    w->state = mem_alloc(sizeof *w->state);
    state_clone(w->state, &w->config);
    w->rules = rule_set_create();
    free(rule_set_seal(w->rules));
    add_workers(w);
}

static void
destroy_world(struct world *w)
{
    book_destroy(w->book);
    overlay_destroy(w->overlay);
    state_destroy(w->state);
    free(w->state);
    rule_set_unref(w->rules);
    neighbours_destroy(&w->neighbours);
    state_destroy(&w->config);
}

/* With workers and epochs, only what an epoch consists of changes: not a rule
 * of a member is touched. */
static void
test_period(void **state)
{
    struct world w;
    double sum = 0;

    (void) state;
    init_world(&w);
    for (int i = 0; i < N_EPOCHS; i++) {
        assert_true(run_period(&w) > 0);
    }
    w.clock = (struct clock){ .last = 0 };
    for (int i = 0; i < N_ROUNDS; i++) {
        size_t n = run_period(&w);

        /* A calendar comes and one goes, and some prefixes. */
        assert_in_range(n, N_INSTANCES * 3, N_INSTANCES * 100);
    }
    for (int i = 0; i < N_PARTS; i++) {
        fprintf(stderr, "%-20s %7.2f ms\n", part_names[i],
                w.clock.ms[i] / N_ROUNDS);
        sum += w.clock.ms[i] / N_ROUNDS;
    }
    fprintf(stderr, "%-20s %7.2f ms for %d instances of %d members\n", "all",
            sum, N_INSTANCES, N_MEMBERS);
    assert_int_equal(w.state->instances[0].n_members, N_MEMBERS);
    assert_int_equal(w.state->instances[0].epochs.n, N_EPOCHS);
    destroy_world(&w);
}

/* A token for each worker, and one for each reservation. */
static void
test_tokens(void **state)
{
    const int n = N_INSTANCES * N_MEMBERS;
    const unsigned int n_finds = 100000;
    struct token_tree *tree = token_tree_create();
    uint8_t digest[TOKEN_DIGEST_LEN];
    char text[TOKEN_DIGITS + 1];
    unsigned int n_found = 0;
    double begin, cloned;

    (void) state;
    for (int i = 0; i < n; i++) {
        struct token token = { .parent = TOKEN_ROOT, .name = (char *) "" };
        uint32_t id;

        snprintf(text, sizeof text, "%032x", i);
        assert_true(token_digest(text, token.digest));
        unit_assert_error(token_tree_add(tree, &token, &id), NULL);
    }

    begin = clock_ms();
    for (int i = 0; i < N_ROUNDS; i++) {
        struct token_tree *copy = token_tree_clone(tree);

        token_tree_destroy(tree);
        tree = copy;
    }
    cloned = clock_ms();
    for (unsigned int i = 0; i < n_finds; i++) {
        snprintf(text, sizeof text, "%032x", i % (unsigned int) n);
        assert_true(token_digest(text, digest));
        n_found += token_tree_find_digest(tree, digest) != NULL;
    }
    fprintf(stderr,
            "%d tokens: %.3f ms to clone and destroy, %.2f us to find\n", n,
            (cloned - begin) / N_ROUNDS,
            (clock_ms() - cloned) * 1000 / n_finds);
    assert_int_equal(n_found, n_finds);
    token_tree_destroy(tree);
}

/* A worker that registers has the book cloned; a reservation goes with all that
 * it has. */
static void
test_book(void **state)
{
    struct book *book = make_book();
    const struct member last = make_member(7, N_MEMBERS - 1);
    double begin = clock_ms();
    double cloned, found;

    (void) state;
    for (int i = 0; i < N_ROUNDS; i++) {
        struct book *copy = book_clone(book);

        book_destroy(book);
        book = copy;
    }
    cloned = clock_ms();
    for (int i = 0; i < N_ROUNDS; i++) {
        assert_non_null(book_find_worker(book, 8, &last.ip, last.base));
    }
    found = clock_ms();
    book_remove_reservation(book, 3);
    fprintf(stderr,
            "book: %.3f ms to clone and destroy, %.3f ms to find a worker, "
            "%.2f ms to free a reservation\n",
            (cloned - begin) / N_ROUNDS, (found - cloned) / N_ROUNDS,
            clock_ms() - found);
    assert_int_equal(book->sessions.n, (N_INSTANCES - 1) * N_MEMBERS);
    assert_int_equal(book->tokens->n, 1 + (N_INSTANCES - 1) * (1 + N_MEMBERS));
    book_destroy(book);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_period),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_book),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
