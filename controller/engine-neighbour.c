/* SPDX-License-Identifier: Apache-2.0 */

/* How the engine finds members: questions out of the ports of bridges, and
 * what is to be done with the answers. */

#include "controller/engine-private.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include <event2/event.h>
#include <openvswitch/vlog.h>

#include "controller/core/frame.h"
#include "controller/target/ovs/server.h"
#include "controller/target/ovs/session.h"

VLOG_DEFINE_THIS_MODULE(evlb_neighbour);

/* What was found takes effect so long after the first news, so that many
 * stations are one change; questions are asked in steps of the same length, at
 * most so many in one. */
#define STEP_MS 100
#define QUESTIONS_MAX 64

/* Solicitations that are answered for one instance in a second. */
#define ANSWERS_S 100

/* OpenFlow's reserved port that stands for all ports that may be flooded
 * to. */
#define PORT_FLOOD 0xfffb

static int64_t
now_ms__(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t) ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static const struct interface *
find_interface__(const struct state *state, uint8_t id)
{
    for (size_t i = 0; i < state->n_interfaces; i++) {
        if (state->interfaces[i].id == id) {
            return &state->interfaces[i];
        }
    }
    return NULL;
}

static bool
is_at__(const struct instance *instance, const struct interface *iface)
{
    for (size_t i = 0; i < instance->n_interfaces; i++) {
        if (instance->interfaces[i] == iface) {
            return true;
        }
    }
    return false;
}

/* Stores in 'sender' an address of 'target''s family that an instance has on
 * 'iface'.  Returns false if there is none. */
static bool
find_sender__(const struct state *state, const struct interface *iface,
              const struct in6_addr *target, struct frame_sender *sender)
{
    *sender = (struct frame_sender){ .vlan = iface->vlan, .mac = iface->mac };
    for (size_t i = 0; i < state->n_instances; i++) {
        const struct instance *instance = &state->instances[i];

        for (size_t j = 0; j < instance->n_addresses; j++) {
            if (is_at__(instance, iface)
                && addr_is_ipv4(&instance->addresses[j])
                       == addr_is_ipv4(target)) {
                sender->ip = instance->addresses[j];
                return true;
            }
        }
    }
    return false;
}

static void
ask_cb__(void *engine_, const struct neighbour *neighbour, bool unicast)
{
    struct engine *engine = engine_;
    const struct neighbour_key *key = &neighbour->key;
    const struct interface *iface =
        find_interface__(engine->state, key->iface);
    struct frame_sender sender;
    uint8_t frame[FRAME_MAX];
    size_t n;

    if (iface && find_sender__(engine->state, iface, &key->ip, &sender)) {
        n = frame_encode_question(frame, &sender, &key->ip,
                                  unicast ? &neighbour->mac : NULL);
        ovs_server_send_packet(engine->server, key->datapath_id,
                               unicast ? neighbour->port : PORT_FLOOD, frame,
                               n);
    }
}

/* Sets the timer for the next question, or for what was found. */
static void
schedule__(struct engine *engine)
{
    int64_t now = now_ms__();
    int64_t wakeup = neighbours_wakeup(&engine->neighbours);
    struct timeval tv;

    if (engine->neighbour_news) {
        wakeup = now;
    }
    if (wakeup == INT64_MAX) {
        event_del(engine->neighbour_timer);
        return;
    }
    wakeup = wakeup - now > STEP_MS ? wakeup - now : STEP_MS;
    tv.tv_sec = wakeup / 1000;
    tv.tv_usec = wakeup % 1000 * 1000;
    event_add(engine->neighbour_timer, &tv);
}

static void
timer_cb__(evutil_socket_t fd, short events, void *engine_)
{
    struct engine *engine = engine_;

    (void) fd;
    (void) events;
    neighbours_run(&engine->neighbours, QUESTIONS_MAX, now_ms__(), ask_cb__,
                   engine);
    if (engine->neighbour_news) {
        engine->neighbour_news = false;
        engine_apply(engine);
    }
    schedule__(engine);
}

/* Wants the station that packets for 'member' are handed to, unless the
 * configuration says all about it. */
static void
want_member__(struct engine *engine, const struct bridge *bridge,
              const struct interface *iface, const struct member *member)
{
    struct neighbour_key key = { .datapath_id = bridge->datapath_id,
                                 .iface = iface->id };

    if ((mac_is_zero(&member->mac) || member->egress.type == PORT_SEEN)
        && interface_next_hop(iface, &member->ip, &key.ip)) {
        neighbours_want(&engine->neighbours, &key, now_ms__());
    }
}

static void
want_instance__(struct engine *engine, const struct bridge *bridge,
                const struct instance *instance)
{
    for (size_t i = 0; i < instance->n_interfaces; i++) {
        for (size_t j = 0; j < instance->n_members; j++) {
            want_member__(engine, bridge, instance->interfaces[i],
                          &instance->members[j]);
        }
    }
}

