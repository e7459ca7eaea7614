/* SPDX-License-Identifier: Apache-2.0 */

/* Requests of the control API by HTTP: from text to messages. */

#include "controller/api/rest.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>

#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/util.h>

#include <config.h>
#include <openvswitch/json.h>
#include <openvswitch/shash.h>

#include "controller/core/mem.h"
#include "lib/pb-json-parse.h"

#define QUERY_MAX 64 /* Parameters. */

/* Calls that change nothing, which GET is for, too. */
bool
rest_is_read_only(const char *method)
{
    static const char *const names[] = {
        "GetLoadBalancer", "LoadBalancerStatus",
        "Overview",        "Timeseries",
        "Version",         "GetChainGraph",
        "ListChildTokens", "ListTokenPermissions",
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strcmp(names[i], method)) {
            return true;
        }
    }
    return false;
}

/* Is 'origin', which a browser says that the page of a request is from, what
 * the request is for? */
bool
rest_is_same_origin(const char *origin, const char *host)
{
    const char *rest = strstr(origin, "://");

    return rest && host && !strcasecmp(rest + 3, host)
           && (!strncmp(origin, "http:", 5) || !strncmp(origin, "https:", 6));
}

/* Is 'content_type', which may be NULL, JSON? */
bool
rest_is_json(const char *content_type)
{
    static const char json[] = "application/json";

    return content_type && !strncasecmp(content_type, json, strlen(json))
           && strchr("; \t", content_type[strlen(json)]);
}

/* Stores in '*msgp' the message of the type 'd', in 'arena', that the 'size'
 * bytes of JSON at 'body' are.  Returns NULL if successful, or an error, which
 * the caller must free. */
char *
rest_parse_body(const char *body, size_t size,
                const ProtobufCMessageDescriptor *d, struct arena *arena,
                ProtobufCMessage **msgp)
{
    char *text = mem_printf("%.*s", (int) size, body);
    struct json *j = json_from_string(text);
    char *error;

    *msgp = NULL;
    if (strlen(text) != size) {
        error = mem_strdup("the body is no JSON object: it has a null byte");
    } else if (j->type == JSON_STRING) {
        /* An error, or what is no message anyway. */
        error = mem_printf("the body is no JSON object: %s", json_string(j));
    } else {
        error = pb_json_parse(j, d, arena, msgp);
    }
    json_destroy(j);
    free(text);
    return error;
}

static const ProtobufCFieldDescriptor *
find_field__(const ProtobufCMessageDescriptor *d, const char *name)
{
    for (unsigned int i = 0; i < d->n_fields; i++) {
        if (pb_json_is_name(&d->fields[i], name)) {
            return &d->fields[i];
        }
    }
    return NULL;
}

/* Returns 'value', of 'field', as JSON has it. */
static struct json *
make_value__(const ProtobufCFieldDescriptor *field, const char *value)
{
    if (field->type == PROTOBUF_C_TYPE_BOOL
        && (!strcmp(value, "true") || !strcmp(value, "false"))) {
        return json_boolean_create(*value == 't');
    }
    return json_string_create(value);
}

static struct json *
get_member__(const struct json *object, const char *name)
{
    return shash_find_data(json_object(object), name);
}

/* Sets 'field' of 'object' to 'value', or adds it to what it has if it may have
 * several. */
static char *
set_field__(struct json *object, const ProtobufCFieldDescriptor *field,
            const char *value)
{
    struct json *old = get_member__(object, field->name);

    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        if (!old) {
            old = json_array_create_empty();
            json_object_put(object, field->name, old);
        }
        json_array_add(old, make_value__(field, value));
    } else if (old) {
        return mem_printf("%s: is given twice", field->name);
    } else {
        json_object_put(object, field->name, make_value__(field, value));
    }
    return NULL;
}

/* Returns the object that is the member 'name' of 'object', perhaps a new
 * one; or NULL if that is something else. */
static struct json *
go_in__(struct json *object, const char *name)
{
    struct json *inner = get_member__(object, name);

    if (!inner) {
        inner = json_object_create();
        json_object_put(object, name, inner);
    }
    return inner->type == JSON_OBJECT ? inner : NULL;
}

/* Returns the field that 'path', such as "target.id", leads to from '*objectp',
 * a message of the type 'd', and stores in '*objectp' the object that has it.
 * Returns NULL if there is none.  Cuts 'path' into names. */
static const ProtobufCFieldDescriptor *
find_path__(struct json **objectp, const ProtobufCMessageDescriptor *d,
            char *path)
{
    const ProtobufCFieldDescriptor *field = NULL;
    char *save = NULL;

    for (char *name = strtok_r(path, ".", &save); name;
         name = strtok_r(NULL, ".", &save)) {
        if (field) {
            if (field->label == PROTOBUF_C_LABEL_REPEATED
                || field->type != PROTOBUF_C_TYPE_MESSAGE) {
                return NULL;
            }
            d = field->descriptor;
            *objectp = go_in__(*objectp, field->name);
        }
        field = *objectp ? find_field__(d, name) : NULL;
        if (!field) {
            return NULL;
        }
    }
    return field;
}

/* Sets what 'path' of 'object', a message of the type 'd', is, to 'value'. */
static char *
set_path__(struct json *object, const ProtobufCMessageDescriptor *d,
           const char *path, const char *value)
{
    char *names = mem_strdup(path);
    const ProtobufCFieldDescriptor *field = find_path__(&object, d, names);

    free(names);
    if (!field) {
        return mem_printf("%.80s: there is no such field", path);
    } else if (!strcmp(field->name, "token")) {
        return mem_printf("%.80s: a token is no part of an address, which "
                          "others may see; use POST",
                          path);
    }
    return set_field__(object, field, value);
}

/* Sets fields of 'object', a message of the type 'd', to 'params'. */
static char *
set_params__(struct json *object, const ProtobufCMessageDescriptor *d,
             const struct evkeyvalq *params)
{
    char *error = NULL;
    int n = 0;

    for (const struct evkeyval *p = TAILQ_FIRST(params); p && !error;
         p = TAILQ_NEXT(p, next)) {
        if (++n > QUERY_MAX) {
            return mem_printf("there are more than %d parameters", QUERY_MAX);
        }
        error = set_path__(object, d, p->key, p->value);
    }
    return error;
}

/* Stores in '*msgp' the message of the type 'd', in 'arena', whose fields are
 * the parameters of 'query', which may be NULL.  Returns NULL if successful, or
 * an error, which the caller must free. */
char *
rest_parse_query(const char *query, const ProtobufCMessageDescriptor *d,
                 struct arena *arena, ProtobufCMessage **msgp)
{
    struct evkeyvalq params = TAILQ_HEAD_INITIALIZER(params);
    struct json *object = json_object_create();
    char *error = NULL;

    *msgp = NULL;
    if (query && *query && evhttp_parse_query_str(query, &params)) {
        error = mem_strdup("the address is not ...?NAME=VALUE&NAME=VALUE");
    }
    error = error ? error : set_params__(object, d, &params);
    error = error ? error : pb_json_parse(object, d, arena, msgp);
    evhttp_clear_headers(&params);
    json_destroy(object);
    return error;
}
