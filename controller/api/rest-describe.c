/* SPDX-License-Identifier: Apache-2.0 */

/* The description of the control API by HTTP, as OpenAPI has it: made of the
 * descriptors, so that it says what there is. */

#include "controller/api/rest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/api/loadbalancer.pb-c.h"
#include "controller/core/mem.h"
#include "lib/json.h"
#include "lib/pb-field.h"

/* Message types that were seen, in the order in which they were. */
struct types {
    const ProtobufCMessageDescriptor **types;
    size_t n;
    size_t allocated;
};

static void
add_type__(struct types *types, const ProtobufCMessageDescriptor *d)
{
    for (size_t i = 0; i < types->n; i++) {
        if (types->types[i] == d) {
            return;
        }
    }
    if (types->n == types->allocated) {
        types->types =
            mem_grow((void *) types->types, &types->allocated, sizeof(void *));
    }
    types->types[types->n++] = d;
}

static void
write_type__(struct json *j, const char *type, const char *format)
{
    json_put_string(j, "type", type);
    if (format) {
        json_put_string(j, "format", format);
    }
}

static void
write_reference__(struct json *j, const ProtobufCMessageDescriptor *d)
{
    char *s = mem_printf("#/components/schemas/%s", d->short_name);

    json_put_string(j, "$ref", s);
    free(s);
}

static void
write_message_type__(struct json *j, struct types *types,
                     const ProtobufCMessageDescriptor *d)
{
    switch (pb_known_type(d)) {
    case PB_KNOWN_NONE:
        add_type__(types, d);
        write_reference__(j, d);
        break;
    case PB_KNOWN_TIMESTAMP:
        write_type__(j, "string", "date-time");
        break;
    case PB_KNOWN_STRUCT:
        write_type__(j, "object", NULL);
        break;
    case PB_KNOWN_LIST:
        write_type__(j, "array", NULL);
        break;
    case PB_KNOWN_VALUE:
        break; /* Anything. */
    }
}

static void
write_enum_type__(struct json *j, const ProtobufCEnumDescriptor *d)
{
    write_type__(j, "string", NULL);
    json_open_array(j, "enum");
    for (unsigned int i = 0; i < d->n_values; i++) {
        json_put_string(j, NULL, d->values[i].name);
    }
    json_close_array(j);
}

/* Writes what one value of 'field' is. */
static void
write_value_type__(struct json *j, struct types *types,
                   const ProtobufCFieldDescriptor *field)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
        write_type__(j, "integer", "int32");
        break;
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
        write_type__(j, "integer", "uint32");
        break;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
        write_type__(j, "string", "int64");
        break;
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        write_type__(j, "string", "uint64");
        break;
    case PROTOBUF_C_TYPE_FLOAT:
        write_type__(j, "number", "float");
        break;
    case PROTOBUF_C_TYPE_DOUBLE:
        write_type__(j, "number", "double");
        break;
    case PROTOBUF_C_TYPE_BOOL:
        write_type__(j, "boolean", NULL);
        break;
    case PROTOBUF_C_TYPE_ENUM:
        write_enum_type__(j, field->descriptor);
        break;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
        write_type__(j, "string", NULL);
        break;
    case PROTOBUF_C_TYPE_MESSAGE:
        write_message_type__(j, types, field->descriptor);
        break;
    }
}

static void
write_schema__(struct json *j, struct types *types,
               const ProtobufCMessageDescriptor *d)
{
    json_open_object(j, d->short_name);
    write_type__(j, "object", NULL);
    json_put_bool(j, "additionalProperties", false);
    json_open_object(j, "properties");
    for (unsigned int i = 0; i < d->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &d->fields[i];

        json_open_object(j, field->name);
        if (field->label == PROTOBUF_C_LABEL_REPEATED) {
            write_type__(j, "array", NULL);
            json_open_object(j, "items");
            write_value_type__(j, types, field);
            json_close_object(j);
        } else {
            write_value_type__(j, types, field);
        }
        json_close_object(j);
    }
    json_close_object(j);
    json_close_object(j);
}

