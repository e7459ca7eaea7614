/* SPDX-License-Identifier: Apache-2.0 */

/* The log in the configuration. */

#include "controller/config-parse.h"

#include <stdlib.h>
#include <string.h>

#include "controller/core/mem.h"
#include "controller/log.h"

/* Adds to 'log' the level that 'setting' is, which is for 'module', or for all
 * modules if that is NULL. */
static void
parse_level__(struct reader *r, const config_setting_t *setting,
              const char *module, struct log_settings *log)
{
    const char *level = reader_to_string(r, setting);
    char *spec =
        mem_printf("%s%s%s", module ? module : "", module ? ":" : "", level);
    char *error = NULL;

    if (!module && strchr(level, ':')) {
        reader_fail(r, setting,
                    "\"%s\" is for one module: write log.modules = { "
                    "MODULE = \"LEVEL\"; }",
                    level);
    }
    error = r->error ? NULL : log_settings_add_level(log, spec);
    if (error) {
        reader_fail(r, setting, "%s", error);
    }
    free(error);
    free(spec);
}

static void
parse_file__(struct reader *r, const config_setting_t *setting,
             struct log_settings *log)
{
    const char *file = reader_to_string(r, setting);

    if (!r->error && *file != '/') {
        reader_fail(r, setting, "\"%s\" is no absolute path", file);
    }
    log->file = mem_strdup(file);
}

static void
parse_modules__(struct reader *r, const config_setting_t *group,
                struct log_settings *log)
{
    if (!config_setting_is_group(group)) {
        reader_fail(r, group, "must be a group, { MODULE = \"LEVEL\"; ... }");
        return;
    }
    for (size_t i = 0; !r->error && i < reader_length(group); i++) {
        const config_setting_t *setting =
            config_setting_get_elem(group, (unsigned int) i);

        parse_level__(r, setting, config_setting_name(setting), log);
    }
}

void
parse_log(struct reader *r, const config_setting_t *root,
          struct log_settings *log)
{
    static const char *const names[] = { "level", "file", "syslog", "modules",
                                         NULL };
    const config_setting_t *group = config_setting_get_member(root, "log");
    const config_setting_t *setting;

    if (!group) {
        return;
    }
    reader_check_names(r, group, names);
    setting = r->error ? NULL : config_setting_get_member(group, "level");
    if (setting) {
        parse_level__(r, setting, NULL, log);
    }
    setting = r->error ? NULL : config_setting_get_member(group, "file");
    if (setting) {
        parse_file__(r, setting, log);
    }
    log->syslog = reader_find_bool(r, group, "syslog", false);
    setting = r->error ? NULL : config_setting_get_member(group, "modules");
    if (setting) {
        parse_modules__(r, setting, log);
    }
}
