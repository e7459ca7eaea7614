/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/secret.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "controller/core/mem.h"
#include "tests/unit/unit.h"

#define ABOUT "chain"

static void
check_open(const struct secret_key *key, const char *about, const char *sealed,
           const char *expected)
{
    char *text = secret_open(key, about, sealed);

    if (expected) {
        assert_non_null(text);
        assert_string_equal(text, expected);
    } else {
        assert_null(text);
    }
    free(text);
}

static void
check_round_trip(const struct secret_key *key, const char *text)
{
    char *sealed = secret_seal(key, ABOUT, text);
    char *again = secret_seal(key, ABOUT, text);

    /* Two seals of a text have nothing in common, and do not show it. */
    assert_string_not_equal(sealed, again);
    assert_int_equal(strlen(sealed), 2 * (12 + strlen(text) + 16));
    assert_true(strlen(text) < 8 || !strstr(sealed, text));
    check_open(key, ABOUT, sealed, text);
    check_open(key, ABOUT, again, text);
    free(sealed);
    free(again);
}

static void
test_round_trip(void **state)
{
    struct secret_key key;
    char long_text[4097];

    (void) state;
    secret_key_create(&key);
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    check_round_trip(&key, "");
    check_round_trip(&key, "a");
    check_round_trip(&key, "ejfat://0123456789abcdef@lb.example:19523/lb/7");
    check_round_trip(&key, long_text);
}

/* Nothing opens what another key has sealed, or what is for something else, or
 * what was changed anywhere. */
static void
test_changed(void **state)
{
    struct secret_key key, other;
    char *sealed;
    size_t n;

    (void) state;
    secret_key_create(&key);
    secret_key_create(&other);
    sealed = secret_seal(&key, ABOUT, "secret");
    check_open(&other, ABOUT, sealed, NULL);
    check_open(&key, "chains", sealed, NULL);
    check_open(&key, "", sealed, NULL);

    n = strlen(sealed);
    for (size_t i = 0; i < n; i++) {
        char was = sealed[i];

        sealed[i] = was == '0' ? '1' : '0';
        check_open(&key, ABOUT, sealed, NULL);
        sealed[i] = was;
    }
    check_open(&key, ABOUT, sealed, "secret");
    for (size_t i = 1; i <= n; i++) {
        sealed[n - i] = '\0';
        check_open(&key, ABOUT, sealed, NULL);
    }
    check_open(&key, ABOUT, "not hexadecimal", NULL);
    free(sealed);
}

/* Key files. */

static char *
make_directory(void)
{
    char *directory = mem_strdup("/tmp/test-secret.XXXXXX");

    assert_non_null(mkdtemp(directory));
    return directory;
}

/* A key is made once, for its owner only, and is the same from then on. */
static void
test_file(void **state)
{
    char *directory = make_directory();
    char *file = mem_printf("%s/key", directory);
    struct secret_key key, again;
    struct stat st;

    (void) state;
    unit_assert_error(secret_key_load(file, &key), NULL);
    assert_int_equal(stat(file, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(st.st_size, SECRET_KEY_LEN);
    unit_assert_error(secret_key_load(file, &again), NULL);
    assert_memory_equal(&key, &again, sizeof key);

    assert_int_equal(unlink(file), 0);
    unit_assert_error(secret_key_load(file, &again), NULL);
    assert_memory_not_equal(&key, &again, sizeof key);

    unlink(file);
    assert_int_equal(rmdir(directory), 0);
    free(file);
    free(directory);
}

static void
test_bad_files(void **state)
{
    char *directory = make_directory();
    char *file = mem_printf("%s/key", directory);
    char *missing = mem_printf("%s/none/key", directory);
    struct secret_key key;

    (void) state;
    unit_assert_error(secret_key_load(missing, &key),
                      "/none/key: No such file or directory");
    unit_assert_error(secret_key_load(directory, &key),
                      "is not a file that only its owner");
    unit_assert_error(secret_key_load(file, &key), NULL);
    assert_int_equal(chmod(file, 0640), 0);
    unit_assert_error(secret_key_load(file, &key),
                      "/key: is not a file that only its owner, root or the "
                      "one that evlbd runs as, may read (chmod 600)");
    assert_int_equal(chmod(file, 0600), 0);
    assert_int_equal(truncate(file, SECRET_KEY_LEN - 1), 0);
    unit_assert_error(secret_key_load(file, &key),
                      "/key: is not a key of 32 bytes");
    unlink(file);
    assert_int_equal(rmdir(directory), 0);
    free(missing);
    free(file);
    free(directory);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_changed),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_bad_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
