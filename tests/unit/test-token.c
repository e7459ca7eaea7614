/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/core/token.h"

#include <inttypes.h>
#include <stdio.h>

#include "tests/unit/unit.h"

/* Adds to 'tree' a token below 'parent' whose text is 'text'. */
static char *
try_add(struct token_tree *tree, uint32_t parent, uint64_t text,
        const struct token_permission *permissions, size_t n, uint32_t *id)
{
    char digits[TOKEN_DIGITS + 1];
    struct token token = { .parent = parent,
                           .name = (char *) "a token",
                           .created = 1000,
                           .permissions =
                               (struct token_permission *) permissions,
                           .n_permissions = n };

    snprintf(digits, sizeof digits, "%032" PRIx64, text);
    assert_true(token_digest(digits, token.digest));
    return token_tree_add(tree, &token, id);
}

/* As try_add(), one that can be added and holds nothing. */
static uint32_t
add(struct token_tree *tree, uint32_t parent, uint64_t text)
{
    uint32_t id;

    unit_assert_error(try_add(tree, parent, text, NULL, 0, &id), NULL);
    return id;
}

static uint32_t
add_with(struct token_tree *tree, uint32_t parent, uint64_t text,
         const struct token_permission *permissions, size_t n)
{
    uint32_t id;

    unit_assert_error(try_add(tree, parent, text, permissions, n, &id), NULL);
    return id;
}

/* Returns the token of 'tree' whose text is 'text', or NULL. */
static const struct token *
find(const struct token_tree *tree, uint64_t text)
{
    char digits[TOKEN_DIGITS + 1];
    uint8_t digest[TOKEN_DIGEST_LEN];

    snprintf(digits, sizeof digits, "%032" PRIx64, text);
    assert_true(token_digest(digits, digest));
    return token_tree_find_digest(tree, digest);
}

static void
test_digest(void **state)
{
    /* printf 00112233445566778899aabbccddeeff | sha256sum */
    const uint8_t expected[TOKEN_DIGEST_LEN] = {
        0x59, 0x47, 0xd7, 0xc3, 0x3d, 0x78, 0x3f, 0x94, 0xb3, 0xb4, 0xc1,
        0xa9, 0x6e, 0xbc, 0x89, 0x91, 0xed, 0x28, 0xf1, 0xb0, 0x69, 0xb7,
        0x1e, 0x03, 0x37, 0x6c, 0xba, 0x8c, 0xaa, 0x98, 0xa7, 0x20
    };
    uint8_t digest[TOKEN_DIGEST_LEN];

    (void) state;
    assert_true(token_digest("00112233445566778899aabbccddeeff", digest));
    assert_memory_equal(digest, expected, sizeof digest);
    assert_true(token_digest("00112233445566778899AABBccDDeeFF", digest));
    assert_memory_equal(digest, expected, sizeof digest);
}

static void
test_malformed(void **state)
{
    const char *const texts[] = {
        "",
        "0",
        "evlb-local",
        "00112233445566778899aabbccddeef",
        "00112233445566778899aabbccddeefff",
        "00112233445566778899aabbccddeef ",
        " 0112233445566778899aabbccddeeff",
        "00112233445566778899aabbccddeefg",
        "00112233445566778899aabbccddeef@",
        "0011223344556677-899aabbccddeeff",
        "00112233445566778899aabbccddee\xc3\xa9",
    };
    uint8_t digest[TOKEN_DIGEST_LEN];

    (void) state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_false(token_digest(texts[i], digest));
    }
}

static void
test_same_text(void **state)
{
    (void) state;
    assert_true(token_same_text("evlb-local", "evlb-local"));
    assert_true(token_same_text("", ""));
    assert_false(token_same_text("evlb-local", "evlb-locaL"));
    assert_false(token_same_text("evlb-local", "evlb-loca"));
    assert_false(token_same_text("", "e"));
}

