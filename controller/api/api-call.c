/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/api/api-call.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Ends 'call' with 'reply'. */
void
api_call_reply(struct api_call *call, const ProtobufCMessage *reply)
{
    call->carrier->reply(call, reply);
}

/* Ends 'call' with 'status', which is not GRPC_OK, and a message. */
void
api_call_fail(struct api_call *call, enum grpc_status status,
              const char *format, ...)
{
    char *message;
    va_list args;

    va_start(args, format);
    if (vasprintf(&message, format, args) < 0) {
        abort();
    }
    va_end(args);
    call->carrier->fail(call, status, message);
    free(message);
}
