/* SPDX-License-Identifier: Apache-2.0 */

/* Commands about tokens. */

#include "controller/ctl/api.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/core/mem.h"
#include "controller/ctl/table.h"

typedef Loadbalancer__TokenPermission Permission;

/* Finds the value of 'type' whose name is the 'n' characters at 's', in
 * whatever case. */
static bool
find_value__(const ProtobufCEnumDescriptor *type, const char *s, size_t n,
             int *value)
{
    for (unsigned int i = 0; i < type->n_values; i++) {
        if (strlen(type->values[i].name) == n
            && !strncasecmp(type->values[i].name, s, n)) {
            *value = type->values[i].value;
            return true;
        }
    }
    return false;
}

/* Parses 's', "PERMISSION[@RESOURCE[:ID]]", into '*p', which points into it. */
static bool
parse_permission__(char *s, Permission *p)
{
    size_t n = strcspn(s, "@");
    char *resource = s[n] ? s + n + 1 : "ALL";
    size_t m = strcspn(resource, ":");
    int type = 0, permission = 0;
    bool ok;

    loadbalancer__token_permission__init(p);
    ok = (find_value__(
              &loadbalancer__token_permission__permission_type__descriptor, s,
              n, &permission)
          && find_value__(
              &loadbalancer__token_permission__resource_type__descriptor,
              resource, m, &type));
    p->permission = (Loadbalancer__TokenPermission__PermissionType) permission;
    p->resourcetype = (Loadbalancer__TokenPermission__ResourceType) type;
    if (resource[m]) {
        p->resourceid = resource + m + 1;
    }

    /* One of a kind has an id, all have none. */
    return ok && !*p->resourceid == (type == 0);
}

static void
print_created__(const void *reply)
{
    const Loadbalancer__CreateTokenReply *r = reply;

    printf("%s\n", r->token);
    if (*r->ejfaturi) {
        printf("%s\n", r->ejfaturi);
    }
}

/* token create NAME PERMISSION... */
int
ctl_run_token_create(struct ctl *ctl, const struct ctl_command *command,
                     int argc, char *argv[])
{
    Loadbalancer__CreateTokenRequest r =
        LOADBALANCER__CREATE_TOKEN_REQUEST__INIT;
    size_t n = (size_t) argc - 1;
    Permission *permissions = mem_zalloc(n * sizeof *permissions);
    Permission **pointers = mem_zalloc(n * sizeof(Permission *));
    int code = CTL_OK;

    (void) command;
    r.name = argv[0];
    r.permissions = pointers;
    r.n_permissions = n;
    for (size_t i = 0; i < n && code == CTL_OK; i++) {
        pointers[i] = &permissions[i];
        if (!parse_permission__(argv[i + 1], pointers[i])) {
            code = ctl_usage_error(
                "\"%s\" is not PERMISSION@RESOURCE:ID, as UPDATE@ALL, "
                "RESERVE@LOAD_BALANCER:0 or REGISTER@RESERVATION:5",
                argv[i + 1]);
        }
    }
    if (code == CTL_OK) {
        code = ctl_api_run(ctl, "CreateToken", &r.base, print_created__);
    }
    free(permissions);
    free(pointers);
    return code;
}

/* Makes a selector of the first of the 'argc' arguments 'argv', a token or its
 * id, or of none, which stands for the caller's own. */
static void
select__(Loadbalancer__TokenSelector *s, int argc, char *argv[])
{
    uint32_t id = 0;

    loadbalancer__token_selector__init(s);
    if (!argc || (strlen(argv[0]) <= 10 && ctl_parse_u32(argv[0], &id))) {
        s->token_selector_case =
            LOADBALANCER__TOKEN_SELECTOR__TOKEN_SELECTOR_ID;
        s->id = id;
    } else {
        s->token_selector_case =
            LOADBALANCER__TOKEN_SELECTOR__TOKEN_SELECTOR_TOKEN;
        s->token = argv[0];
    }
}

/* Returns the text of the permissions of 't', which the caller frees. */
static char *
format_permissions__(const Loadbalancer__TokenDetails *t)
{
    char *s = mem_strdup(t->n_permissions ? "" : "-");

    for (size_t i = 0; i < t->n_permissions; i++) {
        const Permission *p = t->permissions[i];
        const ProtobufCEnumValue *permission =
            protobuf_c_enum_descriptor_get_value(
                &loadbalancer__token_permission__permission_type__descriptor,
                (int) p->permission);
        const ProtobufCEnumValue *type = protobuf_c_enum_descriptor_get_value(
            &loadbalancer__token_permission__resource_type__descriptor,
            (int) p->resourcetype);
        char *longer = mem_printf("%s%s%s@%s%s%s", s, i ? " " : "",
                                  permission ? permission->name : "?",
                                  type ? type->name : "?",
                                  *p->resourceid ? ":" : "", p->resourceid);

        free(s);
        s = longer;
    }
    return s;
}

static void
print_tokens__(Loadbalancer__TokenDetails *const *tokens, size_t n)
{
    struct table *t = table_create(">ID NAME CREATED PERMISSIONS");

    for (size_t i = 0; i < n; i++) {
        char *permissions = format_permissions__(tokens[i]);

        table_add(t, "%" PRIu32, tokens[i]->id);
        table_add(t, "%s", *tokens[i]->name ? tokens[i]->name : "-");
        table_add(t, "%s",
                  *tokens[i]->created_at ? tokens[i]->created_at : "-");
        table_add(t, "%s", permissions);
        free(permissions);
    }
    table_finish(t);
}

static void
print_children__(const void *reply)
{
    const Loadbalancer__ListChildTokensReply *r = reply;

    print_tokens__(r->tokens, r->n_tokens);
}

/* token list [TOKEN|ID] */
int
ctl_run_token_list(struct ctl *ctl, const struct ctl_command *command,
                   int argc, char *argv[])
{
    Loadbalancer__ListChildTokensRequest r =
        LOADBALANCER__LIST_CHILD_TOKENS_REQUEST__INIT;
    Loadbalancer__TokenSelector target;

    (void) command;
    select__(&target, argc, argv);
    r.target = &target;
    return ctl_api_run(ctl, "ListChildTokens", &r.base, print_children__);
}

static void
print_token__(const void *reply)
{
    const Loadbalancer__ListTokenPermissionsReply *r = reply;

    print_tokens__(&r->token, r->token ? 1 : 0);
}

/* token show [TOKEN|ID] */
int
ctl_run_token_show(struct ctl *ctl, const struct ctl_command *command,
                   int argc, char *argv[])
{
    Loadbalancer__ListTokenPermissionsRequest r =
        LOADBALANCER__LIST_TOKEN_PERMISSIONS_REQUEST__INIT;
    Loadbalancer__TokenSelector target;

    (void) command;
    select__(&target, argc, argv);
    r.target = &target;
    return ctl_api_run(ctl, "ListTokenPermissions", &r.base, print_token__);
}

/* token revoke TOKEN|ID */
int
ctl_run_token_revoke(struct ctl *ctl, const struct ctl_command *command,
                     int argc, char *argv[])
{
    Loadbalancer__RevokeTokenRequest r =
        LOADBALANCER__REVOKE_TOKEN_REQUEST__INIT;
    Loadbalancer__TokenSelector target;

    (void) command;
    select__(&target, argc, argv);
    r.target = &target;
    return ctl_api_run(ctl, "RevokeToken", &r.base, ctl_print_nothing);
}