static void
test_root(void **state)
{
    struct token_tree *tree = token_tree_create();
    const struct token *root = token_tree_find(tree, TOKEN_ROOT);
    const struct token_scope session = { 3, 7, 12 };
    const uint8_t zeros[TOKEN_DIGEST_LEN] = { 0 };
    uint32_t *gone;

    (void) state;
    assert_int_equal(tree->n, 1);
    assert_ptr_equal(token_tree_get(tree, 0), root);
    assert_int_equal(root->id, TOKEN_ROOT);
    assert_int_equal(root->parent, 0);
    assert_string_equal(root->name, "root");
    assert_true(token_allows(root, TOKEN_UPDATE, &TOKEN_SCOPE_ALL));
    assert_true(token_allows(root, TOKEN_REGISTER, &session));

    /* No digest finds it, and nothing ends it. */
    assert_null(token_tree_find_digest(tree, zeros));
    assert_int_equal(token_tree_revoke(tree, TOKEN_ROOT, &gone), 0);
    assert_null(gone);
    assert_int_equal(token_tree_end(tree, TOKEN_ALL, (uint64_t[]){ 0 }, 1), 0);
    assert_ptr_equal(token_tree_find(tree, TOKEN_ROOT), root);
    assert_int_equal(root->n_permissions, 1);
    token_tree_destroy(tree);
    token_tree_destroy(NULL);
}

static void
test_add(void **state)
{
    const struct token_permission held[] = {
        { TOKEN_LOAD_BALANCER, 3, TOKEN_RESERVE },
        { TOKEN_RESERVATION, 7, TOKEN_UPDATE }
    };
    struct token_tree *tree = token_tree_create();
    uint32_t id = add_with(tree, TOKEN_ROOT, 77, held, 2);
    const struct token *token = find(tree, 77);

    (void) state;
    assert_int_equal(id, 2);
    assert_non_null(token);
    assert_ptr_equal(token_tree_find(tree, 2), token);
    assert_ptr_equal(token_tree_get(tree, 1), token);
    assert_int_equal(token->parent, TOKEN_ROOT);
    assert_string_equal(token->name, "a token");
    assert_int_equal(token->created, 1000);
    assert_int_equal(token->n_permissions, 2);
    assert_int_equal(token->permissions[1].id, 7);
    assert_null(find(tree, 78));
    assert_null(token_tree_find(tree, 3));
    assert_null(token_tree_find(tree, 0));
    token_tree_destroy(tree);
}

/* What was stored comes back with its ids, and they are not used again. */
static void
test_restore(void **state)
{
    struct token_tree *tree = token_tree_create();
    struct token token = { .id = 40, .parent = 1, .name = (char *) "" };
    uint32_t id;

    (void) state;
    unit_assert_error(token_tree_add(tree, &token, &id), NULL);
    assert_int_equal(id, 40);
    token.digest[0] = 1;
    unit_assert_error(token_tree_add(tree, &token, &id),
                      "token 40 is not after token 40");
    assert_int_equal(token_tree_remove(tree, 40), 1);
    assert_int_equal(add(tree, TOKEN_ROOT, 5), 41);
    tree->last = 90;
    assert_int_equal(add(tree, 41, 6), 91);
    token_tree_destroy(tree);
}

static void
test_refused(void **state)
{
    struct token_permission many[TOKEN_PERMISSIONS_MAX + 1];
    struct token_permission odd[] = { { TOKEN_ALL, 0, TOKEN_UPDATE },
                                      { TOKEN_ALL, 0, TOKEN_UPDATE } };
    char name[TOKEN_NAME_MAX + 2];
    struct token named = { .parent = TOKEN_ROOT, .name = name };
    struct token_tree *tree = token_tree_create();
    uint32_t id;

    (void) state;
    memset(many, 0, sizeof many);
    memset(name, 'x', sizeof name);
    name[TOKEN_NAME_MAX + 1] = '\0';
    unit_assert_error(token_tree_add(tree, &named, &id),
                      "more than 253 characters");
    name[TOKEN_NAME_MAX] = '\0';
    unit_assert_error(token_tree_add(tree, &named, &id), NULL);

    unit_assert_error(try_add(tree, 9, 1, NULL, 0, &id),
                      "no token 9 to be a parent");
    unit_assert_error(try_add(tree, 0, 1, NULL, 0, &id),
                      "no token 0 to be a parent");
    unit_assert_error(
        try_add(tree, 1, 1, many, TOKEN_PERMISSIONS_MAX + 1, &id),
        "65 permissions");
    odd[1].resource = (enum token_resource) 4;
    unit_assert_error(try_add(tree, 1, 1, odd, 2, &id), "permission 1 of");
    odd[1].resource = TOKEN_ALL;
    odd[1].right = (enum token_right) - 1;
    unit_assert_error(try_add(tree, 1, 1, odd, 2, &id), "permission 1 of");

    unit_assert_error(try_add(tree, 1, 1, many, TOKEN_PERMISSIONS_MAX, &id),
                      NULL);
    unit_assert_error(try_add(tree, 1, 1, NULL, 0, &id), "that text already");
    tree->max = 4;
    unit_assert_error(try_add(tree, 1, 2, NULL, 0, &id), NULL);
    unit_assert_error(try_add(tree, 1, 3, NULL, 0, &id),
                      "there are 4 tokens, and no more may be");
    tree->max = 5;
    tree->last = UINT32_MAX;
    unit_assert_error(try_add(tree, 1, 3, NULL, 0, &id),
                      "all ids of tokens were given");
    assert_int_equal(tree->n, 4);
    token_tree_destroy(tree);
}

