/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_CTL_H
#define EVLB_CTL_H 1

/* evlbctl: its tables of commands and options, and what its commands use.
 *
 * Everything that says which commands and options there are comes from the
 * tables: the dispatch, the help, the completion and the man page.
 *
 * There are two services.  The operator's (admin.proto) is reached through
 * evlbd's Unix socket alone; the control API (loadbalancer.proto) through that
 * or, with a token, wherever an EJFAT_URI says. */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <protobuf-c/protobuf-c.h>

struct ctl;
struct ctl_command;
struct table;

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
    CTL_COMPLETE_LB,     /* A reservation. */
    CTL_COMPLETE_SHELL   /* Names of shells. */
};

/* Runs a command with its 'argc' arguments 'argv'.  Returns an exit code. */
typedef int
ctl_run_func(struct ctl *, const struct ctl_command *, int argc, char *argv[]);

/* Options: name, short form, argument, and help, a sentence without a full
 * stop. */
#define CTL_OPTIONS                                                           \
    CTL_OPTION(SOCKET, "socket", 's', "FILE",                                 \
               "where evlbd listens (default: " CTL_DEFAULT_SOCKET ")")       \
    CTL_OPTION(JSON, "json", 'j', NULL, "print JSON")                         \
    CTL_OPTION(URI, "uri", 0, "URI",                                          \
               "call the control API there, with its token (default: "        \
               "$EJFAT_URI, or the socket)")                                  \
    CTL_OPTION(TOKEN, "token", 0, "TOKEN", "use this token instead")          \
    CTL_OPTION(CA, "ca", 0, "FILE",                                           \
               "certificates to trust, with ejfats: (default: the system's)") \
    CTL_OPTION(INSECURE, "insecure", 0, NULL,                                 \
               "believe any certificate, with ejfats:")                       \
    CTL_OPTION(LB, "lb", 0, "ID", "reservation (default: the URI's)")         \
    CTL_OPTION(AT_EVENT, "at-event", 0, "N",                                  \
               "first tick of the new epoch (default: as soon as is safe)")   \
    CTL_OPTION(FORCE, "force", 0, NULL,                                       \
               "even if nothing tells how far the ticks are")                 \
    CTL_OPTION(FOR, "for", 0, "TIME", "for so long: 90s, 30m, 8h, 7d")        \
    CTL_OPTION(UNTIL, "until", 0, "TIME",                                     \
               "until then, as 2027-01-31T18:00:00Z")                         \
    CTL_OPTION(SENDER, "sender", 0, "ADDRESS",                                \
               "take packets from there; may be repeated")                    \
    CTL_OPTION(FAMILY, "family", 0, "4|6|dual",                               \
               "families of addresses (default: dual; chain: 4)")             \
    CTL_OPTION(STRATEGY, "strategy", 0, "NAME",                               \
               "dynamic, static or explicit (default: dynamic)")              \
    CTL_OPTION(INTERVAL, "interval", 0, "SECONDS",                            \
               "between two looks (default: 1)")                              \
    CTL_OPTION(COUNT, "count", 0, "N", "end after so many (default: never)")  \
    CTL_OPTION(SINCE, "since", 0, "TIME",                                     \
               "from then on, or so long ago (default: all)")

enum ctl_option {
#define CTL_OPTION(NAME, LONG, SHORT, ARG, HELP) CTL_OPT_##NAME,
    CTL_OPTIONS
#undef CTL_OPTION
};

enum {
#define CTL_OPTION(NAME, LONG, SHORT, ARG, HELP) +1
    CTL_N_OPTIONS = 0 CTL_OPTIONS
#undef CTL_OPTION
};

#define CTL_TAKES(NAME) (1u << CTL_OPT_##NAME)

/* What all commands take, those of the control API, and those of them that are
 * about one reservation. */
