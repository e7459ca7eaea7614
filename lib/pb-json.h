/* SPDX-License-Identifier: Apache-2.0 */

#ifndef LIB_PB_JSON_H
#define LIB_PB_JSON_H 1

/* Writes protobuf-c messages as JSON.
 *
 * Keys are the fields' names as they stand in the .proto.  All fields are
 * written, those with default values too, so that a key is always there.
 *
 * pb_json_write() is for reports: messages that are absent are null, and
 * numbers are numbers, those of 64 bits too.
 *
 * pb_json_write_proto3() is for programs: it goes by the JSON mapping of
 * proto3.  Numbers of 64 bits are strings, times and structs of google.protobuf
 * are what they are in JSON, and messages that are absent are left out. */

#include <protobuf-c/protobuf-c.h>

struct json;

void pb_json_write(struct json *, const char *name, const ProtobufCMessage *);
void pb_json_write_proto3(struct json *, const char *name,
                          const ProtobufCMessage *);

#endif /* lib/pb-json.h */
