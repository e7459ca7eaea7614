/* SPDX-License-Identifier: Apache-2.0 */

/* The control API: tokens. */

#include "controller/api/lb-private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "controller/core/mem.h"
#include "controller/core/registration.h"

/* Permissions. */

/* Is there an instance, a reservation or a session 'p->id'?  Stores in '*scope'
 * what it is and what that is in. */
static bool
find_resource__(const struct lb_job *job, const struct token_permission *p,
                struct token_scope *scope)
{
    const struct instance *instance;
    const struct session *session;
    const struct reservation *r = NULL;

    *scope = TOKEN_SCOPE_ALL;
    switch (p->resource) {
    case TOKEN_ALL:
        return true;
    case TOKEN_LOAD_BALANCER:
        instance = p->id <= INSTANCE_ID_MAX
                       ? state_find_instance(job->state, (uint16_t) p->id)
                       : NULL;
        scope->instance = (int) (p->id <= INSTANCE_ID_MAX ? p->id : 0);
        return instance && instance->reservable;
    case TOKEN_RESERVATION:
        r = book_find_reservation(job->book, p->id);
        break;
    case TOKEN_SESSION:
        session = book_find_session(job->book, p->id);
        r = session ? book_find_reservation(job->book, session->reservation)
                    : NULL;
        break;
    }
    if (r) {
        *scope = lb_reservation_scope(r);
        scope->session = p->resource == TOKEN_SESSION ? p->id : 0;
    }
    return r != NULL;
}

/* Parses 'm', the 'i'-th of a list, into 'p' and 'scope'. */
static char *
parse_permission__(struct lb_job *job, const Loadbalancer__TokenPermission *m,
                   size_t i, struct token_permission *p,
                   struct token_scope *scope)
{
    bool is_all = (enum token_resource) m->resourcetype == TOKEN_ALL;

    if ((unsigned int) m->resourcetype > TOKEN_SESSION
        || (unsigned int) m->permission > TOKEN_UPDATE) {
        return lb_refuse(job, GRPC_INVALID_ARGUMENT,
                         "permissions[%zu]: there is no resourceType %d with "
                         "permission %d",
                         i, (int) m->resourcetype, (int) m->permission);
    }
    p->resource = (enum token_resource) m->resourcetype;
    p->right = (enum token_right) m->permission;
    p->id = 0;
    if (is_all ? *m->resourceid != '\0'
               : !lb_parse_id(m->resourceid, &p->id)) {
        return lb_refuse(
            job, GRPC_INVALID_ARGUMENT,
            "permissions[%zu].resourceId: \"%.100s\" %s", i, m->resourceid,
            is_all ? "is not empty, as it has to be for ALL" : "is no number");
    }
    if (!find_resource__(job, p, scope)
        && token_allows(job->token, TOKEN_READ_ONLY, &TOKEN_SCOPE_ALL)) {
        return lb_refuse(job, GRPC_NOT_FOUND,
                         "permissions[%zu].resourceId: \"%.100s\" is not "
                         "there",
                         i, m->resourceid);
    }
    return NULL;
}

/* Parses the 'n' 'm' into 'permissions', which the caller may all give away. */
static char *
parse_permissions__(struct lb_job *job, Loadbalancer__TokenPermission **m,
                    size_t n, struct token_permission *permissions)
{
    struct token_scope *scopes = arena_alloc(&job->arena, n * sizeof *scopes);
    char *error = NULL;
    size_t refused;

    for (size_t i = 0; !error && i < n; i++) {
        error = parse_permission__(job, m[i], i, &permissions[i], &scopes[i]);
    }
    if (!error
        && !token_may_grant(job->token, permissions, scopes, n, &refused)) {
        error = lb_refuse(job, GRPC_PERMISSION_DENIED,
                          "permissions[%zu]: the token that calls does not "
                          "hold this itself",
                          refused);
    }
    return error;
}

/* Creating. */

/* Returns a URI for who has 'token': of the reservation and session that it is
 * for, if it is for one. */
static char *
make_uri__(struct lb_job *job, const char *token,
           const struct token_permission *permissions, size_t n)
{
    const struct reservation *r = NULL;
    struct token_scope scope = TOKEN_SCOPE_ALL;

    if (n == 1 && find_resource__(job, &permissions[0], &scope)) {
        r = book_find_reservation(job->book, scope.reservation);
    }
    return lb_make_uri(job, token, r, scope.session);
}

char *
lb_create_token(struct lb_job *job)
{
    const Loadbalancer__CreateTokenRequest *m = (const void *) job->request;
    Loadbalancer__CreateTokenReply *reply =
        ARENA_NEW(&job->arena, Loadbalancer__CreateTokenReply,
                  LOADBALANCER__CREATE_TOKEN_REPLY__INIT);
    struct token_permission permissions[TOKEN_PERMISSIONS_MAX];
    size_t n = m->n_permissions;
    const char *text;
    uint32_t id;
    char *error =
        lb_refuse_field(job, registration_check_name("name", m->name));

    if (!error && (n < 1 || n > TOKEN_PERMISSIONS_MAX)) {
        error = lb_refuse(job, GRPC_INVALID_ARGUMENT,
                          "permissions: %zu are not from 1 to %d", n,
                          TOKEN_PERMISSIONS_MAX);
    }
    if (!error) {
        error = parse_permissions__(job, m->permissions, n, permissions);
    }
    if (!error) {
        error = lb_issue_token(job, m->name, permissions, n, &text, &id);
    }
    if (error) {
        return error;
    }
    reply->token = (char *) text;
    reply->ejfaturi = make_uri__(job, text, permissions, n);
    job->reply = &reply->base;
    return NULL;
}

