/* SPDX-License-Identifier: Apache-2.0 */

#include "endpoints/intake.h"

#include <assert.h>
#include <stdlib.h>

#include "endpoints/payload.h"

struct intake {
    struct intake_config config;   /* Constant. */
    struct reassembly *reassembly; /* Open events. */
    reassembly_close_cb *close_cb; /* Told of each event that is closed. */
    void *aux;                     /* For 'close_cb'. */
    struct intake_stats stats;     /* Shown to the caller. */
    struct intake_source *sources; /* INTAKE_N_SOURCES, by data id. */
};

/* A reassembly's result is a verdict without translation. */
#define REASSEMBLY_RESULT(NAME, WORD) \
    static_assert((int) INTAKE_##NAME == (int) REASSEMBLY_##NAME, WORD);
REASSEMBLY_RESULTS
#undef REASSEMBLY_RESULT

/* Returns the word for 'verdict', for logs and names of counters. */
const char *
intake_verdict_to_string(enum intake_verdict verdict)
{
    switch (verdict) {
#define REASSEMBLY_RESULT(NAME, WORD) \
    case INTAKE_##NAME:               \
        return WORD;
        REASSEMBLY_RESULTS
#undef REASSEMBLY_RESULT
#define INTAKE_VERDICT(NAME, WORD) \
    case INTAKE_##NAME:            \
        return WORD;
        INTAKE_VERDICTS
#undef INTAKE_VERDICT
    }
    return "unknown";
}

/* Accounts for complete event 'e'.  Its segments were checked one by one; that
 * the whole is right as well shows that they were put together right. */
static void
note_complete(struct intake *intake, const struct reassembly_event *e)
{
    uint64_t seed = payload_seed(e->data_id, e->event_num, e->length);

    if (intake->config.any_payload
        || payload_check(seed, 0, e->data, e->length)) {
        intake->stats.complete++;
        intake->stats.complete_bytes += e->length;
        intake->sources[e->data_id].complete++;
    } else {
        intake->stats.corrupt_events++;
    }
}

static void
note_closed(const struct reassembly_event *e, void *intake_)
{
    struct intake *intake = intake_;

    switch (e->closing) {
    case REASSEMBLY_CLOSED_COMPLETE:
        note_complete(intake, e);
        break;
    case REASSEMBLY_CLOSED_EXPIRED:
        intake->stats.expired++;
        break;
    case REASSEMBLY_CLOSED_EVICTED:
        intake->stats.evicted++;
        break;
    case REASSEMBLY_CLOSED_UNFINISHED:
        intake->stats.unfinished++;
        break;
    }
    if (e->closing != REASSEMBLY_CLOSED_COMPLETE) {
        intake->stats.missing_bytes += e->length - e->received;
        intake->sources[e->data_id].incomplete++;
    }
    intake->close_cb(e, intake->aux);
}

/* Returns an intake for 'config' that tells 'close_cb', with 'aux', of each
 * event that is closed.  NULL if there is not enough memory.  The caller frees
 * it with intake_destroy(). */
struct intake *
intake_create(const struct intake_config *config,
              reassembly_close_cb *close_cb, void *aux)
{
    struct intake *intake = calloc(1, sizeof *intake);

    if (!intake) {
        return NULL;
    }
    intake->config = *config;
    intake->close_cb = close_cb;
    intake->aux = aux;
    intake->sources = calloc(INTAKE_N_SOURCES, sizeof *intake->sources);
    intake->reassembly =
        reassembly_create(&config->reassembly, note_closed, intake);
    if (!intake->sources || !intake->reassembly) {
        intake_destroy(intake);
        return NULL;
    }
    return intake;
}

void
intake_destroy(struct intake *intake)
{
    if (intake) {
        reassembly_destroy(intake->reassembly);
        free(intake->sources);
        free(intake);
    }
}

/* Takes the LB header from the start of the packet.  Returns true if the
 * packet goes on, else sets its verdict. */
static bool
take_lb(struct intake *intake, uint16_t port, struct intake_packet *p)
{
    const struct intake_config *config = &intake->config;
    enum wire_error error = wire_lb_unpack(&p->lb, p->data, p->size);

    switch (error) {
    case WIRE_OK:
        break;
    case WIRE_SHORT:
    case WIRE_BAD_LENGTH:
        p->verdict = INTAKE_LB_SHORT;
        return false;
    case WIRE_BAD_MAGIC:
        p->verdict = INTAKE_LB_BAD_MAGIC;
        return false;
    case WIRE_BAD_VERSION:
        p->verdict = INTAKE_LB_BAD_VERSION;
        return false;
    }

    p->has_lb = true;
    p->data += WIRE_LB_LEN;
    p->size -= WIRE_LB_LEN;
    intake->stats.lb_v2 += p->lb.version == 2;
    intake->stats.lb_v3 += p->lb.version == 3;
    intake->stats.wrong_port +=
        port
        != wire_member_port(config->port_base, p->lb.port_select,
                            config->port_bits);
    p->verdict = INTAKE_LB_BAD_PROTO;
    return p->lb.proto == WIRE_LB_PROTO_RE;
}

/* Takes the RE header from the start of the packet.  Returns true if the
 * packet goes on, else sets its verdict. */
static bool
take_re(struct intake *intake, struct intake_packet *p)
{
    enum wire_error error = wire_re_unpack(&p->re, p->data, p->size);
    struct wire_lb lb;

    if (error == WIRE_OK) {
        p->has_re = true;
        p->data += WIRE_RE_LEN;
        p->size -= WIRE_RE_LEN;
        intake->sources[p->re.data_id].packets++;
        intake->sources[p->re.data_id].bytes += p->size;
        return true;
    } else if (!p->has_lb && !wire_lb_unpack(&lb, p->data, p->size)) {
        p->verdict = INTAKE_UNSTRIPPED;
    } else if (error == WIRE_SHORT) {
        p->verdict = INTAKE_RE_SHORT;
    } else {
        p->verdict = INTAKE_RE_BAD_VERSION;
    }
    return false;
}

/* Returns true if the event of 'p' is known to be another node's.  Without the
 * LB header, event numbers are taken for ticks. */
static bool
is_foreign(const struct intake *intake, const struct intake_packet *p)
{
    uint64_t tick = p->has_lb ? p->lb.tick : p->re.event_num;
    uint16_t selector = p->has_lb ? p->lb.slot_select : tick;

    return (intake->config.owned
            && !owned_has(intake->config.owned, tick, selector));
}

/* Returns what becomes of the segment in 'p'. */
static enum intake_verdict
take_segment(struct intake *intake, uint16_t port, int64_t now,
             const struct intake_packet *p)
{
    const struct wire_re *re = &p->re;
    struct reassembly_segment s = {
        .event_num = re->event_num,
        .data_id = re->data_id,
        .port = port,
        .offset = re->offset,
        .length = re->length,
        .data = p->data,
        .size = p->size,
        .foreign = is_foreign(intake, p),
    };
    uint64_t seed = payload_seed(re->data_id, re->event_num, re->length);

    intake->stats.foreign += s.foreign;
    if (!intake->config.any_payload
        && !payload_check(seed, re->offset, p->data, p->size)) {
        return INTAKE_CORRUPT;
    }
    return (enum intake_verdict) reassembly_add(intake->reassembly, &s, now);
}

/* Takes in the datagram of 'size' bytes at 'data' that came to 'port' at
 * 'now'.  '*p' tells what was found in it; 'p->data' points into 'data'. */
void
intake_packet(struct intake *intake, uint16_t port, const void *data,
              size_t size, int64_t now, struct intake_packet *p)
{
    *p = (struct intake_packet){
        .data = data,
        .size = size,
    };
    if ((!intake->config.keep || take_lb(intake, port, p))
        && take_re(intake, p)) {
        p->verdict = take_segment(intake, port, now, p);
    }
    intake->stats.packets++;
    intake->stats.bytes += size;
    intake->stats.verdicts[p->verdict]++;
}

/* Gives up the events that are too old at 'now'. */
void
intake_run(struct intake *intake, int64_t now)
{
    reassembly_run(intake->reassembly, now);
}

/* Gives up all open events at 'now'. */
void
intake_flush(struct intake *intake, int64_t now)
{
    reassembly_flush(intake->reassembly, now);
}

const struct intake_stats *
intake_stats(const struct intake *intake)
{
    return &intake->stats;
}

const struct reassembly_stats *
intake_reassembly_stats(const struct intake *intake)
{
    return reassembly_stats(intake->reassembly);
}

const struct intake_source *
intake_source(const struct intake *intake, uint16_t data_id)
{
    return &intake->sources[data_id];
}
