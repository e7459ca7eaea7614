/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_ADMIN_GATHER_H
#define EVLB_ADMIN_GATHER_H 1

/* Within the operator's service: reading several switches for one call.
 *
 * All are asked at the same time.  When each has answered, or cannot, 'finish'
 * is called, with the call, which it has to finish.  The state in service may
 * be another one by then. */

#include <stddef.h>

#include "controller/api/admin-private.h"

struct gathered {
    char *target;                    /* The switch's name. */
    const struct snapshot *snapshot; /* A reference, or NULL, */
    char *error;                     /* and why. */
};

struct gather {
    struct admin *admin;
    struct grpc_call *call;
    char *instance; /* That the call is about, "" for all. */
    struct gathered *targets;
    size_t n;
    size_t n_pending;
    void (*finish)(struct gather *);
    void *aux; /* For 'finish'. */
};

struct description;

bool admin_gather(struct admin *, struct grpc_call *, const char *instance,
                  const char *target, unsigned int parts,
                  void (*finish)(struct gather *), void *aux);

size_t gather_errors(const struct gather *, struct arena *,
                     Evlb__Admin__V1__TargetError ***);
char *gather_port_name(struct arena *, const struct gathered *, const char *);
Evlb__Admin__V1__Flow *
gather_describe(struct arena *, const struct state *, const struct gathered *,
                const struct description *);

#endif /* admin-gather.h */