/* Writes a body, of a request or a reply, with a message of the type 'd', or
 * with an error if that is NULL. */
static void
write_content__(struct json *j, struct types *types,
                const ProtobufCMessageDescriptor *d)
{
    json_open_object(j, "content");
    json_open_object(j, "application/json");
    json_open_object(j, "schema");
    if (d) {
        write_message_type__(j, types, d);
    } else {
        json_put_string(j, "$ref", "#/components/schemas/Error");
    }
    json_close_object(j);
    json_close_object(j);
    json_close_object(j);
}

static void
write_replies__(struct json *j, struct types *types,
                const ProtobufCMethodDescriptor *method)
{
    json_open_object(j, "responses");
    json_open_object(j, "200");
    json_put_string(j, "description", method->output->short_name);
    write_content__(j, types, method->output);
    json_close_object(j);
    json_open_object(j, "default");
    json_put_string(j, "description", "Why not");
    write_content__(j, types, NULL);
    json_close_object(j);
    json_close_object(j);
}

static void
write_path__(struct json *j, struct types *types,
             const ProtobufCMethodDescriptor *method)
{
    char *path = mem_printf("/%s", method->name);

    json_open_object(j, path);
    json_open_object(j, "post");
    json_put_string(j, "operationId", method->name);
    json_open_object(j, "requestBody");
    json_put_bool(j, "required", true);
    write_content__(j, types, method->input);
    json_close_object(j);
    write_replies__(j, types, method);
    json_close_object(j);
    json_close_object(j);
    free(path);
}

static void
write_error_schema__(struct json *j)
{
    json_open_object(j, "Error");
    write_type__(j, "object", NULL);
    json_open_object(j, "properties");
    json_open_object(j, "code");
    write_type__(j, "integer", "int32");
    json_close_object(j);
    json_open_object(j, "message");
    write_type__(j, "string", NULL);
    json_close_object(j);
    json_close_object(j);
    json_close_object(j);
}

static void
write_info__(struct json *j)
{
    json_put_string(j, "openapi", "3.0.3");
    json_open_object(j, "info");
    json_put_string(j, "title", "evlb, the control API");
    json_put_string(j, "version", EVLB_VERSION);
    json_close_object(j);
    json_open_array(j, "servers");
    json_open_object(j, NULL);
    json_put_string(j, "url", REST_PATH);
    json_close_object(j);
    json_close_array(j);
    json_open_array(j, "security");
    json_open_object(j, NULL);
    json_open_array(j, "token");
    json_close_array(j);
    json_close_object(j);
    json_close_array(j);
}

static void
write_components__(struct json *j, struct types *types)
{
    json_open_object(j, "components");
    json_open_object(j, "securitySchemes");
    json_open_object(j, "token");
    json_put_string(j, "type", "http");
    json_put_string(j, "scheme", "bearer");
    json_close_object(j);
    json_close_object(j);
    json_open_object(j, "schemas");
    write_error_schema__(j);
    for (size_t i = 0; i < types->n; i++) { /* Which may become more. */
        write_schema__(j, types, types->types[i]);
    }
    json_close_object(j);
    json_close_object(j);
}

/* Returns the description, '*size' bytes, which the caller must free. */
char *
rest_describe(size_t *size)
{
    const ProtobufCServiceDescriptor *d =
        &loadbalancer__load_balancer__descriptor;
    struct types types = { NULL, 0, 0 };
    struct json j;
    char *text;
    FILE *stream = open_memstream(&text, size);

    if (!stream) {
        abort();
    }
    json_init(&j, stream);
    json_open_object(&j, NULL);
    write_info__(&j);
    json_open_object(&j, "paths");
    for (unsigned int i = 0; i < d->n_methods; i++) {
        write_path__(&j, &types, &d->methods[i]);
    }
    json_close_object(&j);
    write_components__(&j, &types);
    json_close_object(&j);
    fclose(stream);
    free((void *) types.types);
    return text;
}
