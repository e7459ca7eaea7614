/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/issue.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/core/mem.h"

void
issues_init(struct issues *issues)
{
    *issues = (struct issues){ .n = 0 };
}

/* Frees what 'issues' holds, but not 'issues' itself. */
void
issues_destroy(struct issues *issues)
{
    for (size_t i = 0; i < issues->n; i++) {
        free(issues->issues[i].message);
    }
    free(issues->issues);
}

/* Adds an issue of 'type', a constant, with a message made of 'format'.
 * 'session' says which worker it is about, or is 0. */
void
issues_add(struct issues *issues, const char *type,
           enum issue_severity severity, uint64_t session, const char *format,
           ...)
{
    struct issue issue = { type, severity, session, NULL, 0 };
    va_list args;

    va_start(args, format);
    if (vasprintf(&issue.message, format, args) < 0) {
        abort();
    }
    va_end(args);
    if (issues->n >= issues->allocated) {
        issues->issues = mem_grow(issues->issues, &issues->allocated,
                                  sizeof *issues->issues);
    }
    issues->issues[issues->n++] = issue;
}

static const struct issue *
find__(const struct issues *issues, const struct issue *like)
{
    for (size_t i = 0; i < issues->n; i++) {
        if (issues->issues[i].session == like->session
            && !strcmp(issues->issues[i].type, like->type)) {
            return &issues->issues[i];
        }
    }
    return NULL;
}

/* Makes 'issues' those of 'newer', which is empty after that.  One that was
 * there before is there since then, others since 'now'. */
void
issues_replace(struct issues *issues, struct issues *newer, int64_t now)
{
    for (size_t i = 0; i < newer->n; i++) {
        const struct issue *old = find__(issues, &newer->issues[i]);

        newer->issues[i].since = old ? old->since : now;
    }
    issues_destroy(issues);
    *issues = *newer;
    issues_init(newer);
}

const char *
issue_severity_to_string(enum issue_severity severity)
{
    static const char *const words[] = {
#define ISSUE_SEVERITY(SEVERITY, WORD) [ISSUE_##SEVERITY] = (WORD),
        ISSUE_SEVERITIES
#undef ISSUE_SEVERITY
    };

    return words[severity];
}
