/* SPDX-License-Identifier: Apache-2.0 */

/* An EJFAT_URI from anyone: what is accepted is read back from its text as it
 * was, and errors are of one line. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ejfat-uri.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
check_round_trip(const struct ejfat_uri *uri)
{
    char *text = ejfat_uri_to_string(uri);
    struct ejfat_uri back;
    char *again;

    /* With all characters encoded it may be longer than is accepted. */
    if (strlen(text) <= EJFAT_URI_MAX) {
        if (ejfat_uri_parse(text, &back)) {
            abort();
        }
        again = ejfat_uri_to_string(&back);
        if (strcmp(text, again) != 0) {
            abort();
        }
        free(again);
    }
    free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *s = strndup((const char *) data, size);
    struct ejfat_uri uri;
    char *error = ejfat_uri_parse(s, &uri);

    if (error && strchr(error, '\n')) {
        abort();
    }
    if (!error) {
        check_round_trip(&uri);
    }
    free(error);
    free(s);
    return 0;
}
