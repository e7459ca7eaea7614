/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_TOKEN_H
#define EVLB_TOKEN_H 1

/* Tokens: who may do what.
 *
 *     root 1 (UPDATE on ALL) <-+- 2 (RESERVE on LOAD_BALANCER 0)
 *                              |    <--- 5 (UPDATE on RESERVATION 7)
 *                              |           <--- 6 (UPDATE on SESSION 12)
 *                              `- 3 (READ_ONLY on ALL)
 *
 * A token is a secret text of 32 hexadecimal digits.  Only its SHA-256 digest
 * is kept, of the digits in lower case.  The root's text, which may be any, is
 * not known here: it is compared by token_same_text() before a token is looked
 * for.
 *
 * Permissions and resources imply others:
 *
 *     UPDATE > RESERVE > READ_ONLY,  UPDATE > REGISTER > READ_ONLY
 *     ALL > LOAD_BALANCER > RESERVATION > SESSION
 *
 * Which reservation is in which instance, and which session in which
 * reservation, the caller says: a struct token_scope names a thing and all that
 * it is in.
 *
 * Every token but the root has a parent, which is older and so has a smaller
 * id.  With a token goes everything below it.  Ids are not used again.
 *
 * Tokens never change and are shared by counting references, so that a tree is
 * copied cheaply, and two versions of a tree differ in exactly those tokens
 * whose pointers do.  Looking for a digest takes the same time in a tree of any
 * size; the place in the table depends on the digest only, which tells nothing
 * about the text, and the comparison takes the same time wherever the digests
 * differ.
 *
 * This has no I/O and no clock, and makes no random numbers. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOKEN_ROOT 1
#define TOKEN_DIGITS 32
#define TOKEN_DIGEST_LEN 32 /* SHA-256. */
#define TOKEN_NAME_MAX 253
#define TOKEN_PERMISSIONS_MAX 64
#define TOKEN_TREE_MAX 100000 /* Tokens of a tree, by default. */

/* Numbers as in the control API. */
enum token_resource {
    TOKEN_ALL = 0,
    TOKEN_LOAD_BALANCER = 1,
    TOKEN_RESERVATION = 2,
    TOKEN_SESSION = 3
};

enum token_right {
    TOKEN_READ_ONLY = 0,
    TOKEN_REGISTER = 1,
    TOKEN_RESERVE = 2,
    TOKEN_UPDATE = 3
};

struct token_permission {
    enum token_resource resource;
    uint64_t id; /* Of an instance, a reservation, or a session; else 0. */
    enum token_right right;
};

/* What somebody wants to do something with. */
struct token_scope {
    int instance;         /* Its number, or -1 for nothing of an instance. */
    uint64_t reservation; /* Or 0 for nothing of a reservation. */
    uint64_t session;     /* Or 0 for nothing of a session. */
};

/* Everything, which only those may that hold ALL. */
#define TOKEN_SCOPE_ALL ((struct token_scope){ .instance = -1 })

struct token {
    unsigned int n_refs;
    uint32_t id;     /* TOKEN_ROOT or greater. */
    uint32_t parent; /* 0 for the root only. */
    char *name;
    int64_t created; /* In ms since 1970. */
    struct token_permission *permissions;
    size_t n_permissions;
    uint8_t digest[TOKEN_DIGEST_LEN]; /* The root's is not used. */
};

/* Where a token is in the tree.  What is looked for in all of them is here, so
 * that the tokens themselves need not be touched. */
struct token_slot {
    uint32_t id;
    uint32_t parent;
    const struct token *token;
};

struct token_tree {
    struct token_slot *slots; /* By ascending id; the root comes first. */
    size_t n;
    size_t allocated;
    const struct token **table; /* By digest, with linear probing. */
    size_t mask;                /* Its size, a power of two, minus one. */
    uint32_t last;              /* The greatest id that was ever given. */
    size_t max;                 /* Tokens that there may be. */
};

struct token_tree *token_tree_create(void);
struct token_tree *token_tree_clone(const struct token_tree *);
void token_tree_destroy(struct token_tree *);

char *token_tree_add(struct token_tree *, const struct token *, uint32_t *id);
size_t token_tree_remove(struct token_tree *, uint32_t id);
size_t token_tree_revoke(struct token_tree *, uint32_t id, uint32_t **gone);
size_t token_tree_end(struct token_tree *, enum token_resource,
                      const uint64_t *ids, size_t n);

const struct token *token_tree_get(const struct token_tree *, size_t index);
const struct token *token_tree_find(const struct token_tree *, uint32_t id);
const struct token *
token_tree_find_digest(const struct token_tree *,
                       const uint8_t digest[TOKEN_DIGEST_LEN]);
const struct token **
token_tree_children(const struct token_tree *, uint32_t id, size_t *n);
bool token_tree_is_ancestor(const struct token_tree *, uint32_t ancestor,
                            uint32_t id);

bool token_allows(const struct token *, enum token_right,
                  const struct token_scope *);
bool token_may_grant(const struct token *, const struct token_permission *,
                     const struct token_scope *, size_t n, size_t *refused);

bool token_digest(const char *text, uint8_t digest[TOKEN_DIGEST_LEN]);
bool token_same_text(const char *, const char *);

#endif /* token.h */
