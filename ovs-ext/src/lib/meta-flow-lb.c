/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "meta-flow-lb.h"

#include <string.h>

#include "colors.h"
#include "flow.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/match.h"
#include "util.h"

/* Where each field stands in struct flow. */
static size_t
lb_offset(enum mf_field_id id)
{
    return (id == MFF_LB_STATUS ? offsetof(struct flow, lb_status)
            : id == MFF_LB_VERSION ? offsetof(struct flow, lb_version)
            : id == MFF_LB_MEMBER ? offsetof(struct flow, lb_member)
            : id == MFF_LB_SLOT_SELECT ? offsetof(struct flow, lb_slot_select)
            : id == MFF_LB_PORT_SELECT ? offsetof(struct flow, lb_port_select)
            : offsetof(struct flow, lb_tick));
}

static uint8_t *
lb_member_of(const struct mf_field *mf, struct flow *flow)
{
    return (uint8_t *) flow + lb_offset(mf->id);
}

static const uint8_t *
lb_member_of_const(const struct mf_field *mf, const struct flow *flow)
{
    return (const uint8_t *) flow + lb_offset(mf->id);
}

bool
mf_lb_is_all_wild(const struct mf_field *mf, const struct flow_wildcards *wc)
{
    return is_all_zeros(lb_member_of_const(mf, &wc->masks), mf->n_bytes);
}

void
mf_lb_get_value(const struct mf_field *mf, const struct flow *flow,
                union mf_value *value)
{
    memcpy(value, lb_member_of_const(mf, flow), mf->n_bytes);
}

void
mf_lb_set_flow_value(const struct mf_field *mf, const union mf_value *value,
                     struct flow *flow)
{
    memcpy(lb_member_of(mf, flow), value, mf->n_bytes);
}

/* Makes 'match' match 'value' in the bits of 'mf' that are 1 in 'mask'. */
void
mf_lb_set_masked(const struct mf_field *mf, const union mf_value *value,
                 const union mf_value *mask, struct match *match)
{
    uint8_t *flow = lb_member_of(mf, &match->flow);
    uint8_t *wc = lb_member_of(mf, &match->wc.masks);

    for (int i = 0; i < mf->n_bytes; i++) {
        flow[i] = value->b[i] & mask->b[i];
        wc[i] = mask->b[i];
    }
}

static const enum mf_field_id lb_fields[] = {
    MFF_LB_STATUS, MFF_LB_VERSION, MFF_LB_MEMBER,
    MFF_LB_TICK, MFF_LB_SLOT_SELECT, MFF_LB_PORT_SELECT,
};

/* Adds to 'metadata' the lb_* fields of 'flow' that are not zero. */
void
mf_lb_get_metadata(const struct flow *flow, struct match *metadata)
{
    for (size_t i = 0; i < ARRAY_SIZE(lb_fields); i++) {
        const struct mf_field *mf = mf_from_id(lb_fields[i]);
        union mf_value value;

        mf_lb_get_value(mf, flow, &value);
        if (!is_all_zeros(&value, mf->n_bytes)) {
            mf_lb_set_masked(mf, &value, &exact_match_mask, metadata);
        }
    }
}

/* Appends to 'ds' what 'match' says of the lb_* fields, each with a comma
 * behind it. */
void
mf_lb_format(const struct match *match, struct ds *ds)
{
    for (size_t i = 0; i < ARRAY_SIZE(lb_fields); i++) {
        const struct mf_field *mf = mf_from_id(lb_fields[i]);
        union mf_value value, mask;

        if (!mf_lb_is_all_wild(mf, &match->wc)) {
            mf_get(mf, match, &value, &mask);
            ds_put_format(ds, "%s%s=%s", colors.param, mf->name, colors.end);
            mf_format(mf, &value, &mask, NULL, ds);
            ds_put_char(ds, ',');
        }
    }
}
