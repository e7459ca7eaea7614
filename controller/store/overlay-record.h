/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_OVERLAY_RECORD_H
#define EVLB_OVERLAY_RECORD_H 1

/* What operators changed at an instance, as a record of the store, and back.
 *
 * The key is "instance/" and its id.  The value is lines of words:
 *
 *     oldest 40000
 *     generation 3 5
 *     carrier 42
 *     source 10.0.0.1
 *     member 7 10.0.0.7 02:00:00:00:00:07 20000 2 0 name 0 cn7
 *     epoch 5 40000 0 9
 *     share 7 100 0.500000 2.000000
 *     slots 7 7 7 ...
 *
 * A generation, with the id of the last epoch, carriers (datapath ids) and
 * sources are those of instances that are reserved.  A member is its id, ip, mac, base, bits, keep and egress (type, number and
 * name); an epoch its id, first tick, xor and bits, followed by its shares
 * (member, weight, factors) and, at last, the members of its slots: they are
 * not computed again, for another version of evlbd could do it otherwise. */

#include "controller/core/overlay.h"

#define OVERLAY_RECORD_PREFIX "instance/"

char *overlay_record_key(uint16_t instance);
char *overlay_record_format(const struct overlay_instance *);
char *
overlay_record_parse(struct overlay *, const char *key, const char *value);

#endif /* overlay-record.h */