#define CTL_ALL (CTL_TAKES(SOCKET) | CTL_TAKES(JSON))
#define CTL_API \
    (CTL_TAKES(URI) | CTL_TAKES(TOKEN) | CTL_TAKES(CA) | CTL_TAKES(INSECURE))
#define CTL_API_LB (CTL_API | CTL_TAKES(LB))

struct ctl_option_row {
    const char *name;
    int short_name;  /* 0 if there is none. */
    const char *arg; /* NULL if it takes none. */
    const char *help;
};

struct ctl_command {
    const char *heading;   /* Printed before it in lists, or NULL. */
    const char *name;      /* One word or two, "lb set". */
    const char *arguments; /* As the help writes them, or "". */
    const char *help;      /* A sentence without a full stop. */
    size_t min_args;
    size_t max_args;
    enum ctl_completion completion;
    uint32_t options; /* CTL_TAKES() of each, besides CTL_ALL. */
    ctl_run_func *run;
    const char *method;               /* Of evlbd, if it calls one. */
    void (*print)(const void *reply); /* For those that only call it. */
};

/* The values of an option, in their order. */
struct ctl_values {
    char **values;
    size_t n;
    size_t allocated;
};

struct ctl {
    const char *socket;
    bool json;
    struct ctl_values options[CTL_N_OPTIONS];
    const struct ctl_command *commands;
    size_t n_commands;
    struct ctl_api *api; /* Made when it is needed. */
};

extern const struct ctl_option_row ctl_option_rows[CTL_N_OPTIONS];
extern const struct ctl_command ctl_commands[];
extern const size_t ctl_n_commands;

/* Options. */
void ctl_parse_options(struct ctl *, int argc, char *argv[]);
int ctl_check_options(const struct ctl *, const struct ctl_command *);
bool ctl_has(const struct ctl *, enum ctl_option);
const char *ctl_get(const struct ctl *, enum ctl_option);
void ctl_destroy(struct ctl *);

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

/* Commands of the control API. */
ctl_run_func ctl_run_api; /* A reservation, or no arguments. */
ctl_run_func ctl_run_reserve;
ctl_run_func ctl_run_extend;
ctl_run_func ctl_run_reset;
ctl_run_func ctl_run_senders_change;
ctl_run_func ctl_run_register;
ctl_run_func ctl_run_deregister;
ctl_run_func ctl_run_demands;
ctl_run_func ctl_run_send_state;
ctl_run_func ctl_run_token_create;
ctl_run_func ctl_run_token_list;
ctl_run_func ctl_run_token_show;
ctl_run_func ctl_run_token_revoke;
ctl_run_func ctl_run_watch;
ctl_run_func ctl_run_timeseries;
ctl_run_func ctl_run_chain;
ctl_run_func ctl_run_unchain;

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
void ctl_print_reservation(const void *);
void ctl_print_senders(const void *);
void ctl_print_workers(const void *);
void ctl_print_overview(const void *);
void ctl_print_graph(const void *);
void ctl_print_version(const void *);
void ctl_print_nothing(const void *);

/* Arguments.  A property has one place where its value goes. */
struct ctl_property {
    const char *name;
    uint32_t *u32;
    uint64_t *u64;
    int64_t *i64; /* Not negative. */
    float *real;
    char **string;
    protobuf_c_boolean *flag;
    bool required;
};

bool ctl_parse_number(const char *, uint64_t max, uint64_t *);
bool ctl_parse_u32(const char *, uint32_t *);
bool ctl_parse_real(const char *, float *);
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
void ctl_add_words(struct table *, char *const *words, size_t n);
void ctl_tame(const ProtobufCMessage *);
void ctl_print_json(const ProtobufCMessage *);
int ctl_usage_error(const char *format, ...)
    __attribute__((__format__(printf, 1, 2)));

void ctl_print_help(const struct ctl *, FILE *);
void ctl_print_man(const struct ctl *, FILE *);
void ctl_print_man_options(FILE *);

#endif /* ctl.h */
