/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENDPOINTS_RECV_LOG_H
#define ENDPOINTS_RECV_LOG_H 1

/* The logs of a receiver: a line for each packet and a line for each event,
 * with the columns that the first line of each names, separated by tabs.  "-"
 * stands for what is not known.  Times are nanoseconds since the UNIX
 * epoch. */

#include <stdint.h>

#include "endpoints/intake.h"
#include "endpoints/receiver.h"

struct recv_log;

char *
recv_log_create(const char *packets, const char *events, struct recv_log **);
char *recv_log_destroy(struct recv_log *);

void recv_log_packet(struct recv_log *, const struct datagram *,
                     const struct intake_packet *);
void recv_log_event(struct recv_log *, const struct reassembly_event *);

#endif /* endpoints/recv-log.h */
