/* SPDX-License-Identifier: Apache-2.0 */

/* The control API: what its messages are made of. */

#include "controller/api/lb-private.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "controller/config.h"
#include "controller/core/mem.h"
#include "controller/core/registration.h"
#include "controller/sync-address.h"
#include "lib/ejfat-uri.h"

/* What google.protobuf.Timestamp says of itself: years 1 to 9999. */
#define SECONDS_MIN INT64_C(-62135596800)
#define SECONDS_MAX INT64_C(253402300799)
#define NANOS_MAX 999999999

/* Client libraries accept no ports below. */
#define URI_PORT_MIN 1024

/* Times. */

/* Returns what time it is, in ms since 1970. */
int64_t
lb_wall_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t) ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Returns 'ms' since 1970, which are not negative, as a message. */
Google__Protobuf__Timestamp *
lb_make_time(struct arena *arena, int64_t ms)
{
    Google__Protobuf__Timestamp *time = ARENA_NEW(
        arena, Google__Protobuf__Timestamp, GOOGLE__PROTOBUF__TIMESTAMP__INIT);

    time->seconds = ms / 1000;
    time->nanos = (int32_t) (ms % 1000) * 1000000;
    return time;
}

/* Stores in '*ms' what 'time', which stands in 'field', says. */
char *
lb_parse_time(struct lb_job *job, const char *field,
              const Google__Protobuf__Timestamp *time, int64_t *ms)
{
    if (time->nanos < 0 || time->nanos > NANOS_MAX) {
        return lb_refuse(job, GRPC_INVALID_ARGUMENT,
                         "%s.nanos: %" PRId32 " is not from 0 to %d", field,
                         time->nanos, NANOS_MAX);
    }
    if (time->seconds < SECONDS_MIN || time->seconds > SECONDS_MAX) {
        return lb_refuse(job, GRPC_INVALID_ARGUMENT,
                         "%s.seconds: %" PRId64
                         " is not in the years 1 to 9999",
                         field, time->seconds);
    }
    *ms = time->seconds * 1000 + time->nanos / 1000000;
    return NULL;
}

/* Ids. */

/* Stores in '*id' the decimal number 'text', which has no zeros in front.
 * Returns false if it is none. */
bool
lb_parse_id(const char *text, uint64_t *id)
{
    char canonical[24];

    *id = strtoull(text, NULL, 10);
    snprintf(canonical, sizeof canonical, "%" PRIu64, *id);
    return !strcmp(text, canonical);
}

char *
lb_make_id(struct arena *arena, uint64_t id)
{
    return arena_printf(arena, "%" PRIu64, id);
}

/* Returns the 'n' 'ranges' as messages. */
Loadbalancer__SlotRange **
lb_make_ranges(struct arena *arena, const struct slot_range *ranges, size_t n)
{
    Loadbalancer__SlotRange **m = arena_pointers(arena, n);

    for (size_t i = 0; i < n; i++) {
        m[i] = ARENA_NEW(arena, Loadbalancer__SlotRange,
                         LOADBALANCER__SLOT_RANGE__INIT);
        m[i]->index = ranges[i].index;
        m[i]->length = ranges[i].length;
    }
    return m;
}

/* Addresses. */

char *
lb_make_address(struct arena *arena, const struct in6_addr *ip)
{
    char s[ADDR_STRLEN];

    addr_to_string(ip, s);
    return arena_strdup(arena, s);
}

static bool
is_unspecified__(const struct in6_addr *ip)
{
    return (addr_is_ipv4(ip) ? !addr_get_ipv4(ip)
                             : IN6_IS_ADDR_UNSPECIFIED(ip));
}

