/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_CONFIG_PARSE_H
#define EVLB_CONFIG_PARSE_H 1

/* Within the configuration: what reads which part of the file.  Each one stores
 * errors in the reader, and leaves what it fills in a state that can be
 * destroyed. */

#include "controller/config-reader.h"
#include "controller/core/instance.h"

struct admin_settings;
struct api_settings;
struct chain_settings;
struct evlb_config;
struct http_settings;
struct log_settings;
struct series_limits;
struct tls_files;

void parse_state_place(struct reader *, const config_setting_t *root,
                       struct evlb_config *);
void parse_api(struct reader *, const config_setting_t *root,
               struct api_settings *);
void api_settings_destroy(struct api_settings *);
void parse_chain(struct reader *, const config_setting_t *root,
                 struct chain_settings *);
void chain_settings_destroy(struct chain_settings *);
void parse_http(struct reader *, const config_setting_t *root,
                struct http_settings *);
void http_settings_destroy(struct http_settings *);
void parse_admin(struct reader *, const config_setting_t *root,
                 const char *state_dir, struct admin_settings *);
char *config_file_read(config_t *, const char *file);

void
parse_bridges(struct reader *, const config_setting_t *root, struct state *);
void parse_history(struct reader *, const config_setting_t *root,
                   struct series_limits *);
void parse_log(struct reader *, const config_setting_t *root,
               struct log_settings *);
void parse_interfaces(struct reader *, const config_setting_t *root,
                      struct state *);
void parse_neighbours(struct reader *, const config_setting_t *root,
                      struct neighbour_settings *);
void parse_routes(struct reader *, const config_setting_t *interface,
                  struct interface *);
void check_reachable(struct reader *, const config_setting_t *member,
                     const struct instance *, const struct member *);
void check_found(struct reader *, const config_setting_t *instance,
                 const struct state *);
void
parse_instances(struct reader *, const config_setting_t *root, struct state *);
void parse_members(struct reader *, const config_setting_t *instance,
                   struct instance *);
void parse_sync(struct reader *, const config_setting_t *instance,
                const struct state *, struct instance *);
void parse_reservations(struct reader *, const config_setting_t *root,
                        struct reservation_settings *);
void parse_reservable(struct reader *, const config_setting_t *instance,
                      struct instance *);
void parse_sync_addresses(struct reader *, const config_setting_t *instance,
                          struct instance *);
void parse_epoch_settings(struct reader *, const config_setting_t *root,
                          struct state *);
void parse_epochs(struct reader *, const config_setting_t *instance,
                  struct instance *);

#define LISTEN_MAX 16 /* Addresses of a server. */

struct listen_settings {
    const char *group;   /* Whose member "listen" is. */
    uint16_t port;       /* By default. */
    bool has_tls;        /* Is there a certificate? */
    const char *no_unix; /* Why no Unix socket will do. */
};

const config_setting_t *
parse_listen(struct reader *, const config_setting_t *group,
             const struct listen_settings *, char ***addresses, size_t *n);
void parse_tls(struct reader *, const config_setting_t *group, bool with_ca,
               struct tls_files *);
char *parse_name(struct reader *, const config_setting_t *group);
void parse_mac(struct reader *, const config_setting_t *group,
               const char *name, struct mac *);
void parse_blocks(struct reader *, const config_setting_t *list,
                  struct addr_block **, size_t *n);
void parse_addr(struct reader *, const config_setting_t *, struct in6_addr *);
void
parse_block(struct reader *, const config_setting_t *, struct addr_block *);
void parse_port(struct reader *, const config_setting_t *, struct port *);

#endif /* config-parse.h */
