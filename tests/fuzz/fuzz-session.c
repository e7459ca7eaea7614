/* SPDX-License-Identifier: Apache-2.0 */

/* A session with a hostile switch.
 *
 * The input is a series of messages, each
 *
 *     type (8 bits) | xid (8 bits) | body length (16 bits, big-endian) | body
 *
 * which are given the headers that they need to get past the first checks, of
 * the version that the first message, a hello, has led to.
 * Behind each one, a second passes.  The session has rules to install and goes
 * through its whole life if the answers are right; whenever they are
 * committed, it reads all that the switch has to tell. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <config.h>
#include <openvswitch/ofp-msgs.h>
#include <openvswitch/ofpbuf.h>
#include <openvswitch/vlog.h>

#include "controller/core/calendar.h"
#include "controller/core/frame.h"
#include "controller/core/mem.h"
#include "controller/rules/rule-set.h"
#include "controller/target/ovs/session-stats.h"
#include "controller/target/ovs/session.h"
#include "controller/target/ovs/snapshot.h"

#define BODY_MAX 8192

/* From here on, xids in the input are those of requests that are not
 * counted, such as packets, meters and roles. */
#define SPECIAL_XID 0xc0

int LLVMFuzzerInitialize(int *, char ***);
int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static const struct rule_set *rules;

/* One rule of each kind that becomes a message of its own shape. */
static const struct rule_set *
make_rules(void)
{
    const struct calendar_share shares[] = { { 1, 1, 0, 0 }, { 2, 1, 0, 0 } };
    struct rule_set *set = rule_set_create();
    struct rule rule = { .kind = RULE_CALENDAR };

    free(calendar_create(shares, 2, 2, &rule.calendar.calendar));
    rule_set_add(set, &rule);
    calendar_unref(rule.calendar.calendar);

    rule = (struct rule){ .kind = RULE_EPOCH };
    rule_set_add(set, &rule);
    rule = (struct rule){ .kind = RULE_MEMBER };
    rule.member.egress.type = PORT_NAME;
    memcpy(rule.member.egress.name, "cn1", 4);
    rule_set_add(set, &rule);
    rule = (struct rule){ .kind = RULE_PORTS };
    rule_set_add(set, &rule);
    free(rule_set_seal(set));
    return set;
}

static const char *
identify_cb(void *aux, struct session *session, uint64_t datapath_id,
            char **error)
{
    (void) aux;
    if (datapath_id == UINT64_MAX) {
        *error = mem_strdup("is not ours");
        return NULL;
    }
    session_set_rules(session, rules, 0);
    return "br0";
}

static int64_t now;

/* Readers that are not answered yet. */
static unsigned int n_waiting;

static void
snapshot_cb(void *aux, const char *error, const struct snapshot *snapshot)
{
    (void) aux;
    if (!error == !snapshot || !n_waiting--) {
        abort();
    }
}

static void
committed_cb(void *aux, struct session *session, const struct rule_set *set)
{
    if (set != rules) {
        abort();
    }
    ++*(unsigned int *) aux;
    n_waiting++;
    session_snapshot(session, SNAPSHOT_ALL, snapshot_cb, NULL, now);
}

static void
packet_cb(void *aux, struct session *session,
          const struct session_packet *packet)
{
    struct frame frame;

    (void) aux;
    frame_decode(packet->data, packet->size, &frame);
    session_send_packet(session, packet->port, packet->data, packet->size);
}

/* Gives 'session' the message at the beginning of the 'size' bytes at 'p'.
 * Returns how many bytes it was. */
static size_t
receive(struct session *session, const uint8_t *p, size_t size)
{
    static uint64_t buf[(sizeof(struct ofp_header) + BODY_MAX) / 8];
    struct ofp_header *oh = (struct ofp_header *) buf;
    size_t length = (size_t) p[2] << 8 | p[3];

    length = length < size - 4 ? length : size - 4;
    length = length < BODY_MAX ? length : BODY_MAX;
    oh->version = (session_get_state(session) == SESSION_HELLO
                       ? (uint8_t) OFP15_VERSION
                       : (uint8_t) (session_get_minor_version(session) + 1));
    oh->type = p[0];
    oh->length = htons((uint16_t) (sizeof *oh + length));
    oh->xid = htonl(p[1] < SPECIAL_XID
                        ? p[1]
                        : UINT32_C(0xffffff00) | (p[1] - SPECIAL_XID));
    memcpy(oh + 1, p + 4, length);
    session_receive(session, oh, now);
    return 4 + length;
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void) argc;
    (void) argv;
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    rules = make_rules();
    return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t size)
{
    static const struct session_handlers handlers = { identify_cb,
                                                      committed_cb, packet_cb,
                                                      NULL };
    static const struct session_limits limits = { 1000, 500 };
    unsigned int n_committed = 0;
    struct session *session;
    struct ofpbuf *msg;

    now = 1;
    session = session_create("peer", &handlers, &n_committed, now);
    session_set_limits(session, &limits);
    session_set_generation(session, 1);
    while (size >= 4 && !session_get_error(session)) {
        size_t n = receive(session, p, size);

        p += n;
        size -= n;
        now += 1000;
        session_run(session, now);
        while ((msg = session_pop_request(session))) {
            ofpbuf_delete(msg);
        }
        if (!session_get_error(session) && session_wakeup(session) <= now) {
            abort();
        }
    }
    session_destroy(session);
    if (n_waiting) {
        abort();
    }
    return 0;
}