/* Selecting. */

/* Finds the token that 'm' names, and checks that the caller may do with it as
 * it likes. */
static char *
select__(struct lb_job *job, const Loadbalancer__TokenSelector *m,
         const struct token **target)
{
    const struct token_tree *tree = job->book->tokens;
    bool is_text =
        m
        && m->token_selector_case
               == LOADBALANCER__TOKEN_SELECTOR__TOKEN_SELECTOR_TOKEN;
    bool may_all = token_allows(job->token, TOKEN_UPDATE, &TOKEN_SCOPE_ALL);
    uint32_t id =
        m
                && m->token_selector_case
                       == LOADBALANCER__TOKEN_SELECTOR__TOKEN_SELECTOR_ID
            ? m->id
            : 0;
    char *error = NULL;

    if (is_text) {
        error = lb_find_token(job, m->token, target);
    } else {
        *target = token_tree_find(tree, id ? id : job->caller);
    }
    if (error || (*target && (*target)->id == job->caller)) {
        return error;
    }
    if (!may_all
        && (!*target
            || !token_tree_is_ancestor(tree, job->caller, (*target)->id))) {
        return lb_refuse(job, GRPC_PERMISSION_DENIED,
                         "target: is neither the token that calls nor below "
                         "it, and that has no UPDATE on ALL");
    }
    return (*target ? NULL
                    : lb_refuse(job, GRPC_NOT_FOUND,
                                "target: there is no such token"));
}

/* Showing. */

static char *
make_date__(struct arena *arena, int64_t ms)
{
    time_t t = (time_t) (ms / 1000);
    struct tm tm;
    char s[32];

    gmtime_r(&t, &tm);
    strftime(s, sizeof s, "%Y-%m-%dT%H:%M:%SZ", &tm);
    return arena_strdup(arena, s);
}

static Loadbalancer__TokenPermission *
make_permission__(struct arena *arena, const struct token_permission *p)
{
    Loadbalancer__TokenPermission *m =
        ARENA_NEW(arena, Loadbalancer__TokenPermission,
                  LOADBALANCER__TOKEN_PERMISSION__INIT);

    m->resourcetype =
        (Loadbalancer__TokenPermission__ResourceType) p->resource;
    m->permission = (Loadbalancer__TokenPermission__PermissionType) p->right;
    if (p->resource != TOKEN_ALL) {
        m->resourceid = lb_make_id(arena, p->id);
    }
    return m;
}

static Loadbalancer__TokenDetails *
make_details__(struct arena *arena, const struct token *token)
{
    Loadbalancer__TokenDetails *m = ARENA_NEW(
        arena, Loadbalancer__TokenDetails, LOADBALANCER__TOKEN_DETAILS__INIT);

    m->id = token->id;
    m->name = arena_strdup(arena, token->name);
    m->created_at = token->created ? make_date__(arena, token->created)
                                   : arena_strdup(arena, "");
    m->permissions = arena_pointers(arena, token->n_permissions);
    for (size_t i = 0; i < token->n_permissions; i++) {
        m->permissions[m->n_permissions++] =
            make_permission__(arena, &token->permissions[i]);
    }
    return m;
}

char *
lb_list_permissions(struct lb_job *job)
{
    const Loadbalancer__ListTokenPermissionsRequest *m =
        (const void *) job->request;
    Loadbalancer__ListTokenPermissionsReply *reply =
        ARENA_NEW(&job->arena, Loadbalancer__ListTokenPermissionsReply,
                  LOADBALANCER__LIST_TOKEN_PERMISSIONS_REPLY__INIT);
    const struct token *target;
    char *error = select__(job, m->target, &target);

    if (error) {
        return error;
    }
    reply->token = make_details__(&job->arena, target);
    job->reply = &reply->base;
    return NULL;
}

char *
lb_list_children(struct lb_job *job)
{
    const Loadbalancer__ListChildTokensRequest *m =
        (const void *) job->request;
    Loadbalancer__ListChildTokensReply *reply =
        ARENA_NEW(&job->arena, Loadbalancer__ListChildTokensReply,
                  LOADBALANCER__LIST_CHILD_TOKENS_REPLY__INIT);
    const struct token **children;
    const struct token *target;
    char *error = select__(job, m->target, &target);
    size_t n;

    if (error) {
        return error;
    }
    children = token_tree_children(job->book->tokens, target->id, &n);
    reply->tokens = arena_pointers(&job->arena, n);
    for (size_t i = 0; i < n; i++) {
        reply->tokens[reply->n_tokens++] =
            make_details__(&job->arena, children[i]);
    }
    free(children);
    job->reply = &reply->base;
    return NULL;
}

/* Revoking. */

char *
lb_revoke_token(struct lb_job *job)
{
    const Loadbalancer__RevokeTokenRequest *m = (const void *) job->request;
    const struct token *target;
    char *error = select__(job, m->target, &target);

    if (!error && target->id == TOKEN_ROOT) {
        error = lb_refuse(job, GRPC_FAILED_PRECONDITION,
                          "target: the root token cannot be revoked, only "
                          "changed in the configuration");
    }
    if (!error) {
        token_tree_remove(engine_draft_change_book(job->draft)->tokens,
                          target->id);
    }
    return error;
}
