/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_REST_H
#define EVLB_REST_H 1

/* The control API by HTTP: docs/http.md describes it.
 *
 *     POST /api/v1/LoadBalancerStatus      {"lbId": "7"}
 *     GET  /api/v1/LoadBalancerStatus?lbId=7
 *
 * A browser sends what any page asks it to, but not the header "Authorization",
 * which every call needs; cookies are not looked at.  What a page of another
 * origin asks for is refused in any case. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#define REST_PATH "/api/v1"

struct arena;
struct http_call;
struct lb;

/* Called with a request from somebody with a valid token. */
typedef void rest_admitted_cb(void *aux, struct http_call *);

void rest_serve(struct lb *, uint16_t grpc_port, struct http_call *);
void
rest_admit(struct lb *, struct http_call *, rest_admitted_cb *, void *aux);
bool rest_check_origin(const struct http_call *);

/* Parts. */

/* Calls that change nothing, which GET is for, too. */
bool rest_is_read_only(const char *method);

bool rest_is_same_origin(const char *origin, const char *host);
bool rest_is_json(const char *content_type);
char *rest_parse_query(const char *query, const ProtobufCMessageDescriptor *,
                       struct arena *, ProtobufCMessage **);
char *rest_parse_body(const char *body, size_t size,
                      const ProtobufCMessageDescriptor *, struct arena *,
                      ProtobufCMessage **);
char *rest_describe(size_t *size);

#endif /* rest.h */
