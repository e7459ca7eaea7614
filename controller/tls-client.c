/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/tls-client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "controller/core/mem.h"

static const unsigned char alpn[] = { 2, 'h', '2' };

/* Has 'ctx' believe in the authorities of 'ca', or the system's. */
static char *
load_ca__(SSL_CTX *ctx, const char *ca)
{
    const char *reason;

    if (!ca) {
        SSL_CTX_set_default_verify_paths(ctx);
        return NULL;
    }
    if (SSL_CTX_load_verify_locations(ctx, ca, NULL) == 1) {
        return NULL;
    }
    reason = access(ca, R_OK) ? strerror(errno)
                              : ERR_reason_error_string(ERR_peek_last_error());
    ERR_clear_error();
    return mem_printf("%s: %s", ca, reason ? reason : "cannot be used");
}

/* Has 'ssl' insist on a certificate for 'host'. */
static void
expect_host__(SSL *ssl, const char *host)
{
    struct in6_addr address;

    if (inet_pton(AF_INET, host, &address) == 1
        || inet_pton(AF_INET6, host, &address) == 1) {
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host);
    } else {
        SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
        SSL_set1_host(ssl, host);
        SSL_set_tlsext_host_name(ssl, host);
    }
}

/* Talks TLS to 'host' over the connected socket 'fd'.  Returns NULL and stores
 * in '*bevp' what does, which owns 'fd', or returns an error, which the caller
 * must free. */
char *
tls_connect(struct event_base *base, int fd, const char *host, const char *ca,
            bool insecure, struct bufferevent **bevp)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    char *error;
    SSL *ssl;

    *bevp = NULL;
    if (!ctx) {
        abort();
    }
    SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
    SSL_CTX_set_verify(ctx, insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER,
                       NULL);
    SSL_CTX_set_alpn_protos(ctx, alpn, sizeof alpn);
    error = insecure ? NULL : load_ca__(ctx, ca);
    ssl = error ? NULL : SSL_new(ctx);
    SSL_CTX_free(ctx);
    if (error) {
        return error;
    } else if (!ssl) {
        abort();
    }
    expect_host__(ssl, host);
    *bevp = bufferevent_openssl_socket_new(
        base, fd, ssl, BUFFEREVENT_SSL_CONNECTING, BEV_OPT_CLOSE_ON_FREE);
    bufferevent_openssl_set_allow_dirty_shutdown(*bevp, 1);
    return NULL;
}
