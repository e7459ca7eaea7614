/* SPDX-License-Identifier: Apache-2.0 */

#ifndef LIB_PB_JSON_PARSE_H
#define LIB_PB_JSON_PARSE_H 1

/* Reads JSON as protobuf-c messages, by the JSON mapping of proto3.
 *
 * Names are those of the .proto, or the same in lowerCamelCase; one that is
 * none is an error.  Numbers may be strings, null is the same as nothing, and
 * times and structs of google.protobuf are what they are in JSON.  Fields of
 * bytes are not supported.
 *
 * The JSON is Open vSwitch's ("openvswitch/json.h"), whose struct json is
 * another one than that of lib/json.h.  It comes from anybody.  Its size is the caller's to bound; it may not
 * be deeper than PB_JSON_MAX_DEPTH.  Errors say where they are:
 * "slotDemands[3].length: must be ...". */

#include <stdbool.h>

#include <protobuf-c/protobuf-c.h>

#define PB_JSON_MAX_DEPTH 32

struct arena;
struct json;

char *pb_json_parse(const struct json *, const ProtobufCMessageDescriptor *,
                    struct arena *, ProtobufCMessage **);
bool pb_json_is_name(const ProtobufCFieldDescriptor *, const char *name);

#endif /* lib/pb-json-parse.h */
