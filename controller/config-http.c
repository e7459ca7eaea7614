/* SPDX-License-Identifier: Apache-2.0 */

/* Metrics, REST and the web page in the configuration. */

#include "controller/config-parse.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "controller/config.h"
#include "controller/core/mem.h"
#include "controller/target/ovs/address.h"

#define LISTEN_MAX 16

/* Frees what 'http' holds, but not 'http' itself. */
void
http_settings_destroy(struct http_settings *http)
{
    for (size_t i = 0; i < http->n_listen; i++) {
        free(http->listen[i]);
    }
    free(http->listen);
    tls_files_destroy(&http->tls);
}

static void
check_address__(struct reader *r, const config_setting_t *setting,
                const struct listen_address *la, bool allow_plain,
                bool has_tls)
{
    const char *s = reader_to_string(r, setting);

    if (la->sa.ss_family == AF_UNIX) {
        reader_fail(r, setting,
                    "\"%s\" is a Unix socket, which browsers "
                    "cannot reach",
                    s);
    } else if (la->tls && !has_tls) {
        reader_fail(r, setting, "needs the settings of http.tls");
    } else if (!la->tls && !allow_plain && !listen_address_is_local(la)) {
        reader_fail(r, setting,
                    "\"%s\" can be reached from other hosts, without "
                    "encryption of tokens; use \"ssl:\", or set "
                    "http.allow_plain = true if that is meant",
                    s);
    }
}

static void
add_address__(struct reader *r, const config_setting_t *setting,
              bool allow_plain, struct http_settings *http)
{
    const char *s = reader_to_string(r, setting);
    struct listen_address la;
    char *error = r->error ? NULL : listen_address_parse_at(s, HTTP_PORT, &la);
    char *address;

    if (r->error) {
        return;
    }
    if (error) {
        reader_fail(r, setting, "%s", error);
        free(error);
        return;
    }
    check_address__(r, setting, &la, allow_plain,
                    http->tls.certificate != NULL);
    if (r->error) {
        return;
    }
    address = listen_address_to_string(&la);
    for (size_t i = 0; i < http->n_listen; i++) {
        if (!strcmp(http->listen[i], address)) {
            reader_fail(r, setting, "\"%s\" is listed already", address);
        }
    }
    http->listen[http->n_listen++] = address;
}

static void
parse_addresses__(struct reader *r, const config_setting_t *group,
                  struct http_settings *http)
{
    const config_setting_t *list = reader_find_list(r, group, "listen");
    bool allow_plain = reader_find_bool(r, group, "allow_plain", false);

    http->listen = mem_zalloc(LISTEN_MAX * sizeof *http->listen);
    reader_check_list(r, list);
    if (reader_length(list) > LISTEN_MAX) {
        reader_fail(r, list, "has more than %d addresses", LISTEN_MAX);
    }
    for (size_t i = 0; !r->error && i < reader_length(list); i++) {
        add_address__(r, config_setting_get_elem(list, (unsigned int) i),
                      allow_plain, http);
    }
    http->asked = list != NULL;
    if (!list) {
        const char *scheme = http->tls.certificate ? "ssl" : "tcp";

        http->listen[http->n_listen++] =
            mem_printf("%s:127.0.0.1:%d", scheme, HTTP_PORT);
        http->listen[http->n_listen++] =
            mem_printf("%s:[::1]:%d", scheme, HTTP_PORT);
    }
}

void
parse_http(struct reader *r, const config_setting_t *root,
           struct http_settings *http)
{
    static const char *const names[] = {
        "listen",   "tls",         "allow_plain",     "metrics",
        "max_body", "max_headers", "max_connections", "max_peer_connections",
        "timeout",  NULL
    };
    static const char *const metrics[] = { "local", "open", "token", NULL };
    const config_setting_t *group = config_setting_get_member(root, "http");

    if (!group) {
        return;
    }
    reader_check_names(r, group, names);
    if (r->error) {
        return;
    }
    parse_tls(r, group, false, &http->tls);
    parse_addresses__(r, group, http);
    http->metrics = (enum http_metrics_door) reader_find_choice(
        r, group, "metrics", metrics, HTTP_METRICS_LOCAL);
    http->max_body = (uint32_t) reader_find_uint(r, group, "max_body", 1024,
                                                 16 << 20, 1 << 20);
    http->max_headers = (uint32_t) reader_find_uint(r, group, "max_headers",
                                                    1024, 1 << 20, 16 << 10);
    http->max_connections =
        (uint32_t) reader_find_uint(r, group, "max_connections", 1, 4096, 256);
    http->max_peer_connections = (uint32_t) reader_find_uint(
        r, group, "max_peer_connections", 1, 4096, 64);
    http->timeout =
        (uint32_t) reader_find_uint(r, group, "timeout", 1, 3600, 30);
}
