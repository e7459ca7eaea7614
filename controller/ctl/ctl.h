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
struct ctl_command;

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
    CTL_COMPLETE_MEMBER, /* An instance, then one of its members. */
    CTL_COMPLETE_SHELL   /* Names of shells. */
};

/* Runs a command with its 'argc' arguments 'argv'.  Returns an exit code. */
typedef int
ctl_run_func(struct ctl *, const struct ctl_command *, int argc, char *argv[]);

struct ctl_command {
    const char *name;      /* One word or two, "lb set". */
    const char *arguments; /* As the help writes them, or "". */
    const char *help;      /* A sentence without a full stop. */
    size_t min_args;
    size_t max_args;
    enum ctl_completion completion;
    bool boundary; /* Does it take --at-event and --force? */
    ctl_run_func *run;
    const char *method;               /* Of evlbd, if it calls one. */
    void (*print)(const void *reply); /* For ctl_run_plain() and _show(). */
};

struct ctl {
    const char *socket;
    bool json;
    const char *at_event; /* Where a new epoch begins, or NULL. */
    bool force;           /* Without knowing how far the ticks are? */
    const struct ctl_command *commands;
    size_t n_commands;
};

/* Commands. */
ctl_run_func ctl_run_plain; /* No arguments. */
ctl_run_func ctl_run_show;  /* An instance, or none for all. */
ctl_run_func ctl_run_flows;
ctl_run_func ctl_run_counters;
ctl_run_func ctl_run_trace;
ctl_run_func ctl_run_set;
ctl_run_func ctl_run_drain;
ctl_run_func ctl_run_add;
ctl_run_func ctl_run_remove;
ctl_run_func ctl_run_completion;
ctl_run_func ctl_run_help;

/* How replies are printed. */
void ctl_print_status(const void *);
void ctl_print_instances(const void *);
void ctl_print_epochs(const void *);
void ctl_print_members(const void *);
void ctl_print_targets(const void *);
void ctl_print_neighbours(const void *);
void ctl_print_flows(const void *);
void ctl_print_counters(const void *);
char *ctl_flow_packets(const void *flow);
void ctl_print_reload(const void *);

/* Arguments.  A property has one place where its value goes. */
struct ctl_property {
    const char *name;
    uint32_t *u32;
    uint64_t *u64;
    char **string;
    protobuf_c_boolean *flag;
    bool required;
};

bool ctl_parse_number(const char *, uint64_t max, uint64_t *);
bool ctl_parse_u32(const char *, uint32_t *);
int ctl_parse_properties(const struct ctl_property *, size_t n, int argc,
                         char *argv[]);

/* What they use. */
int ctl_call(struct ctl *, const char *method, const ProtobufCMessage *request,
             ProtobufCMessage **reply);
void ctl_print_reply(const struct ctl *, const ProtobufCMessage *,
                     void (*print)(const void *reply));
int ctl_call_print(struct ctl *, const char *method,
                   const ProtobufCMessage *request,
                   void (*print)(const void *reply));
int ctl_usage_error(const char *format, ...)
    __attribute__((__format__(printf, 1, 2)));

void ctl_print_help(const struct ctl *, FILE *);
void ctl_print_man(const struct ctl *, FILE *);

#endif /* ctl.h */
