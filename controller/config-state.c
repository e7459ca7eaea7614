/* SPDX-License-Identifier: Apache-2.0 */

/* Where state is kept, in the configuration and around it. */

#include "controller/config-parse.h"

#include <stdlib.h>
#include <unistd.h>

#include "controller/config.h"
#include "controller/core/mem.h"

static char *
parse_file__(struct reader *r, const config_setting_t *root)
{
    const config_setting_t *setting =
        r->error ? NULL : config_setting_get_member(root, "state_file");
    const char *file = setting ? reader_to_string(r, setting) : "";

    if (!r->error && *file && *file != '/') {
        reader_fail(r, setting, "\"%s\" is no absolute path", file);
    }
    return setting ? mem_strdup(file) : NULL;
}

/* Returns 'path' as one that does not depend on the working directory. */
static char *
make_absolute__(const char *path)
{
    char *here = *path == '/' ? NULL : getcwd(NULL, 0);
    char *absolute = here ? mem_printf("%s/%s", here, path) : mem_strdup(path);

    free(here);
    return absolute;
}

/* Returns the directory that the environment says, or else the
 * configuration. */
static char *
parse_dir__(struct reader *r, const config_setting_t *root)
{
    const config_setting_t *setting =
        r->error ? NULL : config_setting_get_member(root, "state_dir");
    const char *said = setting ? reader_to_string(r, setting) : "";
    const char *environment = getenv("EVLB_STATE_DIR");
    const char *dir = environment && *environment ? environment : said;

    if (setting && !r->error && !*said) {
        reader_fail(r, setting, "must not be empty");
    }
    return *dir ? make_absolute__(dir) : NULL;
}

/* Reads where 'config' keeps what survives. */
void
parse_state_place(struct reader *r, const config_setting_t *root,
                  struct evlb_config *config)
{
    config->state_file = parse_file__(r, root);
    config->state_dir = parse_dir__(r, root);
}
