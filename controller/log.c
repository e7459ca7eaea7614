/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/log.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <config.h>
#include <openvswitch/util.h>
#include <openvswitch/vlog.h>

#include "controller/core/mem.h"

#define LINE_PATTERN "%D{%Y-%m-%dT%H:%M:%S.###Z} %p %c %m"

/* Returns true if standard error is the journal, which systemd tells by the
 * device and inode numbers of what it made it. */
static bool
stderr_is_journal__(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    struct stat s;
    char *mine;
    bool same;

    if (!stream || fstat(STDERR_FILENO, &s)) {
        return false;
    }
    mine = mem_printf("%ju:%ju", (uintmax_t) s.st_dev, (uintmax_t) s.st_ino);
    same = !strcmp(stream, mine);
    free(mine);
    return same;
}

/* Sets 'module', or all modules if it is NULL, to 'level' wherever messages
 * go. */
static void
set_level__(struct vlog_module *module, enum vlog_level level, bool to_syslog)
{
    bool to_journal = stderr_is_journal__();

    vlog_set_levels(module, VLF_CONSOLE, to_journal ? VLL_OFF : level);
    vlog_set_levels(module, VLF_SYSLOG,
                    to_syslog || to_journal ? level : VLL_OFF);
    vlog_set_levels(module, VLF_FILE, level);
}

/* Sets up logging; called once, first of all. */
void
log_init(void)
{
    ovs_set_program_name("evlbd", EVLB_VERSION);
    vlog_set_pattern(VLF_CONSOLE, LINE_PATTERN);
    vlog_set_pattern(VLF_FILE, LINE_PATTERN);
    vlog_set_pattern(VLF_SYSLOG, "%c: %m");
    set_level__(NULL, VLL_INFO, false);
}

static void
set_levels__(const struct log_settings *settings, bool to_syslog)
{
    for (size_t i = 0; i < settings->n_levels; i++) {
        set_level__(settings->levels[i].module,
                    (enum vlog_level) settings->levels[i].level, to_syslog);
    }
}

/* Has messages appended to 'file', or to none if it is NULL. */
static char *
set_file__(const char *file)
{
    char *old = vlog_get_log_file();
    int error = 0;

    if (file) {
        error = vlog_set_log_file(file);
    } else if (old) {
        vlog_close_log_file();
    }
    free(old);
    return error ? mem_printf("%s: cannot be opened to log to: %s", file,
                              strerror(error))
                 : NULL;
}

/* Has messages go where and as 'config' and 'options' say.  Returns NULL if
 * successful; if not, an error, which the caller must free, and all is as
 * before. */
char *
log_apply(const struct log_settings *config,
          const struct log_settings *options)
{
    bool to_syslog = config->syslog || options->syslog;
    char *error = set_file__(options->file ? options->file : config->file);

    if (!error) {
        set_level__(NULL, VLL_INFO, to_syslog);
        set_levels__(config, to_syslog);
        set_levels__(options, to_syslog);
    }
    return error;
}

/* Closes the file that messages go to, if any, and opens one of its name:
 * somebody may have moved the old one away.  Returns NULL if successful; if
 * not, an error, which the caller must free, and the old file stays in use. */
char *
log_reopen(void)
{
    char *file = vlog_get_log_file();
    char *error = file ? set_file__(file) : NULL;

    free(file);
    return error;
}

/* Releases what 'settings' holds. */
void
log_settings_destroy(struct log_settings *settings)
{
    if (settings) {
        free(settings->levels);
        free(settings->file);
    }
}

static struct vlog_module *
find_module__(const char *name, size_t length)
{
    char *copy = mem_printf("%.*s", (int) length, name);
    struct vlog_module *module = vlog_module_from_name(copy);

    free(copy);
    return module;
}

/* Adds to 'settings' what 'spec', which is LEVEL or MODULE:LEVEL, says.
 * Returns NULL if successful, or an error, which the caller must free. */
char *
log_settings_add_level(struct log_settings *settings, const char *spec)
{
    const char *colon = strchr(spec, ':');
    const char *word = colon ? colon + 1 : spec;
    enum vlog_level level = vlog_get_level_val(word);
    struct vlog_module *module = NULL;

    if (level == VLL_N_LEVELS) {
        return mem_printf("\"%s\" is no level, which is off, emer, err, warn, "
                          "info or dbg",
                          word);
    }
    if (colon) {
        module = find_module__(spec, (size_t) (colon - spec));
        if (!module) {
            return mem_printf("there is no module \"%.*s\"",
                              (int) (colon - spec), spec);
        }
    }
    if (settings->n_levels >= settings->allocated_levels) {
        settings->levels =
            mem_grow(settings->levels, &settings->allocated_levels,
                     sizeof *settings->levels);
    }
    settings->levels[settings->n_levels++] =
        (struct log_level){ .module = module, .level = level };
    return NULL;
}