/* Where Sync datagrams about 'instance' that are sent with 'family' go. */
struct ejfat_endpoint
lb_sync_endpoint(const struct instance *instance, enum ip_family family)
{
    const struct sync_settings *sync = &instance->sync;
    struct ejfat_endpoint at = { .min_port = 0 };
    struct sync_address address;
    struct in6_addr ip;
    uint16_t port;
    char *error;

    if (!sync->address) {
        return at;
    }
    error = sync_address_parse(sync->address, &address);
    if (error) {
        free(error);
        return at;
    }
    sync_address_get_ip(&address.sa, &ip);
    port = sync_address_get_port(&address.sa);
    for (size_t i = 0; i < sync->n_public; i++) {
        if (family_has(family, &sync->public[i])) {
            ip = sync->public[i];
        }
    }
    if (family_has(family, &ip) && !is_unspecified__(&ip)) {
        at = (struct ejfat_endpoint){ ip, port, port };
    }
    return at;
}

/* Returns the instance of 'r' as it is configured: what senders are told, who do
 * not use the ports of chains. */
const struct instance *
lb_find_instance(const struct lb_job *job, const struct reservation *r)
{
    return state_find_instance(&engine_get_config(job->lb->engine)->state,
                               r->instance);
}

/* Where events for 'r', of 'instance', that are sent with 'family' go. */
struct ejfat_endpoint
lb_data_endpoint(const struct instance *instance, const struct reservation *r,
                 enum ip_family family)
{
    const struct in6_addr *ip = instance_find_address(instance, family);
    struct ejfat_endpoint at = { .min_port = 0 };

    if (ip && family_has(r->family, ip)) {
        at = (struct ejfat_endpoint){ *ip, instance->first_port,
                                      instance->last_port };
    }
    return at;
}

/* URIs. */

static bool
try_host__(const char *authority, struct ejfat_uri *uri)
{
    return authority && ejfat_authority_parse(authority, uri->host, &uri->port)
           && uri->port >= URI_PORT_MIN;
}

/* Stores in 'uri' where callers reach us: as whom this one addressed us, if it
 * could tell others; or what the configuration says.  Returns false if that is
 * not known. */
bool
lb_set_host(const struct lb_job *job, struct ejfat_uri *uri)
{
    const struct api_settings *api = &engine_get_config(job->lb->engine)->api;
    const char *door = api->n_listen ? strchr(api->listen[0], ':') + 1 : NULL;

    uri->tls = api->tls.certificate != NULL;
    return try_host__(job->call->authority, uri)
           || try_host__(api->public_address, uri) || try_host__(door, uri);
}

static void
set_reservation__(const struct lb_job *job, const struct reservation *r,
                  struct ejfat_uri *uri)
{
    const struct instance *instance = lb_find_instance(job, r);

    snprintf(uri->lb_id, sizeof uri->lb_id, "%" PRIu64, r->entry.id);
    uri->sync[EJFAT_IPV4] = lb_sync_endpoint(instance, IP_FAMILY_IPV4);
    uri->sync[EJFAT_IPV6] = lb_sync_endpoint(instance, IP_FAMILY_IPV6);
    uri->data[EJFAT_IPV4] = lb_data_endpoint(instance, r, IP_FAMILY_IPV4);
    uri->data[EJFAT_IPV6] = lb_data_endpoint(instance, r, IP_FAMILY_IPV6);
}

/* Returns the URI of 'reservation', if that is not NULL, and of 'session', if
 * that is not 0, for who has 'token', if it is not NULL.  It is empty if we do
 * not know how we are reached. */
char *
lb_make_uri(struct lb_job *job, const char *token,
            const struct reservation *reservation, uint64_t session)
{
    struct ejfat_uri uri = { .tls = false };
    char *text, *copy;

    if (!lb_set_host(job, &uri)) {
        return arena_strdup(&job->arena, "");
    }
    snprintf(uri.token, sizeof uri.token, "%s", token ? token : "");
    if (reservation) {
        set_reservation__(job, reservation, &uri);
    }
    if (session) {
        snprintf(uri.session_id, sizeof uri.session_id, "%" PRIu64, session);
    }
    text = ejfat_uri_to_string(&uri);
    copy = arena_strdup(&job->arena, text);
    free(text);
    return copy;
}
