/* SPDX-License-Identifier: Apache-2.0 */

/* The doors of the control API in the configuration. */

#include "controller/config-parse.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "controller/config.h"
#include "controller/core/mem.h"
#include "controller/target/ovs/address.h"
#include "lib/ejfat-uri.h"

#define TOKEN_MAX EJFAT_TOKEN_MAX
#define FIRST_PORT 1024 /* That clients take in an EJFAT_URI. */

/* Tokens that examples have, and that therefore everybody knows. */
static const char *const known_tokens[] = { "evlb-local" };

/* Frees what 'api' holds, but not 'api' itself. */
void
api_settings_destroy(struct api_settings *api)
{
    for (size_t i = 0; i < api->n_listen; i++) {
        free(api->listen[i]);
    }
    free(api->listen);
    tls_files_destroy(&api->tls);
    free(api->root_token);
    free(api->public_address);
}

/* Addresses. */

static bool
is_known__(const char *token)
{
    for (size_t i = 0; i < sizeof known_tokens / sizeof *known_tokens; i++) {
        if (token && !strcmp(token, known_tokens[i])) {
            return true;
        }
    }
    return false;
}

/* Checks that nobody else can reach us if everybody knows our token. */
static void
check_known__(struct reader *r, const config_setting_t *list,
              const struct api_settings *api)
{
    for (size_t i = 0; !r->error && list && i < api->n_listen; i++) {
        struct listen_address la;
        char *error = listen_address_parse(api->listen[i], &la);

        if (!error && !listen_address_is_local(&la)
            && is_known__(api->root_token)) {
            const config_setting_t *setting =
                config_setting_get_elem(list, (unsigned int) i);

            reader_fail(r, setting,
                        "\"%s\" can be reached from other hosts, and "
                        "everybody knows the root token, which is that of an "
                        "example",
                        reader_to_string(r, setting));
        }
        free(error);
    }
}

static void
parse_addresses__(struct reader *r, const config_setting_t *group,
                  struct api_settings *api)
{
    const struct listen_settings listen = { "api", API_PORT,
                                            api->tls.certificate != NULL,
                                            "that is admin.socket" };

    check_known__(
        r, parse_listen(r, group, &listen, &api->listen, &api->n_listen), api);
}

/* The root token. */

static bool
is_token__(const char *s)
{
    size_t n = strlen(s);

    for (size_t i = 0; i < n; i++) {
        if (s[i] <= ' ' || s[i] > '~') {
            return false;
        }
    }
    return n && n <= TOKEN_MAX;
}

/* Checks that nobody but us and root can read or write the file 'fd'. */
static void
check_file__(struct reader *r, const config_setting_t *setting, int fd)
{
    const char *file = reader_to_string(r, setting);
    struct stat st;

    if (fstat(fd, &st)) {
        reader_fail(r, setting, "%s: %s", file, strerror(errno));
    } else if (!S_ISREG(st.st_mode)) {
        reader_fail(r, setting, "%s: is no regular file", file);
    } else if (st.st_uid && st.st_uid != geteuid()) {
        reader_fail(r, setting,
                    "%s: belongs to user %u, and must to root or "
                    "to the one that evlbd runs as",
                    file, (unsigned int) st.st_uid);
    } else if (st.st_mode & (S_IRWXG | S_IRWXO)) {
        reader_fail(r, setting,
                    "%s: others may read or write it (chmod 600 "
                    "it)",
                    file);
    }
}

/* Returns the first line of 'fd', which must be all that there is. */
static char *
read_token__(struct reader *r, const config_setting_t *setting, int fd)
{
    char text[TOKEN_MAX + 2];
    ssize_t n = read(fd, text, sizeof text - 1);

    if (n < 0) {
        reader_fail(r, setting, "%s: %s", reader_to_string(r, setting),
                    strerror(errno));
        return NULL;
    }
    text[n] = '\0';
    if (n && text[n - 1] == '\n') {
        text[n - 1] = '\0';
    }
    if (!is_token__(text)) {
        reader_fail(r, setting,
                    "%s: is not one line with a token of at most "
                    "%d letters, digits and signs",
                    reader_to_string(r, setting), TOKEN_MAX);
        return NULL;
    }
    return mem_strdup(text);
}

static void
parse_token_file__(struct reader *r, const config_setting_t *setting,
                   struct api_settings *api)
{
    const char *file = reader_to_string(r, setting);
    int fd = r->error ? -1 : open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (!r->error && fd < 0) {
        reader_fail(r, setting, "%s: %s", file, strerror(errno));
    }
    if (fd >= 0) {
        check_file__(r, setting, fd);
        if (!r->error) {
            api->root_token = read_token__(r, setting, fd);
        }
        close(fd);
    }
}

static void
parse_root_token__(struct reader *r, const config_setting_t *group,
                   struct api_settings *api)
{
    const config_setting_t *text =
        config_setting_get_member(group, "root_token");
    const config_setting_t *file =
        config_setting_get_member(group, "root_token_file");

    if (text && file) {
        reader_fail(r, file, "api.root_token says it already");
    } else if (file) {
        parse_token_file__(r, file, api);
    } else if (text && !is_token__(reader_to_string(r, text))) {
        reader_fail(r, text, "must be 1 to %d letters, digits and signs",
                    TOKEN_MAX);
    } else if (text && !r->error) {
        api->root_token = mem_strdup(reader_to_string(r, text));
    }
}

static void
parse_public_address__(struct reader *r, const config_setting_t *group,
                       struct api_settings *api)
{
    const config_setting_t *setting =
        config_setting_get_member(group, "public_address");
    char host[EJFAT_HOST_MAX + 1];
    uint16_t port;

    if (!setting || r->error) {
        return;
    }
    api->public_address = mem_strdup(reader_to_string(r, setting));
    if (!r->error
        && (!ejfat_authority_parse(api->public_address, host, &port)
            || port < FIRST_PORT)) {
        reader_fail(r, setting,
                    "must be HOST:PORT, with a port from %d on, "
                    "for clients refuse others",
                    FIRST_PORT);
    }
}

void
parse_api(struct reader *r, const config_setting_t *root,
          struct api_settings *api)
{
    static const char *const names[] = { "listen",
                                         "allow_plain",
                                         "tls",
                                         "root_token",
                                         "root_token_file",
                                         "public_address",
                                         "max_connections",
                                         "max_peer_connections",
                                         "max_peer_calls",
                                         "max_peer_rate",
                                         "max_message",
                                         "idle",
                                         NULL };
    const config_setting_t *group = config_setting_get_member(root, "api");

    if (!group) {
        return;
    }
    reader_check_names(r, group, names);
    if (r->error) {
        return;
    }
    parse_tls(r, group, false, &api->tls);
    parse_root_token__(r, group, api);
    parse_addresses__(r, group, api);
    parse_public_address__(r, group, api);
    api->max_connections = (uint32_t) reader_find_uint(
        r, group, "max_connections", 1, 65536, 8192);
    api->max_peer_connections = (uint32_t) reader_find_uint(
        r, group, "max_peer_connections", 1, 65536, 4096);
    api->max_peer_calls = (uint32_t) reader_find_uint(
        r, group, "max_peer_calls", 1, 1000000, 8192);
    api->max_message = (uint32_t) reader_find_uint(r, group, "max_message",
                                                   1024, 16 << 20, 262144);
    api->idle = (uint32_t) reader_find_uint(r, group, "idle", 1, 86400, 300);
    api->max_peer_rate = (uint32_t) reader_find_uint(r, group, "max_peer_rate",
                                                     1, 10000000, 50000);
}
