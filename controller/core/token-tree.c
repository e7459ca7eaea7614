/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/token.h"

#include <inttypes.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "controller/core/mem.h"

#define TABLE_MIN 64

/* Tokens. */

static struct token *
token_clone__(const struct token *token)
{
    struct token *copy = mem_dup(token, sizeof *copy);

    copy->n_refs = 1;
    copy->name = mem_strdup(token->name);
    copy->permissions = mem_dup(
        token->permissions, token->n_permissions * sizeof *copy->permissions);
    return copy;
}

static void
token_unref__(const struct token *token_)
{
    struct token *token = (struct token *) token_;

    if (!--token->n_refs) {
        free(token->name);
        free(token->permissions);
        free(token);
    }
}

/* The table of digests. */

/* Returns where in the table of 'tree' to look for 'digest' first.  Digests are
 * as good as random, so any part of one will do. */
static size_t
table_home__(const struct token_tree *tree, const uint8_t *digest)
{
    uint64_t hash;

    memcpy(&hash, digest, sizeof hash);
    return (size_t) hash & tree->mask;
}

/* Returns where in the table of 'tree' 'digest' is, or the empty place where it
 * would be. */
static size_t
table_seek__(const struct token_tree *tree, const uint8_t *digest)
{
    size_t i = table_home__(tree, digest);

    while (
        tree->table[i]
        && CRYPTO_memcmp(tree->table[i]->digest, digest, TOKEN_DIGEST_LEN)) {
        i = (i + 1) & tree->mask;
    }
    return i;
}

static void
table_insert__(struct token_tree *tree, const struct token *token)
{
    if (token->id != TOKEN_ROOT) {
        tree->table[table_seek__(tree, token->digest)] = token;
    }
}

/* Makes the table of 'tree' anew, of 'size' places. */
static void
table_resize__(struct token_tree *tree, size_t size)
{
    free(tree->table);
    tree->table = mem_zalloc(size * sizeof(const struct token *));
    tree->mask = size - 1;
    for (size_t i = 0; i < tree->n; i++) {
        table_insert__(tree, tree->slots[i].token);
    }
}

/* Takes 'token' out of the table of 'tree', and moves those behind it that may
 * be nearer to where one looks for them first. */
static void
table_remove__(struct token_tree *tree, const struct token *token)
{
    size_t hole = table_seek__(tree, token->digest);

    for (size_t i = (hole + 1) & tree->mask; tree->table[i];
         i = (i + 1) & tree->mask) {
        size_t home = table_home__(tree, tree->table[i]->digest);

        if (((i - home) & tree->mask) >= ((i - hole) & tree->mask)) {
            tree->table[hole] = tree->table[i];
            hole = i;
        }
    }
    tree->table[hole] = NULL;
}

/* Trees. */

/* Adds 'token', which 'tree' takes over, behind all others. */
static void
tree_append__(struct token_tree *tree, const struct token *token)
{
    if (tree->n >= tree->allocated) {
        tree->slots =
            mem_grow(tree->slots, &tree->allocated, sizeof *tree->slots);
    }
    tree->slots[tree->n++] = (struct token_slot){ .id = token->id,
                                                  .parent = token->parent,
                                                  .token = token };
    if (tree->n * 2 > tree->mask) {
        table_resize__(tree, (tree->mask + 1) * 2);
    } else {
        table_insert__(tree, token);
    }
    tree->last = token->id;
}

/* Returns a tree of the root alone, which may have TOKEN_TREE_MAX tokens. */
struct token_tree *
token_tree_create(void)
{
    struct token_permission all = { TOKEN_ALL, 0, TOKEN_UPDATE };
    struct token root = { .id = TOKEN_ROOT,
                          .name = (char *) "root",
                          .permissions = &all,
                          .n_permissions = 1 };
    struct token_tree *tree = mem_zalloc(sizeof *tree);

    tree->max = TOKEN_TREE_MAX;
    table_resize__(tree, TABLE_MIN);
    tree_append__(tree, token_clone__(&root));
    return tree;
}

/* Returns a copy of 'tree', which the caller must destroy. */
struct token_tree *
token_tree_clone(const struct token_tree *tree)
{
    struct token_tree *copy = mem_dup(tree, sizeof *copy);

    copy->slots = mem_dup(tree->slots, tree->n * sizeof *copy->slots);
    copy->allocated = tree->n;
    copy->table =
        mem_dup(tree->table, (tree->mask + 1) * sizeof(const struct token *));
    for (size_t i = 0; i < tree->n; i++) {
        ((struct token *) tree->slots[i].token)->n_refs++;
    }
    return copy;
}

