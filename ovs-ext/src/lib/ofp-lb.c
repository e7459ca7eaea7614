/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "ofp-lb.h"

#include <string.h>

#include "colors.h"
#include "lb-calendar.h"
#include "lb-forward.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/list.h"
#include "openvswitch/meta-flow.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-parse.h"
#include "packets.h"
#include "util.h"

/* Returns true if 'props' ask for the lb_calendar selection method. */
bool
ofp_lb_is_calendar(const struct ofputil_group_props *props)
{
    return !strcmp(props->selection_method, LB_CALENDAR_METHOD);
}

/* Reads the member ID that 'bucket' sets.  Returns false if it does anything
 * else. */
static bool
bucket_get_member(const struct ofputil_bucket *bucket, uint32_t *member)
{
    const struct ofpact_set_field *set;
    const struct ofpact *a = bucket->ofpacts;

    if (!bucket->ofpacts_len || a->type != OFPACT_SET_FIELD
        || ofpact_next(a) != ofpact_end(a, bucket->ofpacts_len)
        || bucket->watch_port != OFPP_ANY
        || bucket->watch_group != OFPG_ANY) {
        return false;
    }
    set = ofpact_get_SET_FIELD(a);
    if (set->field->id != MFF_LB_MEMBER
        || ofpact_set_field_mask(set)->be16 != OVS_BE16_MAX) {
        return false;
    }
    *member = ntohs(set->value->be16);
    return true;
}

/* Checks 'buckets' and 'props' of an lb_calendar group.  If 'members' is
 * nonnull, it must have room for LB_CALENDAR_MAX_SLOTS IDs and receives one
 * for each slot, LB_CALENDAR_NONE where there is no bucket.
 *
 * Returns 0 or an OpenFlow error; then '*errorp' becomes a message that the
 * caller must free. */
enum ofperr
ofp_lb_calendar_check(const struct ovs_list *buckets,
                      const struct ofputil_group_props *props,
                      uint32_t members[], char **errorp)
{
    const struct ofputil_bucket *bucket;
    struct lb_calendar_param param;

    *errorp = NULL;
    if (!lb_calendar_param_decode(props->selection_method_param, &param)) {
        *errorp = xasprintf("selection_method_param=%#"PRIx64" of an "
                            LB_CALENDAR_METHOD" group must be table (0 to "
                            "254) << 24 | slot bits (0 to %d) << 16 | xor",
                            props->selection_method_param,
                            LB_CALENDAR_MAX_BITS);
        return OFPERR_OFPGMFC_INVALID_GROUP;
    }
    for (size_t i = 0; members && i < LB_CALENDAR_MAX_SLOTS; i++) {
        members[i] = LB_CALENDAR_NONE;
    }

    LIST_FOR_EACH (bucket, list_node, buckets) {
        uint32_t member;

        if (bucket->bucket_id >= 1u << param.bits) {
            *errorp = xasprintf("bucket_id %"PRIu32" is no slot of an "
                                LB_CALENDAR_METHOD" group with %u slots",
                                bucket->bucket_id, 1u << param.bits);
            return OFPERR_OFPGMFC_BAD_BUCKET;
        }
        if (!bucket_get_member(bucket, &member)) {
            *errorp = xasprintf("bucket %"PRIu32" of an "LB_CALENDAR_METHOD
                                " group must do set_field:MEMBER->lb_member "
                                "and nothing else", bucket->bucket_id);
            return OFPERR_OFPGMFC_BAD_BUCKET;
        }
        if (members) {
            members[bucket->bucket_id] = member;
        }
    }
    return 0;
}

/* Returns true if a bucket of 'gm' has one of our actions, which a bucket, an
 * action set, cannot execute. */
static bool
any_bucket_has_lb_action(const struct ofputil_group_mod *gm)
{
    const struct ofputil_bucket *bucket;

    LIST_FOR_EACH (bucket, list_node, &gm->buckets) {
        const struct ofpact *a;

        OFPACT_FOR_EACH (a, bucket->ofpacts, bucket->ofpacts_len) {
            if (a->type == OFPACT_LB_PARSE || a->type == OFPACT_LB_FORWARD) {
                return true;
            }
        }
    }
    return false;
}

/* Checks what concerns event load balancing in 'gm'.  Returns and sets
 * '*errorp' as ofp_lb_calendar_check() does. */
enum ofperr
ofp_lb_group_mod_check(const struct ofputil_group_mod *gm, char **errorp)
{
    if (any_bucket_has_lb_action(gm)) {
        *errorp = xstrdup("lb_parse and lb_forward cannot be in a bucket");
        return OFPERR_OFPGMFC_BAD_BUCKET;
    } else if (!ofp_lb_is_calendar(&gm->props)) {
        *errorp = NULL;
        return 0;
    } else if (gm->type != OFPGT11_SELECT) {
        *errorp = xstrdup("selection_method="LB_CALENDAR_METHOD" is for "
                          "groups of type select only");
        return OFPERR_OFPGMFC_BAD_TYPE;
    }
    return ofp_lb_calendar_check(&gm->buckets, &gm->props, NULL, errorp);
}

