/* SPDX-License-Identifier: Apache-2.0 */

#ifndef LIB_SECRET_H
#define LIB_SECRET_H 1

/* Texts that are kept, but not in the clear: sealed with a key that is in a file
 * of its own, so that who has one of the two has nothing.
 *
 * A sealed text is hexadecimal digits: a random number, the text encrypted by
 * AES-256 in Galois/counter mode, and what shows that neither was changed, nor
 * 'about', which says what the text is for. */

#include <stdint.h>

#define SECRET_KEY_LEN 32

struct secret_key {
    uint8_t bytes[SECRET_KEY_LEN];
};

void secret_key_create(struct secret_key *);
char *secret_key_load(const char *file, struct secret_key *);

char *
secret_seal(const struct secret_key *, const char *about, const char *text);
char *
secret_open(const struct secret_key *, const char *about, const char *sealed);

#endif /* lib/secret.h */