/* 1 - 2 - 4 - 6
 *   \   \ 5
 *    3 */
static void
test_cascade(void **state)
{
    struct token_tree *tree = token_tree_create();
    struct token_tree *before;
    uint32_t *gone;
    const struct token **children;
    size_t n;

    (void) state;
    assert_int_equal(add(tree, 1, 2), 2);
    assert_int_equal(add(tree, 1, 3), 3);
    assert_int_equal(add(tree, 2, 4), 4);
    assert_int_equal(add(tree, 2, 5), 5);
    assert_int_equal(add(tree, 4, 6), 6);

    assert_true(token_tree_is_ancestor(tree, 1, 6));
    assert_true(token_tree_is_ancestor(tree, 2, 6));
    assert_true(token_tree_is_ancestor(tree, 4, 6));
    assert_false(token_tree_is_ancestor(tree, 3, 6));
    assert_false(token_tree_is_ancestor(tree, 5, 6));
    assert_false(token_tree_is_ancestor(tree, 6, 6));
    assert_false(token_tree_is_ancestor(tree, 6, 4));
    assert_false(token_tree_is_ancestor(tree, 0, 6));
    assert_false(token_tree_is_ancestor(tree, 1, 99));
    assert_false(token_tree_is_ancestor(tree, 1, 1));

    children = token_tree_children(tree, 2, &n);
    assert_int_equal(n, 2);
    assert_int_equal(children[0]->id, 4);
    assert_int_equal(children[1]->id, 5);
    free(children);
    children = token_tree_children(tree, 6, &n);
    assert_int_equal(n, 0);
    free(children);

    before = token_tree_clone(tree);
    assert_int_equal(token_tree_revoke(tree, 99, &gone), 0);
    assert_int_equal(token_tree_revoke(tree, 2, &gone), 4);
    assert_memory_equal(gone, ((uint32_t[]){ 2, 4, 5, 6 }), 4 * sizeof *gone);
    free(gone);
    assert_int_equal(tree->n, 2);
    assert_null(find(tree, 6));
    assert_non_null(find(tree, 3));
    assert_int_equal(token_tree_remove(tree, 2), 0);

    /* The version before is as it was. */
    assert_int_equal(before->n, 6);
    for (uint64_t i = 2; i <= 6; i++) {
        assert_int_equal(find(before, i)->id, i);
    }
    assert_ptr_equal(find(before, 3), find(tree, 3));
    token_tree_destroy(before);
    assert_int_equal(find(tree, 3)->id, 3);
    token_tree_destroy(tree);
}

