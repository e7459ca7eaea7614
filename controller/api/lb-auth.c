/* SPDX-License-Identifier: Apache-2.0 */

/* The control API: who calls, and what that token allows. */

#include "controller/api/lb-private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "controller/config.h"
#include "controller/core/mem.h"

#define SCHEME "Bearer "

/* Tokens. */

/* Finds the token that 'text' is, NULL if it is none that there is.  Returns
 * NULL, or an error if no token looks so. */
char *
lb_find_token(struct lb_job *job, const char *text,
              const struct token **tokenp)
{
    const char *root = engine_get_config(job->lb->engine)->api.root_token;
    uint8_t digest[TOKEN_DIGEST_LEN];

    *tokenp = NULL;
    if (root && token_same_text(text, root)) {
        *tokenp = token_tree_find(job->book->tokens, TOKEN_ROOT);
    } else if (token_digest(text, digest)) {
        *tokenp = token_tree_find_digest(job->book->tokens, digest);
    } else {
        return lb_refuse(job, GRPC_INVALID_ARGUMENT,
                         "a token is %d hexadecimal digits", TOKEN_DIGITS);
    }
    return NULL;
}

/* Finds the caller of 'job'. */
static char *
authenticate__(struct lb_job *job)
{
    const char *header = job->call->authorization;
    char *error;

    if (!header && job->call->trusted) {
        job->token = token_tree_find(job->book->tokens, TOKEN_ROOT);
    } else if (!header) {
        return lb_refuse(job, GRPC_UNAUTHENTICATED,
                         "authorization: is missing; calls carry \"" SCHEME
                         "TOKEN\" there");
    } else if (strncasecmp(header, SCHEME, strlen(SCHEME))) {
        return lb_refuse(job, GRPC_INVALID_ARGUMENT,
                         "authorization: is not \"" SCHEME "TOKEN\"");
    } else {
        error = lb_find_token(job, header + strlen(SCHEME), &job->token);
        if (error) {
            return error;
        }
    }
    if (!job->token) {
        return lb_refuse(job, GRPC_PERMISSION_DENIED,
                         "authorization: the token is not known: it may have "
                         "been revoked, or its reservation or registration "
                         "may be over");
    }
    job->caller = job->token->id;
    return NULL;
}

/* Makes a token below the caller's, which holds the 'n' 'permissions', in
 * 'job''s draft.  Returns NULL and stores its text, in the arena, in '*text',
 * and its id in '*id'; or an error. */
char *
lb_issue_token(struct lb_job *job, const char *name,
               const struct token_permission *permissions, size_t n,
               const char **text, uint32_t *id)
{
    char *digits = arena_alloc(&job->arena, TOKEN_DIGITS + 1);
    struct token token = { .parent = job->caller,
                           .name = (char *) name,
                           .created = lb_wall_ms(),
                           .permissions =
                               (struct token_permission *) permissions,
                           .n_permissions = n };
    uint8_t random[TOKEN_DIGITS / 2];
    char *error;

    if (getrandom(random, sizeof random, 0) != sizeof random) {
        abort();
    }
    for (size_t i = 0; i < sizeof random; i++) {
        snprintf(&digits[2 * i], 3, "%02x", random[i]);
    }
    token_digest(digits, token.digest);
    error = token_tree_add(engine_draft_change_book(job->draft)->tokens,
                           &token, id);
    if (error) {
        job->status = GRPC_RESOURCE_EXHAUSTED;
    }
    *text = digits;
    return error;
}

/* Permissions. */

struct token_scope
lb_reservation_scope(const struct reservation *r)
{
    return (struct token_scope){ .instance = r->instance,
                                 .reservation = r->entry.id };
}

/* Returns the text in the field 'name' of 'job''s request. */
static const char *
get_field__(const struct lb_job *job, const char *name)
{
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field_by_name(
            job->request->descriptor, name);
    const void *p = (const char *) job->request + field->offset;

    return *(char *const *) p;
}

/* Stores in '*id' what stands in the field 'name' of 'job''s request. */
static char *
get_id__(struct lb_job *job, const char *name, const char *what, uint64_t *id)
{
    const char *text = get_field__(job, name);

    return (lb_parse_id(text, id)
                ? NULL
                : lb_refuse(job, GRPC_INVALID_ARGUMENT,
                            "%s: \"%.100s\" is no number of a %s", name, text,
                            what));
}

static const char *const rights[] = {
    [TOKEN_READ_ONLY] = "READ_ONLY",
    [TOKEN_REGISTER] = "REGISTER",
    [TOKEN_RESERVE] = "RESERVE",
    [TOKEN_UPDATE] = "UPDATE",
};

/* Finds the reservation, and the session if the method is about one, that 'job'
 * is about, and checks that the caller has the right that it takes. */
static char *
admit_subject__(struct lb_job *job)
{
    bool is_session = job->method->subject == LB_SESSION;
    struct token_scope scope = TOKEN_SCOPE_ALL;
    char *error = get_id__(job, "lbId", "reservation", &scope.reservation);

    if (!error && is_session) {
        error = get_id__(job, "sessionId", "session", &scope.session);
    }
    if (error) {
        return error;
    }
    job->reservation = book_find_reservation(job->book, scope.reservation);
    job->session = book_find_session(job->book, scope.session);
    if (job->reservation) {
        scope.instance = job->reservation->instance;
    }
    if (!token_allows(job->token, job->method->right, &scope)) {
        return lb_refuse(job, GRPC_PERMISSION_DENIED,
                         "%s needs a token with %s on this %s",
                         job->method->name, rights[job->method->right],
                         is_session ? "session" : "reservation");
    }
    if (!job->reservation) {
        return lb_refuse(job, GRPC_NOT_FOUND,
                         "lbId: there is no reservation %" PRIu64,
                         scope.reservation);
    }
    if (is_session
        && (!job->session || job->session->reservation != scope.reservation)) {
        return lb_refuse(job, GRPC_NOT_FOUND,
                         "sessionId: reservation %" PRIu64
                         " has no session %" PRIu64
                         " (one that is silent for long has to register anew)",
                         scope.reservation, scope.session);
    }
    return NULL;
}

/* Checks that whoever calls may have 'job' carried out. */
char *
lb_admit(struct lb_job *job)
{
    char *error = authenticate__(job);

    job->reservation = NULL;
    job->session = NULL;
    if (error || job->method->subject == LB_NOTHING) {
        return error;
    }
    return admit_subject__(job);
}
