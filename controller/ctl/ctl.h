/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_CTL_H
#define EVLB_CTL_H 1

/* evlbctl: its command table, and what its commands use.
 *
 * Everything that says which commands there are comes from the table: the
 * dispatch, the help, the completion and the man page. */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <protobuf-c/protobuf-c.h>

struct ctl;

#define CTL_DEFAULT_SOCKET "/run/evlb/evlbd.sock"

/* Exit codes. */
enum {
    CTL_OK = 0,
    CTL_FAILED = 1, /* evlbd said no, or is not there. */
    CTL_USAGE = 2   /* The command line is wrong. */
};

/* What the shell may complete an argument with. */
enum ctl_completion {
    CTL_COMPLETE_NOTHING,
    CTL_COMPLETE_INSTANCE,
    CTL_COMPLETE_SHELL /* Names of shells. */
};

struct ctl_command {
    const char *name;      /* One word or two, "lb set". */
    const char *arguments; /* As the help writes them, or "". */
    const char *help;      /* A sentence without a full stop. */
    size_t min_args;
    size_t max_args;
    enum ctl_completion completion; /* Of the first argument. */
    const char *const *options; /* "--at-event", NULL-terminated; or NULL. */

    /* Runs the command with its 'argc' arguments.  Returns an exit code. */
    int (*run)(struct ctl *, const struct ctl_command *, int argc,
               char *argv[]);

    /* For ctl_run_show(). */
    const char *method;
    void (*print)(const void *reply);
};

struct ctl {
    const char *socket;
    bool json;
    const struct ctl_command *commands;
    size_t n_commands;
};

/* Commands. */
int
ctl_run_show(struct ctl *, const struct ctl_command *, int argc, char *argv[]);
int ctl_run_plain(struct ctl *, const struct ctl_command *, int argc,
                  char *argv[]);
int ctl_run_completion(struct ctl *, const struct ctl_command *, int argc,
                       char *argv[]);
int
ctl_run_help(struct ctl *, const struct ctl_command *, int argc, char *argv[]);
void ctl_print_status(const void *);
void ctl_print_instances(const void *);
void ctl_print_epochs(const void *);
void ctl_print_members(const void *);

/* What they use. */
int ctl_call(struct ctl *, const char *method, const ProtobufCMessage *request,
             ProtobufCMessage **reply);
int ctl_call_print(struct ctl *, const char *method,
                   const ProtobufCMessage *request,
                   void (*print)(const void *reply));
int ctl_usage_error(const char *format, ...)
    __attribute__((__format__(printf, 1, 2)));

void ctl_print_help(const struct ctl *, FILE *);
void ctl_print_man(const struct ctl *, FILE *);

#endif /* ctl.h */
