/* SPDX-License-Identifier: Apache-2.0 */

#include "endpoints/plan.h"

#include "endpoints/payload.h"

/* Tells apart what random numbers are for. */
enum purpose {
    FOR_SIZE,
    FOR_ENTROPY,
    FOR_SLOT,
};

/* Prepares 'plan' to give the segments that 'config' asks for. */
void
plan_init(struct plan *plan, const struct plan_config *config)
{
    *plan = (struct plan){
        .config = *config,
        .data_id = config->data_ids.min,
    };
}

/* Returns a random number that depends on nothing but the arguments and the
 * seed. */
static uint64_t
random_for(const struct plan *plan, enum purpose purpose, uint64_t event_num,
           uint64_t data_id)
{
    uint64_t x = payload_mix(plan->config.seed + purpose);

    return payload_mix(payload_mix(x + event_num) + data_id);
}

/* Returns true if the next segment is the first of an event. */
bool
plan_at_event_start(const struct plan *plan)
{
    return plan->data_id == plan->config.data_ids.min && !plan->offset;
}

/* Returns the tick that the next event gets if it starts at 'now_us',
 * microseconds since the epoch.  Ticks of the clock never repeat: where events
 * are faster than the clock they run ahead of it. */
uint64_t
plan_coming_tick(const struct plan *plan, uint64_t now_us)
{
    const struct plan_config *config = &plan->config;

    if (!config->tick_clock) {
        return config->tick_start + plan->n_done * config->tick_step;
    }
    return plan->n_done && now_us <= plan->tick ? plan->tick + 1 : now_us;
}

static uint32_t
choose_size(const struct plan *plan, uint64_t event_num)
{
    const struct options_range *range = &plan->config.event_size;
    uint64_t x = random_for(plan, FOR_SIZE, event_num, plan->data_id);

    return range->min + x % (range->max - range->min + 1);
}

static uint16_t
choose_entropy(const struct plan *plan, uint64_t event_num)
{
    const struct plan_selector *s = &plan->config.entropy;

    switch (s->how) {
    case PLAN_SELECT_RANDOM:
        return random_for(plan, FOR_ENTROPY, event_num, plan->data_id);
    case PLAN_SELECT_DATA_ID:
        return plan->data_id;
    case PLAN_SELECT_FIXED:
    case PLAN_SELECT_TICK:
        break;
    }
    return s->value;
}

/* A random slot depends on the tick alone, as all data sources of an event
 * must choose the same. */
static uint16_t
choose_slot(const struct plan *plan)
{
    const struct plan_selector *s = &plan->config.slot;

    switch (s->how) {
    case PLAN_SELECT_RANDOM:
        return random_for(plan, FOR_SLOT, plan->tick, 0);
    case PLAN_SELECT_TICK:
        return plan->tick;
    case PLAN_SELECT_FIXED:
    case PLAN_SELECT_DATA_ID:
        break;
    }
    return s->value;
}

/* Decides what the segments of the coming bundle have in common. */
static void
start_bundle(struct plan *plan)
{
    const struct plan_config *config = &plan->config;
    uint64_t event_num =
        (config->own_event_nums ? config->event_start + plan->n_done
                                : plan->tick);
    uint64_t n_ids = config->data_ids.max - config->data_ids.min + 1;
    uint64_t n_ports = config->ports.max - config->ports.min + 1;
    uint64_t k = plan->n_done * n_ids + plan->data_id - config->data_ids.min;

    plan->bundle = (struct plan_segment){
        .lb.version = config->lb_version,
        .lb.proto = WIRE_LB_PROTO_RE,
        .lb.slot_select = choose_slot(plan),
        .lb.port_select = choose_entropy(plan, event_num),
        .lb.tick = plan->tick,
        .re.data_id = plan->data_id,
        .re.length = choose_size(plan, event_num),
        .re.event_num = event_num,
        .port = config->ports.min + k % n_ports,
        .socket = k / n_ports % config->n_sockets,
    };
    if (config->lb_version == 2) {
        plan->bundle.lb.slot_select = plan->tick;
    }
}

/* Goes on to the bundle, and where that was the last of its event to the
 * event, after the one whose last segment 's' is. */
static void
end_bundle(struct plan *plan, struct plan_segment *s)
{
    s->ends_bundle = true;
    s->ends_event = plan->data_id == plan->config.data_ids.max;
    plan->offset = 0;
    if (s->ends_event) {
        plan->data_id = plan->config.data_ids.min;
        plan->n_done++;
    } else {
        plan->data_id++;
    }
}

/* Puts the next segment into '*s', where it is 'now_us' microseconds since the
 * epoch.  Returns false if there is no more. */
bool
plan_next(struct plan *plan, uint64_t now_us, struct plan_segment *s)
{
    bool starts_event = plan_at_event_start(plan);
    uint64_t left;

    if (starts_event) {
        if (plan->config.n_events && plan->n_done >= plan->config.n_events) {
            return false;
        }
        plan->tick = plan_coming_tick(plan, now_us);
    }
    if (!plan->offset) {
        start_bundle(plan);
    }

    *s = plan->bundle;
    left = s->re.length - plan->offset;
    s->starts_event = starts_event;
    s->re.offset = plan->offset;
    s->size =
        (left < plan->config.max_segment ? left : plan->config.max_segment);
    plan->offset += s->size;
    if (plan->offset >= s->re.length) {
        end_bundle(plan, s);
    }
    return true;
}
