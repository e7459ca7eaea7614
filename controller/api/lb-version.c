/* SPDX-License-Identifier: Apache-2.0 */

/* The control API: what we are. */

#include "controller/api/lb-private.h"

/* The client library that this is made for. */
#define COMPAT_TAG "0.3.1"

/* Made by "make". */
extern const char evlb_commit[];

char *
lb_version(struct lb_job *job)
{
    Loadbalancer__VersionReply *reply =
        ARENA_NEW(&job->arena, Loadbalancer__VersionReply,
                  LOADBALANCER__VERSION_REPLY__INIT);

    reply->commit = (char *) evlb_commit;
    reply->build = (char *) "evlbd " EVLB_VERSION;
    reply->compattag = (char *) COMPAT_TAG;
    job->reply = &reply->base;
    return NULL;
}