/* Arguments of lb_forward. */
enum forward_arg {
    ARG_ETH_SRC = 1 << 0,
    ARG_ETH_DST = 1 << 1,
    ARG_IP_SRC = 1 << 2,
    ARG_IP_DST = 1 << 3,
    ARG_BASE = 1 << 4,
    ARG_BITS = 1 << 5,
    ARG_KEEP = 1 << 6,
};

static const struct {
    const char *name;
    enum forward_arg arg;
} forward_args[] = {
    { "eth_src", ARG_ETH_SRC },
    { "eth_dst", ARG_ETH_DST },
    { "ip_src", ARG_IP_SRC },
    { "ip_dst", ARG_IP_DST },
    { "base", ARG_BASE },
    { "bits", ARG_BITS },
    { "keep", ARG_KEEP },
};

static enum forward_arg
forward_arg_from_string(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(forward_args); i++) {
        if (!strcmp(name, forward_args[i].name)) {
            return forward_args[i].arg;
        }
    }
    return 0;
}

static char *
parse_forward_ip(const char *value, const char *key, struct in6_addr *ip)
{
    return lb_forward_ip_parse(value, ip) ? NULL
           : xasprintf("%s: not an IPv4 or IPv6 address (%s)", value, key);
}

static char *
parse_forward_arg(enum forward_arg arg, const char *key, const char *value,
                  struct ofpact_lb_forward *f)
{
    switch (arg) {
    case ARG_ETH_SRC:
        return str_to_mac(value, &f->eth_src);
    case ARG_ETH_DST:
        return str_to_mac(value, &f->eth_dst);
    case ARG_IP_SRC:
        return parse_forward_ip(value, key, &f->ip_src);
    case ARG_IP_DST:
        return parse_forward_ip(value, key, &f->ip_dst);
    case ARG_BASE:
        return str_to_u16(value, key, &f->base);
    case ARG_BITS:
        return str_to_u8(value, key, &f->bits);
    case ARG_KEEP:
        f->keep = true;
        return *value ? xstrdup("lb_forward: keep takes no value") : NULL;
    }
    return xasprintf("lb_forward: unknown argument \"%s\"", key);
}

/* Parses the arguments of an lb_forward action in 'arg', which is modified,
 * into '*f'.  Returns NULL or an error message that the caller must free. */
char *
ofp_lb_forward_parse(char *arg, struct ofpact_lb_forward *f)
{
    enum forward_arg seen = 0;
    char *key, *value;

    while (ofputil_parse_key_value(&arg, &key, &value)) {
        enum forward_arg this = forward_arg_from_string(key);
        char *error;

        if (seen & this) {
            return xasprintf("lb_forward: duplicate argument \"%s\"", key);
        }
        seen |= this;
        error = parse_forward_arg(this, key, value, f);
        if (error) {
            return error;
        }
    }
    for (size_t i = 0; i < ARRAY_SIZE(forward_args); i++) {
        if (!(seen & forward_args[i].arg) && forward_args[i].arg != ARG_KEEP) {
            return xasprintf("lb_forward: \"%s\" is missing",
                             forward_args[i].name);
        }
    }
    return ofp_lb_forward_check(f);
}

/* Returns NULL if the arguments 'f' agree, otherwise an error message that the
 * caller must free. */
char *
ofp_lb_forward_check(const struct ofpact_lb_forward *f)
{
    if (IN6_IS_ADDR_V4MAPPED(&f->ip_src) != IN6_IS_ADDR_V4MAPPED(&f->ip_dst)) {
        return xstrdup("lb_forward: ip_src and ip_dst must be of one family");
    } else if (f->bits > 16) {
        return xasprintf("lb_forward: bits=%"PRIu8" is not in 0..16", f->bits);
    }
    return NULL;
}

/* Appends the action 'f' to 'ds' as ofp_lb_forward_parse() reads it. */
void
ofp_lb_forward_format(const struct ofpact_lb_forward *f, struct ds *ds)
{
    ds_put_format(ds, "%slb_forward(%s", colors.paren, colors.end);
    ds_put_format(ds, "%seth_src=%s"ETH_ADDR_FMT, colors.param, colors.end,
                  ETH_ADDR_ARGS(f->eth_src));
    ds_put_format(ds, ",%seth_dst=%s"ETH_ADDR_FMT, colors.param, colors.end,
                  ETH_ADDR_ARGS(f->eth_dst));
    ds_put_format(ds, ",%sip_src=%s", colors.param, colors.end);
    ipv6_format_mapped(&f->ip_src, ds);
    ds_put_format(ds, ",%sip_dst=%s", colors.param, colors.end);
    ipv6_format_mapped(&f->ip_dst, ds);
    ds_put_format(ds, ",%sbase=%s%"PRIu16",%sbits=%s%"PRIu8, colors.param,
                  colors.end, f->base, colors.param, colors.end, f->bits);
    ds_put_format(ds, "%s%s)%s", f->keep ? ",keep" : "", colors.paren,
                  colors.end);
}
