/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/trace-switch.h"

#include <errno.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "controller/core/mem.h"

/* No trace is longer than this. */
#define TEXT_MAX (1024 * 1024)

extern char **environ;

/* Returns what there is to be read from 'fd', which the caller must free. */
static char *
read_all__(int fd)
{
    char *text = mem_alloc(TEXT_MAX + 1);
    size_t n = 0;
    ssize_t retval = 1;

    while (n < TEXT_MAX && retval > 0) {
        do {
            retval = read(fd, text + n, TEXT_MAX - n);
        } while (retval < 0 && errno == EINTR);
        n += retval > 0 ? (size_t) retval : 0;
    }
    text[n] = '\0';
    return text;
}

/* Runs 'argv' to its end.  Stores in '*text', which the caller must free, what
 * it says.  Returns its exit status, or -1 if it could not be run. */
static int
run__(char *const argv[], char **text)
{
    posix_spawn_file_actions_t actions;
    int status = -1;
    int fds[2];
    pid_t pid, retval;

    *text = NULL;
    if (pipe(fds)) {
        return -1;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fds[1], STDERR_FILENO);
    posix_spawn_file_actions_addclose(&actions, fds[0]);
    errno = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(fds[1]);
    if (!errno) {
        *text = read_all__(fds[0]);
        do {
            retval = waitpid(pid, &status, 0);
        } while (retval < 0 && errno == EINTR);
        status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    close(fds[0]);
    return status;
}

/* Asks the switch of 'bridge' on this machine what it does with the packet
 * 'packet_hex' that comes in through 'in_port'.  Stores what it says in 't',
 * which the caller must uninitialize. */
void
switch_trace_run(const char *bridge, uint32_t in_port, const char *packet_hex,
                 struct switch_trace *t)
{
    char *in = mem_printf("in_port=%" PRIu32, in_port);
    char *argv[] = { (char *) "ovs-appctl", (char *) "ofproto/trace",
                     (char *) bridge,       in,
                     (char *) packet_hex,   NULL };
    char *text;
    int status = run__(argv, &text);

    if (status) {
        *t = (struct switch_trace){ .slot = -1, .member = -1 };
        t->error = (text ? mem_printf("ovs-appctl ofproto/trace: %s", text)
                         : mem_printf("ovs-appctl cannot be run: %s",
                                      strerror(errno)));
        free(text);
    } else {
        switch_trace_parse(text, t);
    }
    free(in);
}

/* Returns where 'word' ends if the line 's' begins with it behind blanks, or
 * NULL. */
static const char *
skip__(const char *s, const char *word)
{
    s += strspn(s, " >-");
    return strncmp(s, word, strlen(word)) ? NULL : s + strlen(word);
}

/* Takes one line of a trace into 't'. */
static void
parse_line__(const char *line, struct switch_trace *t)
{
    const char *s;

    if ((s = skip__(line, "group:"))) {
        t->group = (uint32_t) strtoul(s, NULL, 10);
    } else if ((s = skip__(line, "slot "))) {
        t->slot = (int) strtol(s, NULL, 10);
        s = strstr(s, "lb_status=ok, member ");
        t->member =
            s ? (int) strtol(s + strlen("lb_status=ok, member "), NULL, 10)
              : -1;
    } else if ((s = skip__(line, "output:"))) {
        snprintf(t->egress, sizeof t->egress, "%lu", strtoul(s, NULL, 10));
    } else if (skip__(line, "IN_PORT")) {
        snprintf(t->egress, sizeof t->egress, "in_port");
    } else if (skip__(line, "LOCAL")) {
        snprintf(t->egress, sizeof t->egress, "host");
    } else if (skip__(line, "NORMAL")) {
        snprintf(t->egress, sizeof t->egress, "normal");
    } else if (skip__(line, "CONTROLLER")) {
        snprintf(t->egress, sizeof t->egress, "controller");
    }
}

/* Takes 'text', what a switch has said, into 't', which the caller must
 * uninitialize. */
void
switch_trace_parse(char *text, struct switch_trace *t)
{
    const char *line = text;

    *t = (struct switch_trace){ .text = text, .slot = -1, .member = -1 };
    while (line) {
        const char *end = strchr(line, '\n');

        parse_line__(line, t);
        line = end ? end + 1 : NULL;
    }
}

/* Frees what 't' holds, but not 't' itself. */
void
switch_trace_uninit(struct switch_trace *t)
{
    free(t->text);
    free(t->error);
}

/* Adds to '*all' that the switch says 'said' of 'what', not 'expected', unless
 * they are the same. */
static void
differ__(char **all, const char *what, const char *said, const char *expected)
{
    char *longer;

    if (strcmp(said, expected)) {
        longer = mem_printf("%s%s%s: the switch says %s, evlbd wants %s", *all,
                            **all ? "; " : "", what, *said ? said : "none",
                            *expected ? expected : "none");
        free(*all);
        *all = longer;
    }
}

static void
differ_in_number__(char **all, const char *what, int64_t said,
                   int64_t expected)
{
    char a[24] = "", b[24] = "";

    if (said >= 0) {
        snprintf(a, sizeof a, "%" PRId64, said);
    }
    if (expected >= 0) {
        snprintf(b, sizeof b, "%" PRId64, expected);
    }
    differ__(all, what, a, b);
}

/* Returns in what the switch's 't' differs from 'expected', "" if in nothing,
 * which the caller must free. */
char *
switch_trace_compare(const struct switch_trace *t,
                     const struct switch_trace_expected *expected)
{
    char *all = mem_strdup("");

    differ_in_number__(&all, "group", t->group ? (int64_t) t->group : -1,
                       expected->group ? (int64_t) expected->group : -1);
    differ_in_number__(&all, "slot", t->slot, expected->slot);
    differ_in_number__(&all, "member", t->member, expected->member);
    differ__(&all, "egress", t->egress, expected->egress);
    return all;
}
