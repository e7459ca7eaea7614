/* SPDX-License-Identifier: Apache-2.0 */

/* Metrics of calls of the control API. */

#include "controller/api/metrics.h"

#include "controller/api/lb.h"
#include "controller/api/loadbalancer.pb-c.h"
#include "controller/api/metrics-text.h"

/* Writes how many calls of the control API ended how.  Of those that there were
 * none of, only the ones that would have ended well are told. */
void
metrics_calls(struct metrics *m)
{
    const ProtobufCServiceDescriptor *d =
        &loadbalancer__load_balancer__descriptor;

    metrics_family(m, "evlb_api_calls_total", METRICS_COUNTER,
                   "Calls of the control API that ended, by their status.");
    for (unsigned int i = 0; i < d->n_methods; i++) {
        const uint64_t *calls = lb_get_calls(d->methods[i].name);

        for (unsigned int status = 0; status < LB_STATUSES; status++) {
            if (calls[status] || !status) {
                metrics_count(
                    m, calls[status], "method", d->methods[i].name, "status",
                    grpc_status_to_string((enum grpc_status) status), NULL);
            }
        }
    }
}
