/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_API_DOORS_H
#define EVLB_API_DOORS_H 1

/* The doors of the control API: gRPC over TCP and TLS, as the setting "api"
 * says.
 *
 * Settings are changed in two steps, so that all that depends on them changes
 * together or not at all: api_doors_prepare() opens the addresses that are new
 * and reads the certificate, api_doors_commit() closes the others, whose
 * connections go on.  Health (health.h) is served, too.  The certificate is read again when its files change;
 * while they are no good, the old one stays. */

struct api_doors;
struct api_doors_change;
struct api_settings;
struct event_base;
struct grpc_service;
struct http_settings;

struct api_doors *
api_doors_create(struct event_base *, const struct grpc_service *api);
void api_doors_destroy(struct api_doors *);

char *
api_doors_prepare(struct api_doors *, const struct api_settings *,
                  const struct http_settings *, struct api_doors_change **);
void api_doors_commit(struct api_doors *, struct api_doors_change *);
void api_doors_abandon(struct api_doors *, struct api_doors_change *);

#endif /* api-doors.h */
