/* SPDX-License-Identifier: Apache-2.0 */

/* What programs print: JSON of messages, and tables. */

#include "lib/pb-json.h"

#include <stdio.h>

#include "controller/api/admin.pb-c.h"
#include "controller/ctl/table.h"
#include "lib/arena.h"
#include "lib/json.h"
#include "tests/unit/unit.h"

/* Checks that 'write(stream, aux)' writes 'expected'. */
static void
check_output(void (*write)(FILE *, const void *), const void *aux,
             const char *expected)
{
    char *text;
    size_t n;
    FILE *stream = open_memstream(&text, &n);

    write(stream, aux);
    fclose(stream);
    assert_string_equal(text, expected);
    free(text);
}

static void
write_message(FILE *stream, const void *msg)
{
    struct json j;

    json_init(&j, stream);
    pb_json_write(&j, NULL, msg);
}

static void
test_message(void **state)
{
    Evlb__Admin__V1__Epoch epoch = EVLB__ADMIN__V1__EPOCH__INIT;
    Evlb__Admin__V1__EpochMember member = EVLB__ADMIN__V1__EPOCH_MEMBER__INIT;
    Evlb__Admin__V1__EpochMember *members[] = { &member };
    char *prefixes[] = { (char *) "a\"b", (char *) "\n" };

    (void) state;
    epoch.instance = (char *) "x";
    epoch.last = UINT64_MAX;
    epoch.newest = true;
    epoch.n_prefixes = 2;
    epoch.prefixes = prefixes;
    epoch.n_members = 1;
    epoch.members = members;
    member.member = 65534;
    member.share = 0.25;
    check_output(write_message, &epoch,
                 "{\n"
                 "  \"instance\": \"x\",\n"
                 "  \"id\": 0,\n"
                 "  \"first\": 0,\n"
                 "  \"last\": 18446744073709551615,\n"
                 "  \"newest\": true,\n"
                 "  \"slots\": 0,\n"
                 "  \"xor\": 0,\n"
                 "  \"prefixes\": [\n"
                 "    \"a\\\"b\",\n"
                 "    \"\\u000a\"\n"
                 "  ],\n"
                 "  \"members\": [\n"
                 "    {\n"
                 "      \"member\": 65534,\n"
                 "      \"slots\": 0,\n"
                 "      \"share\": 0.250,\n"
                 "      \"weight\": 0,\n"
                 "      \"min_factor\": 0.000,\n"
                 "      \"max_factor\": 0.000\n"
                 "    }\n"
                 "  ],\n"
                 "  \"added\": false\n"
                 "}\n");
}

/* A message that is absent, and lists of numbers. */
static void
test_absent(void **state)
{
    Evlb__Admin__V1__DrainRequest drain = EVLB__ADMIN__V1__DRAIN_REQUEST__INIT;

    (void) state;
    check_output(write_message, &drain,
                 "{\n"
                 "  \"instance\": \"\",\n"
                 "  \"member\": 0,\n"
                 "  \"boundary\": null\n"
                 "}\n");
}

static void
write_member_epochs(FILE *stream, const void *aux)
{
    Evlb__Admin__V1__Member member = EVLB__ADMIN__V1__MEMBER__INIT;
    uint32_t epochs[] = { 7, 4294967295 };
    struct json j;

    (void) aux;
    member.n_epochs = 2;
    member.epochs = epochs;
    json_init(&j, stream);
    pb_json_write(&j, NULL, &member.base);
}

static void
test_numbers(void **state)
{
    char *text;
    size_t n;
    FILE *stream = open_memstream(&text, &n);

    (void) state;
    write_member_epochs(stream, NULL);
    fclose(stream);
    assert_non_null(
        strstr(text, "\"epochs\": [\n    7,\n    4294967295\n  ]"));
    free(text);
}

static void
write_table(FILE *stream, const void *aux)
{
    struct table *t = table_create("NAME >COUNT WHERE");

    (void) aux;
    table_add(t, "a");
    table_add(t, "%d", 5);
    table_add(t, "here");
    table_add(t, "longer");
    table_add(t, "%d", 1234567);
    table_add(t, "%s", "the\033[1mre\n");
    table_print(t, stream);
    table_destroy(t);
}

static void
test_table(void **state)
{
    (void) state;
    check_output(write_table, NULL,
                 "NAME      COUNT  WHERE\n"
                 "a             5  here\n"
                 "longer  1234567  the?[1mre?\n");
}

static void
test_arena(void **state)
{
    struct arena arena;
    void **array = NULL;
    size_t n = 0;
    int elements[100];

    (void) state;
    arena_init(&arena);
    for (int i = 0; i < 100; i++) {
        array = arena_append(&arena, array, &n, &elements[i]);
    }
    assert_int_equal(n, 100);
    for (int i = 0; i < 100; i++) {
        assert_ptr_equal(array[i], &elements[i]);
    }
    assert_string_equal(arena_printf(&arena, "%d%s", 5, "x"), "5x");
    assert_string_equal(arena_strdup(&arena, "copy"), "copy");
    assert_int_equal(*(char *) arena_alloc(&arena, 1), 0);
    arena_destroy(&arena);
    arena_destroy(&arena);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_message), cmocka_unit_test(test_absent),
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_table),
        cmocka_unit_test(test_arena),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
