/* SPDX-License-Identifier: Apache-2.0 */

#include "flows/cookie.h"

#include <inttypes.h>
#include <openvswitch/lb.h>
#include <stdlib.h>

#include "controller/core/mem.h"

/* The kinds as they are written in cookies.  These numbers stand in switches,
 * so they never change. */
static const uint8_t kind_codes[] = {
    [RULE_PIPELINE] = 0x01,   [RULE_INSTANCE] = 0x02,  [RULE_L2_IFACE] = 0x10,
    [RULE_MAC_FILTER] = 0x11, [RULE_IP_FILTER] = 0x12, [RULE_SOURCE] = 0x14,
    [RULE_PORTS] = 0x15,      [RULE_EPOCH] = 0x20,     [RULE_CALENDAR] = 0x21,
    [RULE_MEMBER] = 0x22,     [RULE_PROBE] = 0x03,     [RULE_IFACE] = 0x04,
};
#define N_KINDS (sizeof kind_codes / sizeof kind_codes[0])

/* Each kind has its code: the enum is dense and the last one is listed. */
_Static_assert(N_KINDS == RULE_L2_IFACE + 1, "a kind of rule lacks a code");

#define GROUP_KIND UINT32_C(0xe)

/* Returns 'cookie' as it stands in a flow, in host byte order. */
uint64_t
cookie_encode(const struct cookie *cookie)
{
    return (COOKIE_MAGIC | (uint64_t) kind_codes[cookie->kind] << 40
            | (uint64_t) cookie->verdict << 32 | (uint64_t) cookie->owner << 16
            | cookie->detail);
}

/* Stores in 'cookie' what 'value' says.  Returns false if it is not ours. */
bool
cookie_decode(uint64_t value, struct cookie *cookie)
{
    if ((value & COOKIE_MASK) != COOKIE_MAGIC) {
        return false;
    }
    for (unsigned int i = 0; i < N_KINDS; i++) {
        if (kind_codes[i] == ((value >> 40) & 0xff)) {
            cookie->kind = (enum rule_kind) i;
            cookie->verdict = (uint8_t) (value >> 32);
            cookie->owner = (uint16_t) (value >> 16);
            cookie->detail = (uint16_t) value;
            return true;
        }
    }
    return false;
}

/* Returns the name of 'verdict', or NULL if there is no such verdict. */
const char *
verdict_to_string(uint8_t verdict)
{
    static const struct {
        uint8_t value;
        const char *name;
    } names[] = {
#define VERDICT(NAME, VALUE, TEXT) { VALUE, TEXT },
        VERDICTS
#undef VERDICT
#define X(ENUM, VALUE, NAME, MEANING) { VERDICT_HEADER + (VALUE), NAME },
            LB_STATUSES
#undef X
    };

    for (size_t i = sizeof names / sizeof names[0]; i-- > 0;) {
        if (names[i].value == verdict) {
            return names[i].name;
        }
    }
    return NULL;
}

/* Returns true if packets are dropped that 'verdict' counts. */
bool
verdict_is_drop(uint8_t verdict)
{
    return verdict >= VERDICT_L2_DROP;
}

static char *
owner_to_string__(uint16_t owner)
{
    if (owner == OWNER_ALL) {
        return mem_strdup("all");
    } else if (owner >= OWNER_IFACE) {
        return mem_printf("iface=%u", owner - OWNER_IFACE);
    } else {
        return mem_printf("instance=%u", owner);
    }
}

/* Returns 'cookie' in words, which the caller must free. */
char *
cookie_to_string(const struct cookie *cookie)
{
    const char *verdict = verdict_to_string(cookie->verdict);
    char *owner = owner_to_string__(cookie->owner);
    char *s;

    s = mem_printf("%s %s verdict=%s", rule_kind_to_string(cookie->kind),
                   owner, verdict ? verdict : "unknown");
    if (cookie->kind == RULE_EPOCH || cookie->kind == RULE_MEMBER) {
        char *longer =
            mem_printf("%s %s=%" PRIu16, s, rule_kind_to_string(cookie->kind),
                       cookie->detail);

        free(s);
        s = longer;
    }
    free(owner);
    return s;
}

/* Returns true if the flow with 'cookie' sends packets to the calendar of
 * 'epoch' of 'instance'. */
bool
cookie_refers_to_epoch(const struct cookie *cookie, uint16_t instance,
                       uint16_t epoch)
{
    return cookie->kind == RULE_EPOCH && cookie->verdict != VERDICT_LATE_DROP
           && cookie->owner == instance && cookie->detail == epoch;
}

/* Returns the id of the calendar group of 'epoch' of 'instance'. */
uint32_t
group_id_encode(uint16_t instance, uint16_t epoch)
{
    return GROUP_KIND << 28 | (uint32_t) instance << 16 | epoch;
}

/* Stores whose group 'id' is.  Returns false if it is not ours. */
bool
group_id_decode(uint32_t id, uint16_t *instance, uint16_t *epoch)
{
    if (id >> 28 != GROUP_KIND) {
        return false;
    }
    *instance = (uint16_t) ((id >> 16) & 0xfff);
    *epoch = (uint16_t) id;
    return *instance <= INSTANCE_ID_MAX;
}