/* What is held on a thing ends with it; what is held beside stays. */
static void
test_end(void **state)
{
    const struct token_permission seven[] = {
        { TOKEN_RESERVATION, 7, TOKEN_UPDATE },
        { TOKEN_RESERVATION, 7, TOKEN_READ_ONLY }
    };
    const struct token_permission both[] = {
        { TOKEN_RESERVATION, 7, TOKEN_UPDATE },
        { TOKEN_LOAD_BALANCER, 7, TOKEN_RESERVE },
        { TOKEN_RESERVATION, 8, TOKEN_UPDATE }
    };
    const struct token_permission session[] = { { TOKEN_SESSION, 7,
                                                  TOKEN_UPDATE } };
    const uint64_t ended[] = { 2, 7, 100 };
    const struct token_scope scope7 = { 7, 7, 0 };
    struct token_tree *tree = token_tree_create();
    struct token_tree *before;

    (void) state;
    add_with(tree, 1, 2, seven, 2);
    add_with(tree, 1, 3, both, 3);
    add_with(tree, 2, 4, session, 1);
    add_with(tree, 3, 5, session, 1);
    add(tree, 1, 6);
    before = token_tree_clone(tree);

    assert_int_equal(token_tree_end(tree, TOKEN_RESERVATION, ended, 3), 2);
    assert_null(find(tree, 2));
    assert_null(find(tree, 4)); /* It was below that. */
    assert_int_equal(find(tree, 3)->n_permissions, 2);
    assert_int_equal(find(tree, 3)->permissions[0].resource,
                     TOKEN_LOAD_BALANCER);
    assert_int_equal(find(tree, 3)->permissions[1].id, 8);
    assert_false(token_allows(find(tree, 3), TOKEN_UPDATE, &scope7));
    assert_ptr_equal(token_tree_find(tree, 3), find(tree, 3));
    assert_ptr_equal(find(tree, 5), find(before, 5));

    /* One that never held anything is none of those that lost all. */
    assert_ptr_equal(find(tree, 6), find(before, 6));

    assert_int_equal(find(before, 3)->n_permissions, 3);
    assert_int_equal(find(before, 2)->id, 2);
    token_tree_destroy(before);
    assert_int_equal(token_tree_end(tree, TOKEN_SESSION, ended, 3), 1);
    assert_null(find(tree, 5));
    assert_int_equal(tree->n, 3);
    assert_int_equal(token_tree_end(tree, TOKEN_SESSION, NULL, 0), 0);
    token_tree_destroy(tree);
}

static bool
allows(struct token_permission held, enum token_right right,
       struct token_scope scope)
{
    const struct token token = { .permissions = &held, .n_permissions = 1 };

    return token_allows(&token, right, &scope);
}

static void
test_rights(void **state)
{
    /* By held and needed right. */
    const bool expected[4][4] = {
        { true, false, false, false }, /* READ_ONLY */
        { true, true, false, false },  /* REGISTER */
        { true, false, true, false },  /* RESERVE */
        { true, true, true, true }     /* UPDATE */
    };

    (void) state;
    for (unsigned int held = 0; held < 4; held++) {
        for (unsigned int needed = 0; needed < 4; needed++) {
            struct token_permission p = { TOKEN_ALL, 0,
                                          (enum token_right) held };

            assert_int_equal(allows(p, (enum token_right) needed,
                                    (struct token_scope){ 0, 7, 12 }),
                             expected[held][needed]);
        }
    }
}

static void
test_resources(void **state)
{
    const struct token_scope all = TOKEN_SCOPE_ALL;
    const struct token_scope instance = { 0, 0, 0 };
    const struct token_scope reservation = { 0, 7, 0 };
    const struct token_scope session = { 0, 7, 12 };
    const struct token_permission lb0 = { TOKEN_LOAD_BALANCER, 0, 0 };
    const struct token_permission lb1 = { TOKEN_LOAD_BALANCER, 1, 0 };
    const struct token_permission huge = { TOKEN_LOAD_BALANCER, UINT64_MAX,
                                           0 };
    const struct token_permission r7 = { TOKEN_RESERVATION, 7, 0 };
    const struct token_permission r0 = { TOKEN_RESERVATION, 0, 0 };
    const struct token_permission s12 = { TOKEN_SESSION, 12, 0 };
    const struct token_permission s7 = { TOKEN_SESSION, 7, 0 };
    const struct token_permission s0 = { TOKEN_SESSION, 0, 0 };

    (void) state;
    assert_false(allows(lb0, 0, all));
    assert_true(allows(lb0, 0, instance));
    assert_true(allows(lb0, 0, reservation));
    assert_true(allows(lb0, 0, session));
    assert_false(allows(lb1, 0, session));
    assert_false(allows(huge, 0, all));

    assert_false(allows(r7, 0, all));
    assert_false(allows(r7, 0, instance));
    assert_true(allows(r7, 0, reservation));
    assert_true(allows(r7, 0, session));
    assert_false(allows(r0, 0, instance));

    assert_false(allows(s12, 0, reservation));
    assert_true(allows(s12, 0, session));
    assert_false(allows(s7, 0, session));
    assert_false(allows(s0, 0, reservation));
}

