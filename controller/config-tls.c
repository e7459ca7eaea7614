/* SPDX-License-Identifier: Apache-2.0 */

/* Certificates in the configuration. */

#include "controller/config-parse.h"

#include <stdlib.h>

#include "controller/core/mem.h"
#include "controller/tls.h"

/* Reads the files of 'group''s member "tls", if it has one, and checks that
 * they can be used; among them the authority of who connects, if 'with_ca'. */
void
parse_tls(struct reader *r, const config_setting_t *group, bool with_ca,
          struct tls_files *files)
{
    static const char *const names[] = { "certificate", "private_key", "ca",
                                         NULL };
    static const char *const names_without_ca[] = { "certificate",
                                                    "private_key", NULL };
    const config_setting_t *tls =
        r->error ? NULL : config_setting_get_member(group, "tls");
    struct ssl_ctx_st *context;
    const char *setting;
    char *error;

    if (!tls) {
        return;
    }
    reader_check_names(r, tls, with_ca ? names : names_without_ca);
    files->certificate = mem_strdup(reader_get_string(r, tls, "certificate"));
    files->private_key = mem_strdup(reader_get_string(r, tls, "private_key"));
    files->ca = with_ca ? mem_strdup(reader_get_string(r, tls, "ca")) : NULL;
    if (r->error) {
        return;
    }
    error = tls_context_create(files, &context, &setting);
    if (error) {
        reader_fail(r, config_setting_get_member(tls, setting), "%s", error);
        free(error);
    }
    tls_context_destroy(context);
}
