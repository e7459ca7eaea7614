/* SPDX-License-Identifier: Apache-2.0 */

/* Records of the book that anybody may have written: the input is a key, a line
 * end, and a value.  What is accepted is written again, and what that says is
 * accepted and written in the same way. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "controller/core/mem.h"
#include "controller/core/token.h"
#include "controller/store/book-record.h"
#include "controller/store/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

/* Reads what 'txn' puts, and returns what is put if that is written again. */
static struct store_txn *
again(const struct store_txn *txn)
{
    struct book *empty = book_create();
    struct book *book = book_create();
    struct store_txn *next = store_txn_create();

    for (size_t i = 0; i < store_txn_count(txn); i++) {
        const char *value;
        const char *key = store_txn_get(txn, i, &value);

        if (book_record_parse(book, 1, key, value)) {
            abort();
        }
    }
    book_record_put_changes(next, empty, book);
    book_destroy(book);
    book_destroy(empty);
    return next;
}

static void
check_same(const struct store_txn *a, const struct store_txn *b)
{
    if (store_txn_count(a) != store_txn_count(b)) {
        abort();
    }
    for (size_t i = 0; i < store_txn_count(a); i++) {
        const char *values[2];

        if (strcmp(store_txn_get(a, i, &values[0]),
                   store_txn_get(b, i, &values[1]))
            || strcmp(values[0], values[1])) {
            abort();
        }
    }
}

static void
check(const char *key, const char *value)
{
    struct book *empty = book_create();
    struct book *book = book_create();
    char *error = book_record_parse(book, 1, key, value);
    struct store_txn *txn = store_txn_create();

    book_record_put_changes(txn, empty, book);
    if (error) {
        if (store_txn_count(txn) || !strstr(error, key)) {
            abort();
        }
    } else {
        struct store_txn *second = again(txn);

        check_same(txn, second);
        store_txn_destroy(second);
        free(book_record_check(book));
    }
    free(error);
    store_txn_destroy(txn);
    book_destroy(book);
    book_destroy(empty);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *key = mem_zalloc(size + 1);
    char *value;

    if (size) {
        memcpy(key, data, size);
    }
    value = strchr(key, '\n');
    if (value) {
        *value++ = '\0';
        check(key, value);
    }
    free(key);
    return 0;
}