/* Rights on one thing and another do not add up. */
static void
test_several(void **state)
{
    struct token_permission held[] = {
        { TOKEN_ALL, 0, TOKEN_READ_ONLY },
        { TOKEN_RESERVATION, 7, TOKEN_REGISTER },
        { TOKEN_RESERVATION, 8, TOKEN_UPDATE }
    };
    const struct token token = { .permissions = held, .n_permissions = 3 };
    const struct token_scope seven = { 0, 7, 0 };
    const struct token_scope eight = { 1, 8, 0 };
    const struct token_scope nine = { 1, 9, 0 };

    (void) state;
    assert_true(token_allows(&token, TOKEN_REGISTER, &seven));
    assert_false(token_allows(&token, TOKEN_UPDATE, &seven));
    assert_true(token_allows(&token, TOKEN_UPDATE, &eight));
    assert_true(token_allows(&token, TOKEN_READ_ONLY, &nine));
    assert_false(token_allows(&token, TOKEN_REGISTER, &nine));
}

static void
test_may_grant(void **state)
{
    struct token_permission held = { TOKEN_LOAD_BALANCER, 2, TOKEN_RESERVE };
    const struct token token = { .permissions = &held, .n_permissions = 1 };
    const struct token_permission wanted[] = {
        { TOKEN_LOAD_BALANCER, 2, TOKEN_RESERVE },
        { TOKEN_RESERVATION, 7, TOKEN_READ_ONLY },
        { TOKEN_SESSION, 12, TOKEN_RESERVE },
        { TOKEN_RESERVATION, 7, TOKEN_UPDATE }
    };
    const struct token_permission all[] = { { TOKEN_ALL, 0,
                                              TOKEN_READ_ONLY } };
    const struct token_scope scopes[] = {
        { 2, 0, 0 }, { 2, 7, 0 }, { 2, 7, 12 }, { 2, 7, 0 }
    };
    const struct token_scope elsewhere = { 3, 7, 0 };
    size_t refused = 99;

    (void) state;
    assert_true(token_may_grant(&token, NULL, NULL, 0, &refused));
    assert_true(token_may_grant(&token, wanted, scopes, 3, &refused));
    assert_int_equal(refused, 99);
    assert_false(token_may_grant(&token, wanted, scopes, 4, &refused));
    assert_int_equal(refused, 3);
    assert_false(token_may_grant(&token, &wanted[1], &elsewhere, 1, &refused));
    assert_int_equal(refused, 0);
    assert_false(token_may_grant(&token, all, &TOKEN_SCOPE_ALL, 1, &refused));

    /* A scope of something smaller, or of something else, gives nothing
     * away. */
    assert_false(token_may_grant(&token, all, scopes, 1, &refused));
    assert_false(token_may_grant(&token, wanted, &scopes[1], 1, &refused));
    assert_false(token_may_grant(&token, &wanted[1], &scopes[2], 1, &refused));
    assert_false(token_may_grant(&token, &wanted[1], &scopes[0], 1, &refused));
}

/* Whatever a token may grant gives a child no right that it lacks. */
static void
test_grant_property(void **state)
{
    uint64_t seed = 31;
    unsigned int n_granted = 0;

    (void) state;
    for (int round = 0; round < 20000; round++) {
        struct token_permission p[2];
        struct token_scope scopes[2];
        struct token parent = { .permissions = &p[0], .n_permissions = 1 };
        struct token child = { .permissions = &p[1], .n_permissions = 1 };
        size_t refused;

        /* Reservation r is in instance r / 2, session s in reservation
         * s / 2. */
        for (int i = 0; i < 2; i++) {
            p[i].resource = (enum token_resource) unit_random_below(&seed, 4);
            p[i].right = (enum token_right) unit_random_below(&seed, 4);
            p[i].id = 2 + unit_random_below(&seed, 8);
            scopes[i] = TOKEN_SCOPE_ALL;
            switch (p[i].resource) {
            case TOKEN_ALL:
                break;
            case TOKEN_LOAD_BALANCER:
                scopes[i].instance = (int) p[i].id;
                break;
            case TOKEN_RESERVATION:
                scopes[i] =
                    (struct token_scope){ (int) p[i].id / 2, p[i].id, 0 };
                break;
            case TOKEN_SESSION:
                scopes[i] = (struct token_scope){ (int) p[i].id / 4,
                                                  p[i].id / 2, p[i].id };
                break;
            }
        }
        if (!token_may_grant(&parent, &p[1], &scopes[1], 1, &refused)) {
            continue;
        }
        n_granted++;
        for (unsigned int right = 0; right < 4; right++) {
            for (uint64_t s = 2; s < 10; s++) {
                struct token_scope scope = { (int) s / 4, s / 2, s };

                assert_true(
                    !token_allows(&child, (enum token_right) right, &scope)
                    || token_allows(&parent, (enum token_right) right,
                                    &scope));
            }
        }
    }
    assert_true(n_granted > 1000);
}

