/* SPDX-License-Identifier: Apache-2.0 */

#include "tests/unit/pb-text.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/json.h"
#include "lib/pb-json.h"

/* Returns 'msg' as JSON, which the caller must free. */
char *
unit_write_proto3(const ProtobufCMessage *msg)
{
    struct json j;
    char *text;
    size_t n;
    FILE *stream = open_memstream(&text, &n);

    if (!stream) {
        abort();
    }
    json_init(&j, stream);
    pb_json_write_proto3(&j, NULL, msg);
    fclose(stream);
    return text;
}
