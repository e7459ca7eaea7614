/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/token.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <string.h>

/* Permissions. */

/* Does 'a' imply 'b'? */
static bool
right_implies__(enum token_right a, enum token_right b)
{
    return a == b || a == TOKEN_UPDATE || b == TOKEN_READ_ONLY;
}

static bool
permission_covers__(const struct token_permission *p,
                    const struct token_scope *scope)
{
    switch (p->resource) {
    case TOKEN_ALL:
        return true;
    case TOKEN_LOAD_BALANCER:
        return scope->instance >= 0 && p->id == (uint64_t) scope->instance;
    case TOKEN_RESERVATION:
        return scope->reservation && p->id == scope->reservation;
    case TOKEN_SESSION:
        return scope->session && p->id == scope->session;
    }
    return false;
}

/* Returns true if who has 'token' has the right 'right' on 'scope'. */
bool
token_allows(const struct token *token, enum token_right right,
             const struct token_scope *scope)
{
    for (size_t i = 0; i < token->n_permissions; i++) {
        const struct token_permission *p = &token->permissions[i];

        if (right_implies__(p->right, right)
            && permission_covers__(p, scope)) {
            return true;
        }
    }
    return false;
}

/* Is 'scope' that of the resource that 'p' is about, and of nothing in it? */
static bool
permission_is_of__(const struct token_permission *p,
                   const struct token_scope *scope)
{
    return permission_covers__(p, scope)
           && (scope->session == 0 || p->resource == TOKEN_SESSION)
           && (scope->reservation == 0 || p->resource >= TOKEN_RESERVATION)
           && (scope->instance < 0 || p->resource >= TOKEN_LOAD_BALANCER);
}

/* Returns true if 'token' may have a child with the 'n' 'permissions', the i-th
 * of which is about 'scopes[i]': its resource and what that is in.  Then it
 * holds them all itself.  Otherwise stores in '*refused' the index of the first
 * one that it does not. */
bool
token_may_grant(const struct token *token,
                const struct token_permission *permissions,
                const struct token_scope *scopes, size_t n, size_t *refused)
{
    for (size_t i = 0; i < n; i++) {
        if (!permission_is_of__(&permissions[i], &scopes[i])
            || !token_allows(token, permissions[i].right, &scopes[i])) {
            *refused = i;
            return false;
        }
    }
    return true;
}

/* Texts. */

/* Returns the lower-case hexadecimal digit that 'c' is, or 0. */
static char
hex_digit__(char c)
{
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')) {
        return c;
    }
    return c >= 'A' && c <= 'F' ? (char) (c - 'A' + 'a') : '\0';
}

/* Stores in 'digest' that of 'text'.  Returns false if it is no token: 32
 * hexadecimal digits of either case. */
bool
token_digest(const char *text, uint8_t digest[TOKEN_DIGEST_LEN])
{
    char digits[TOKEN_DIGITS];

    for (size_t i = 0; i < TOKEN_DIGITS; i++) {
        digits[i] = hex_digit__(text[i]);
        if (!digits[i]) {
            return false;
        }
    }
    SHA256((const unsigned char *) digits, sizeof digits, digest);
    return !text[TOKEN_DIGITS];
}

/* Returns true if 'a' and 'b' are the same, in a time that does not tell where
 * they differ. */
bool
token_same_text(const char *a, const char *b)
{
    uint8_t digests[2][SHA256_DIGEST_LENGTH];

    SHA256((const unsigned char *) a, strlen(a), digests[0]);
    SHA256((const unsigned char *) b, strlen(b), digests[1]);
    return !CRYPTO_memcmp(digests[0], digests[1], sizeof digests[0]);
}
