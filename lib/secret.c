/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "controller/core/mem.h"

#define NONCE_LEN 12
#define TAG_LEN 16

static void
fill__(void *p, size_t n)
{
    if (getrandom(p, n, 0) != (ssize_t) n) {
        abort();
    }
}

/* Keys. */

/* Makes a new 'key'. */
void
secret_key_create(struct secret_key *key)
{
    fill__(key->bytes, sizeof key->bytes);
}

/* Reads 'key' from 'fd', which is 'file'. */
static char *
read__(int fd, const char *file, struct secret_key *key)
{
    struct stat st;

    if (fstat(fd, &st)) {
        return mem_printf("%s: %s", file, strerror(errno));
    }
    if (!S_ISREG(st.st_mode) || (st.st_mode & (S_IRWXG | S_IRWXO))
        || (st.st_uid && st.st_uid != geteuid())) {
        return mem_printf("%s: is not a file that only its owner, root or the "
                          "one that evlbd runs as, may read (chmod 600)",
                          file);
    }
    return (read(fd, key->bytes, sizeof key->bytes) == sizeof key->bytes
                ? NULL
                : mem_printf("%s: is not a key of %d bytes", file,
                             SECRET_KEY_LEN));
}

/* Makes a new 'key' in 'fd', which is 'file' and new. */
static char *
write__(int fd, const char *file, struct secret_key *key)
{
    char *error;

    secret_key_create(key);
    if (write(fd, key->bytes, sizeof key->bytes) == sizeof key->bytes
        && !fsync(fd)) {
        return NULL;
    }
    error = mem_printf("%s: %s", file, strerror(errno));
    unlink(file);
    return error;
}

/* Stores in 'key' the one in 'file', which is made if it is not there.  Returns
 * NULL, or an error, which the caller must free. */
char *
secret_key_load(const char *file, struct secret_key *key)
{
    int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool is_new = fd >= 0;
    char *error;

    if (!is_new && errno == EEXIST) {
        fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    }
    if (fd < 0) {
        return mem_printf("%s: %s", file, strerror(errno));
    }
    error = is_new ? write__(fd, file, key) : read__(fd, file, key);
    close(fd);
    return error;
}

/* Sealing. */

static char *
to_hex__(const uint8_t *bytes, size_t n)
{
    char *hex = mem_alloc(2 * n + 1);

    for (size_t i = 0; i < n; i++) {
        snprintf(&hex[2 * i], 3, "%02x", bytes[i]);
    }
    hex[2 * n] = '\0';
    return hex;
}

/* Returns the '*n' bytes that 'hex' says, or NULL if it says none. */
static uint8_t *
from_hex__(const char *hex, size_t *n)
{
    size_t length = strlen(hex);
    uint8_t *bytes;

    if (length % 2 || strspn(hex, "0123456789abcdef") != length) {
        return NULL;
    }
    *n = length / 2;
    bytes = mem_alloc(*n);
    for (size_t i = 0; i < *n; i++) {
        char digits[3] = { hex[2 * i], hex[2 * i + 1], '\0' };

        bytes[i] = (uint8_t) strtoul(digits, NULL, 16);
    }
    return bytes;
}

/* Returns a context that encrypts or decrypts by 'key' and 'nonce' what
 * 'about' is about. */
static EVP_CIPHER_CTX *
begin__(const struct secret_key *key, const uint8_t *nonce, const char *about,
        int encrypts)
{
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    int n;

    if (!ctx
        || EVP_CipherInit_ex(ctx, EVP_aes_256_gcm(), NULL, key->bytes, nonce,
                             encrypts)
               != 1
        || EVP_CipherUpdate(ctx, NULL, &n, (const uint8_t *) about,
                            (int) strlen(about))
               != 1) {
        abort(); /* Only for want of memory. */
    }
    return ctx;
}

/* Returns 'text', which is for 'about', sealed; the caller must free it. */
char *
secret_seal(const struct secret_key *key, const char *about, const char *text)
{
    size_t n = strlen(text);
    size_t size = NONCE_LEN + n + TAG_LEN;
    uint8_t *bytes = mem_alloc(size);
    EVP_CIPHER_CTX *ctx;
    char *sealed;
    int done;

    fill__(bytes, NONCE_LEN);
    ctx = begin__(key, bytes, about, 1);
    if (EVP_CipherUpdate(ctx, bytes + NONCE_LEN, &done, (const uint8_t *) text,
                         (int) n)
            != 1
        || EVP_CipherFinal_ex(ctx, bytes + NONCE_LEN + n, &done) != 1
        || EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, TAG_LEN,
                               bytes + NONCE_LEN + n)
               != 1) {
        abort();
    }
    EVP_CIPHER_CTX_free(ctx);
    sealed = to_hex__(bytes, size);
    free(bytes);
    return sealed;
}

/* Returns the text in 'sealed', which the caller must free; or NULL if it was
 * not sealed with 'key' for 'about'. */
char *
secret_open(const struct secret_key *key, const char *about,
            const char *sealed)
{
    size_t size = 0;
    uint8_t *bytes = from_hex__(sealed, &size);
    EVP_CIPHER_CTX *ctx;
    char *text;
    int n, done;

    if (!bytes || size < NONCE_LEN + TAG_LEN) {
        free(bytes);
        return NULL;
    }
    n = (int) (size - NONCE_LEN - TAG_LEN);
    text = mem_zalloc((size_t) n + 1);
    ctx = begin__(key, bytes, about, 0);
    if (EVP_CipherUpdate(ctx, (uint8_t *) text, &done, bytes + NONCE_LEN, n)
            != 1
        || EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, TAG_LEN,
                               bytes + NONCE_LEN + n)
               != 1
        || EVP_CipherFinal_ex(ctx, (uint8_t *) text + n, &done) != 1) {
        OPENSSL_cleanse(text, (size_t) n);
        free(text);
        text = NULL;
    }
    EVP_CIPHER_CTX_free(ctx);
    free(bytes);
    return text;
}
