/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/tls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/util.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509err.h>

#include "controller/core/mem.h"

/* Room for a message of the library. */
#define MESSAGE_MAX 256

/* Frees what 'files' holds, but not 'files' itself. */
void
tls_files_destroy(struct tls_files *files)
{
    free(files->certificate);
    free(files->private_key);
    free(files->ca);
}

/* Returns the library's newest error about 'file', which the caller must
 * free. */
static char *
file_error__(const char *file)
{
    unsigned long code = ERR_peek_last_error();
    const char *reason = code ? ERR_reason_error_string(code) : NULL;

    ERR_clear_error();
    if (access(file, R_OK)) {
        reason = strerror(errno);
    } else if (ERR_GET_LIB(code) == ERR_LIB_X509
               && ERR_GET_REASON(code) == X509_R_KEY_VALUES_MISMATCH) {
        reason = "is not the key of the certificate";
    }
    return mem_printf("%s: %s", file, reason ? reason : "cannot be used");
}

/* Loads 'files' into 'ctx'.  Returns NULL, or an error about the setting that is
 * stored in '*setting'. */
static char *
load__(SSL_CTX *ctx, const struct tls_files *files, const char **setting)
{
    *setting = "certificate";
    if (SSL_CTX_use_certificate_chain_file(ctx, files->certificate) != 1) {
        return file_error__(files->certificate);
    }
    *setting = "private_key";
    if (SSL_CTX_use_PrivateKey_file(ctx, files->private_key, SSL_FILETYPE_PEM)
        != 1) {
        return file_error__(files->private_key);
    }
    *setting = "ca";
    if (files->ca
        && SSL_CTX_load_verify_locations(ctx, files->ca, NULL) != 1) {
        return file_error__(files->ca);
    }
    return NULL;
}

/* Stores in '*ctxp' what connections by 'files' need.  Returns NULL if
 * successful, or an error, which the caller must free, about the setting that
 * is stored in '*setting'. */
char *
tls_context_create(const struct tls_files *files, SSL_CTX **ctxp,
                   const char **setting)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    char *error;

    if (!ctx) {
        abort();
    }
    SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION);
    if (files->ca) {
        SSL_CTX_set_verify(
            ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    }
    error = load__(ctx, files, setting);
    if (error) {
        SSL_CTX_free(ctx);
        ctx = NULL;
    }
    *ctxp = ctx;
    return error;
}

/* Destroys 'ctx', which may be NULL.  Connections go on with it. */
void
tls_context_destroy(SSL_CTX *ctx)
{
    SSL_CTX_free(ctx);
}

/* Returns a bufferevent that talks TLS, as the server, over the connected
 * socket 'fd', which becomes its own. */
struct bufferevent *
tls_accept(struct event_base *base, SSL_CTX *ctx, int fd)
{
    SSL *ssl = SSL_new(ctx);
    struct bufferevent *bev;

    if (!ssl) {
        abort();
    }
    bev = bufferevent_openssl_socket_new(
        base, fd, ssl, BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE);
    /* A peer that just closes the connection is a peer that has gone. */
    bufferevent_openssl_set_allow_dirty_shutdown(bev, 1);
    return bev;
}

/* Returns what the certificate of 'bev''s peer says who it is, which the caller
 * must free. */
char *
tls_get_peer(struct bufferevent *bev)
{
    SSL *ssl = bufferevent_openssl_get_ssl(bev);
    X509 *certificate = SSL_get1_peer_certificate(ssl);
    char name[MESSAGE_MAX];

    if (!certificate) {
        return mem_strdup("no certificate");
    }
    X509_NAME_oneline(X509_get_subject_name(certificate), name, sizeof name);
    X509_free(certificate);
    return mem_strdup(name);
}

/* Returns why 'bev' has failed, which the caller must free. */
char *
tls_get_error(struct bufferevent *bev)
{
    unsigned long code = bufferevent_get_openssl_error(bev);
    SSL *ssl = bufferevent_openssl_get_ssl(bev);
    const char *reason = code ? ERR_reason_error_string(code) : NULL;
    long verify = ssl ? SSL_get_verify_result(ssl) : X509_V_OK;

    if (verify != X509_V_OK) {
        return mem_printf("TLS: the peer's certificate is not accepted: %s",
                          X509_verify_cert_error_string(verify));
    }
    return (reason ? mem_printf("TLS: %s", reason)
                   : mem_strdup(
                       evutil_socket_error_to_string(EVUTIL_SOCKET_ERROR())));
}

/* Did both ends of 'bev', which is connected, agree to speak HTTP/2? */
bool
tls_is_http2(struct bufferevent *bev)
{
    const unsigned char *protocol;
    unsigned int n;

    SSL_get0_alpn_selected(bufferevent_openssl_get_ssl(bev), &protocol, &n);
    return n == 2 && !memcmp(protocol, "h2", 2);
}