static void
forget_cb__(void *engine, const struct neighbour *neighbour)
{
    engine_store_neighbour__(engine, neighbour, false);
}

/* Looks for the stations that the state in service needs, and for no
 * others. */
void
engine_neighbours_update__(struct engine *engine)
{
    const struct state *state = engine->state;

    engine->neighbours.refresh = 1000 * (int64_t) state->neighbours.refresh;
    neighbours_begin_wanting(&engine->neighbours);
    for (size_t i = 0; state->neighbours.resolve && i < state->n_bridges;
         i++) {
        for (size_t j = 0; j < state->n_instances; j++) {
            want_instance__(engine, &state->bridges[i], &state->instances[j]);
        }
    }
    neighbours_end_wanting(&engine->neighbours, forget_cb__, engine);
    schedule__(engine);
}

/* Packets that flows send to us. */

static const struct interface *
find_vlan__(const struct state *state, uint16_t vlan)
{
    for (size_t i = 0; i < state->n_interfaces; i++) {
        if (state->interfaces[i].vlan == vlan) {
            return &state->interfaces[i];
        }
    }
    return NULL;
}

static void
receive_answer__(struct engine *engine, uint64_t datapath_id, uint32_t port,
                 const struct interface *iface, const struct frame *frame)
{
    const struct neighbour_key key = { datapath_id, iface->id, frame->ip };
    char ip[ADDR_STRLEN], mac[MAC_STRLEN];

    addr_to_string(&frame->ip, ip);
    mac_to_string(&frame->mac, mac);
    if (neighbours_answer(&engine->neighbours, &key, &frame->mac, port,
                          now_ms__())) {
        VLOG_INFO("%s is %s, at port %" PRIu32 " of datapath %016" PRIx64, ip,
                  mac, port, datapath_id);
        engine->neighbour_news = true;
        engine_store_neighbour__(
            engine, neighbours_find(&engine->neighbours, &key), true);
    }
    schedule__(engine);
}

/* Returns the instance that has 'ip' on 'iface', or NULL. */
static const struct instance *
find_owner__(const struct state *state, const struct interface *iface,
             const struct in6_addr *ip)
{
    for (size_t i = 0; i < state->n_instances; i++) {
        const struct instance *instance = &state->instances[i];

        for (size_t j = 0; j < instance->n_addresses; j++) {
            if (is_at__(instance, iface)
                && addr_equal(&instance->addresses[j], ip)) {
                return instance;
            }
        }
    }
    return NULL;
}

/* Returns true if one more question for 'instance' may be answered in this
 * second. */
static bool
may_answer__(struct engine *engine, const struct instance *instance)
{
    struct engine_answers *answers = &engine->answers[instance->id];
    int64_t second = now_ms__() / 1000;

    if (answers->second != second) {
        *answers = (struct engine_answers){ .second = second };
    }
    return answers->n++ < ANSWERS_S;
}

static void
receive_question__(struct engine *engine, uint64_t datapath_id, uint32_t port,
                   const struct interface *iface, const struct frame *frame)
{
    const struct frame_sender sender = { iface->vlan, iface->mac, frame->ip };
    const struct instance *instance =
        find_owner__(engine->state, iface, &frame->ip);
    uint8_t answer[FRAME_MAX];
    size_t n;

    if (instance && may_answer__(engine, instance)) {
        n = frame_encode_advertisement(answer, &sender, frame);
        ovs_server_send_packet(engine->server, datapath_id, port, answer, n);
    }
}

static void
packet_cb__(void *engine_, uint64_t datapath_id,
            const struct session_packet *packet)
{
    struct engine *engine = engine_;
    const struct interface *iface;
    struct frame frame;

    frame_decode(packet->data, packet->size, &frame);
    iface = find_vlan__(engine->state, frame.vlan);
    if (!iface) {
        return;
    }
    switch (frame.type) {
    case FRAME_ANSWER:
        receive_answer__(engine, datapath_id, packet->port, iface, &frame);
        break;
    case FRAME_QUESTION:
        receive_question__(engine, datapath_id, packet->port, iface, &frame);
        break;
    case FRAME_OTHER:
        VLOG_DBG("datapath %016" PRIx64 ": a packet that is not for us",
                 datapath_id);
        break;
    }
}

/* Initializes what 'engine', which has its server, knows of neighbours. */
void
engine_neighbours_init__(struct engine *engine)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    neighbours_init(&engine->neighbours, NEIGHBOUR_REFRESH_MS,
                    (uint64_t) ts.tv_nsec + 1);
    engine->neighbour_timer = evtimer_new(engine->base, timer_cb__, engine);
    ovs_server_set_packet_cb(engine->server, packet_cb__);
}

void
engine_neighbours_destroy__(struct engine *engine)
{
    event_free(engine->neighbour_timer);
    neighbours_destroy(&engine->neighbours);
}

/* Returns the stations that 'engine' looks for. */
const struct neighbours *
engine_get_neighbours(const struct engine *engine)
{
    return &engine->neighbours;
}
