/* SPDX-License-Identifier: Apache-2.0 */

/* Which of several controllers has a say in the switch. */

#include "controller/target/ovs/session-private.h"

#include <byte-order.h>
#include <openflow/openflow-1.2.h>
#include <openvswitch/ofp-connection.h>
#include <openvswitch/ofp-errors.h>
#include <openvswitch/vlog.h>

#include "controller/core/mem.h"

VLOG_DEFINE_THIS_MODULE(evlb_role);

/* A transaction id that no other request has. */
#define XID_ROLE UINT32_C(0xffffff30)

static void
ask__(struct session *s, enum ofp12_controller_role role)
{
    struct ofp12_role_request *request;
    struct ofpbuf *msg;

    msg = ofpraw_alloc_xid(OFPRAW_OFPT12_ROLE_REQUEST, s->version,
                           htonl(XID_ROLE), 0);
    request = ofpbuf_put_zeros(msg, sizeof *request);
    request->role = htonl(role);
    request->generation_id = htonll(s->generation);
    session_send__(s, msg);
}

/* Sets the number of this controller's term as the primary one, which has to be
 * higher than that of any earlier one, or 0 to be an equal one among others.
 * Takes effect in the handshake, and later where another controller is the
 * primary one or the role becomes another one. */
void
session_set_generation(struct session *s, uint64_t generation)
{
    bool other = !s->generation != !generation;

    s->generation = generation;
    if (s->state > SESSION_TRYING && (other || s->secondary)) {
        ask__(s, generation ? OFPCR12_ROLE_PRIMARY : OFPCR12_ROLE_EQUAL);
    }
}

/* Returns true if another controller decides what the switch holds. */
bool
session_is_secondary(const struct session *s)
{
    return s->secondary;
}

/* Asks to be the primary controller, if that is wanted.  A connection begins as
 * an equal one. */
void
session_ask_role__(struct session *s)
{
    if (s->generation) {
        ask__(s, OFPCR12_ROLE_PRIMARY);
    }
}

/* Takes notice of whether another controller decides.  When it does not any
 * more, the switch may hold other rules than those that were installed. */
static void
set_secondary__(struct session *s, bool secondary)
{
    if (s->secondary == secondary) {
        return;
    }
    s->secondary = secondary;
    if (secondary) {
        VLOG_WARN("%s: another controller is the primary one now; nothing is "
                  "changed here until a reload has us ask again",
                  s->name);
    } else {
        VLOG_INFO("%s: has us decide again", s->name);
        s->outdated = true;
        s->dirty = true;
        session_sync__(s);
    }
}

/* Processes 'oh', the reply to session_ask_role__() or news. */
void
session_receive_role__(struct session *s, const struct ofp_header *oh,
                       bool is_status)
{
    struct ofputil_role_request reply;
    struct ofputil_role_status status;

    if (is_status ? ofputil_decode_role_status(oh, &status)
                  : ofputil_decode_role_message(oh, &reply)) {
        session_fail__(s, mem_strdup("sent a malformed role"));
    } else {
        set_secondary__(s, (is_status ? status.role : reply.role)
                               == OFPCR12_ROLE_SECONDARY);
    }
}

/* Processes the error about request 'xid' if that is one of ask__()'s.  If a
 * later controller is the primary one, the switch still takes our connection
 * for an equal one, whose changes it carries out: it is up to us not to make
 * any. */
bool
session_receive_role_error__(struct session *s, uint32_t xid,
                             enum ofperr error)
{
    if (xid != XID_ROLE) {
        return false;
    }
    VLOG_WARN("%s: does not take us as the primary controller: %s", s->name,
              ofperr_to_string(error));
    if (error == OFPERR_OFPRRFC_STALE) {
        set_secondary__(s, true);
    }
    return true;
}