/* Destroys 'tree', which may be NULL. */
void
token_tree_destroy(struct token_tree *tree)
{
    if (tree) {
        for (size_t i = 0; i < tree->n; i++) {
            token_unref__(tree->slots[i].token);
        }
        free(tree->slots);
        free(tree->table);
        free(tree);
    }
}

/* Compares ids of tokens; a slot begins with one. */
static int
compare_ids__(const void *a_, const void *b_)
{
    const uint32_t *a = a_;
    const uint32_t *b = b_;

    return (*a > *b) - (*a < *b);
}

static const struct token_slot *
tree_seek__(const struct token_tree *tree, uint32_t id)
{
    return bsearch(&id, tree->slots, tree->n, sizeof *tree->slots,
                   compare_ids__);
}

/* Returns the token at 'index', which is below 'tree->n'. */
const struct token *
token_tree_get(const struct token_tree *tree, size_t index)
{
    return tree->slots[index].token;
}

/* Returns the token 'id', or NULL. */
const struct token *
token_tree_find(const struct token_tree *tree, uint32_t id)
{
    const struct token_slot *slot = tree_seek__(tree, id);

    return slot ? slot->token : NULL;
}

/* Returns the token of 'digest', which is never the root, or NULL. */
const struct token *
token_tree_find_digest(const struct token_tree *tree,
                       const uint8_t digest[TOKEN_DIGEST_LEN])
{
    return tree->table[table_seek__(tree, digest)];
}

/* Returns the tokens whose parent is 'id', by ascending id, and stores their
 * number in '*n'.  The caller must free the array; the tokens are the
 * tree's. */
const struct token **
token_tree_children(const struct token_tree *tree, uint32_t id, size_t *n)
{
    const struct token **children =
        mem_alloc(tree->n * sizeof(const struct token *));

    *n = 0;
    for (size_t i = 0; i < tree->n; i++) {
        if (tree->slots[i].parent == id) {
            children[(*n)++] = tree->slots[i].token;
        }
    }
    return children;
}

/* Returns true if the token 'id' is somewhere below the token 'ancestor'.  No
 * token is its own ancestor. */
bool
token_tree_is_ancestor(const struct token_tree *tree, uint32_t ancestor,
                       uint32_t id)
{
    const struct token *token = token_tree_find(tree, id);

    while (token && token->parent > ancestor) {
        token = token_tree_find(tree, token->parent);
    }
    return token && ancestor && token->parent == ancestor;
}

/* Returns NULL if what 'token' holds can be held, or why not. */
static char *
token_check__(const struct token *token)
{
    if (strlen(token->name) > TOKEN_NAME_MAX) {
        return mem_printf("the name of a token has more than %d characters",
                          TOKEN_NAME_MAX);
    }
    if (token->n_permissions > TOKEN_PERMISSIONS_MAX) {
        return mem_printf("%zu permissions of a token are more than %d",
                          token->n_permissions, TOKEN_PERMISSIONS_MAX);
    }
    for (size_t i = 0; i < token->n_permissions; i++) {
        const struct token_permission *p = &token->permissions[i];

        if ((unsigned int) p->resource > TOKEN_SESSION
            || (unsigned int) p->right > TOKEN_UPDATE) {
            return mem_printf("permission %zu of a token is none that is "
                              "known",
                              i);
        }
    }
    return NULL;
}

/* Returns NULL if a copy of 'token' may be added to 'tree', or why not. */
static char *
tree_check__(const struct token_tree *tree, const struct token *token)
{
    if (tree->n >= tree->max) {
        return mem_printf("there are %zu tokens, and no more may be: revoke "
                          "some that are not needed",
                          tree->n);
    }
    if (tree->last == UINT32_MAX) {
        return mem_strdup("all ids of tokens were given");
    }
    if (token->id && token->id <= tree->last) {
        return mem_printf("token %" PRIu32 " is not after token %" PRIu32,
                          token->id, tree->last);
    }
    if (!token_tree_find(tree, token->parent)) {
        return mem_printf("there is no token %" PRIu32 " to be a parent",
                          token->parent);
    }
    if (token_tree_find_digest(tree, token->digest)) {
        return mem_strdup("there is a token with that text already");
    }
    return token_check__(token);
}

/* Adds a copy of 'token' to 'tree'.  Its id may be 0 for the next one; tokens
 * that were stored are added by ascending id.
 *
 * Returns NULL and stores the id in '*id', or returns why it cannot be added,
 * which the caller must free. */