#define N_TEXTS 400

/* What test_random() knows about the tree, by the text of tokens. */
struct model {
    uint32_t id[N_TEXTS]; /* 0 if there is none. */
    uint32_t parent[N_TEXTS];
};

static void
model_check(const struct model *model, const struct token_tree *tree)
{
    size_t n = 1;

    for (uint64_t text = 0; text < N_TEXTS; text++) {
        const struct token *token = find(tree, text);

        if (!model->id[text]) {
            assert_null(token);
            continue;
        }
        n++;
        assert_int_equal(token->id, model->id[text]);
        assert_int_equal(token->parent, model->parent[text]);
        assert_ptr_equal(token_tree_find(tree, token->id), token);
        assert_non_null(token_tree_find(tree, token->parent));
    }
    assert_int_equal(tree->n, n);
    for (size_t i = 1; i < tree->n; i++) {
        assert_true(tree->slots[i - 1].id < tree->slots[i].id);
        assert_int_equal(tree->slots[i].id, tree->slots[i].token->id);
        assert_int_equal(tree->slots[i].parent, tree->slots[i].token->parent);
    }
}

/* Removes from the model what has no parent any more, until nothing does. */
static size_t
model_remove(struct model *model, uint32_t id)
{
    size_t n = 0;

    for (size_t i = 0; i < N_TEXTS; i++) {
        if (model->id[i] && (model->id[i] == id || model->parent[i] == id)) {
            uint32_t child = model->id[i];

            model->id[i] = 0;
            n += 1 + (child == id ? 0 : model_remove(model, child));
        }
    }
    return n;
}

/* Adds and revokes at random, in one version after the other; a version that is
 * kept stays as it was. */
static void
test_random(void **state)
{
    static struct model model, kept_model;
    struct token_tree *tree = token_tree_create();
    struct token_tree *kept = token_tree_clone(tree);
    uint64_t seed = 99;
    size_t n_removed = 0;

    (void) state;
    for (int round = 0; round < 4000; round++) {
        size_t text = unit_random_below(&seed, N_TEXTS);
        struct token_tree *next = token_tree_clone(tree);

        if (!model.id[text]) {
            size_t parent = unit_random_below(&seed, (unsigned int) tree->n);

            model.parent[text] = token_tree_get(tree, parent)->id;
            model.id[text] = add(next, model.parent[text], text);
        } else if (!unit_random_below(&seed, 4)) {
            size_t n = token_tree_remove(next, model.id[text]);

            assert_int_equal(n, model_remove(&model, model.id[text]));
            n_removed += n;
        }
        token_tree_destroy(tree);
        tree = next;
        if (round % 50 == 0) {
            model_check(&model, tree);
            model_check(&kept_model, kept);
            token_tree_destroy(kept);
            kept = token_tree_clone(tree);
            kept_model = model;
        }
    }
    assert_true(n_removed > 500);
    token_tree_destroy(kept);
    token_tree_destroy(tree);
}

/* As many tokens as workers of eight instances have. */
static void
test_many(void **state)
{
    struct token_tree *tree = token_tree_create();
    size_t longest = 0;
    size_t run = 0;

    (void) state;
    for (uint64_t i = 0; i < 5000; i++) {
        add(tree, TOKEN_ROOT, i);
    }
    for (uint64_t i = 0; i < 5000; i++) {
        assert_int_equal(find(tree, i)->id, i + 2);
    }

    /* Nobody has to look through more than a few others. */
    for (size_t i = 0; i <= tree->mask; i++) {
        run = tree->table[i] ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    assert_in_range(longest, 1, 60);
    assert_int_equal(token_tree_remove(tree, 4000), 1);
    assert_int_equal(tree->n, 5000);
    token_tree_destroy(tree);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_digest),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_same_text),
        cmocka_unit_test(test_root),
        cmocka_unit_test(test_add),
        cmocka_unit_test(test_restore),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_cascade),
        cmocka_unit_test(test_end),
        cmocka_unit_test(test_rights),
        cmocka_unit_test(test_resources),
        cmocka_unit_test(test_several),
        cmocka_unit_test(test_may_grant),
        cmocka_unit_test(test_grant_property),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