char *
token_tree_add(struct token_tree *tree, const struct token *token,
               uint32_t *id)
{
    char *error = tree_check__(tree, token);
    struct token *copy;

    if (error) {
        return error;
    }
    copy = token_clone__(token);
    copy->id = token->id ? token->id : tree->last + 1;
    tree_append__(tree, copy);
    *id = copy->id;
    return NULL;
}

/* Removes from 'tree' the tokens that 'going' has marked, by index, and what is
 * below them.  A parent is before its children, so one pass finds all.  Returns
 * how many went, and stores their ids in '*gone', by ascending id; the caller
 * must free it. */
static size_t
tree_sweep__(struct token_tree *tree, const bool *going, uint32_t **gone)
{
    size_t n_gone = 0;
    size_t n = 0;

    *gone = mem_alloc(tree->n * sizeof **gone);
    for (size_t i = 0; i < tree->n; i++) {
        const struct token_slot *slot = &tree->slots[i];

        if (going[i]
            || bsearch(&slot->parent, *gone, n_gone, sizeof **gone,
                       compare_ids__)) {
            (*gone)[n_gone++] = slot->id;
            table_remove__(tree, slot->token);
            token_unref__(slot->token);
        } else {
            tree->slots[n++] = *slot;
        }
    }
    tree->n = n;
    return n_gone;
}

/* Removes the token 'id' and all below it from 'tree'.  The root stays, and so
 * does everything if there is no such token.  Returns how many went, and stores
 * their ids in '*gone', ascending, which the caller must free. */
size_t
token_tree_revoke(struct token_tree *tree, uint32_t id, uint32_t **gone)
{
    const struct token_slot *slot = tree_seek__(tree, id);
    bool *going;
    size_t n;

    *gone = NULL;
    if (!slot || id == TOKEN_ROOT) {
        return 0;
    }
    going = mem_zalloc(tree->n * sizeof *going);
    going[slot - tree->slots] = true;
    n = tree_sweep__(tree, going, gone);
    free(going);
    return n;
}

/* As token_tree_revoke(), for those who do not want to know which went. */
size_t
token_tree_remove(struct token_tree *tree, uint32_t id)
{
    uint32_t *gone;
    size_t n = token_tree_revoke(tree, id, &gone);

    free(gone);
    return n;
}

static int
compare_resource_ids__(const void *a_, const void *b_)
{
    const uint64_t *a = a_;
    const uint64_t *b = b_;

    return (*a > *b) - (*a < *b);
}

/* Is 'p' about a resource of kind 'resource' whose id is among the 'n'
 * 'ids'? */
static bool
permission_is_about__(const struct token_permission *p,
                      enum token_resource resource, const uint64_t *ids,
                      size_t n)
{
    return n && p->resource == resource
           && bsearch(&p->id, ids, n, sizeof *ids, compare_resource_ids__);
}

/* Returns 'token' without what it holds on the given resources: 'token' itself
 * if that is nothing, otherwise another one. */
static const struct token *
token_without__(const struct token *token, enum token_resource resource,
                const uint64_t *ids, size_t n)
{
    struct token *copy = NULL;
    size_t n_left = 0;

    for (size_t i = 0; i < token->n_permissions; i++) {
        const struct token_permission *p = &token->permissions[i];

        if (permission_is_about__(p, resource, ids, n)) {
            copy = copy ? copy : token_clone__(token);
        } else if (copy) {
            copy->permissions[n_left++] = *p;
        } else {
            n_left++;
        }
    }
    if (copy) {
        copy->n_permissions = n_left;
    }
    return copy ? copy : token;
}

/* The 'n' resources of ascending 'ids' are no more: takes from all tokens of
 * 'tree' what they hold on them.  Those that held nothing else go, with all
 * below them.  Returns how many went. */
size_t
token_tree_end(struct token_tree *tree, enum token_resource resource,
               const uint64_t *ids, size_t n)
{
    bool *going = mem_zalloc(tree->n * sizeof *going);
    uint32_t *gone;
    size_t n_gone;

    for (size_t i = 1; i < tree->n; i++) { /* But for the root. */
        struct token_slot *slot = &tree->slots[i];
        const struct token *old = slot->token;

        slot->token = token_without__(old, resource, ids, n);
        if (slot->token != old) {
            tree->table[table_seek__(tree, old->digest)] = slot->token;
            token_unref__(old);
            going[i] = !slot->token->n_permissions;
        }
    }
    n_gone = tree_sweep__(tree, going, &gone);
    free(gone);
    free(going);
    return n_gone;
}
