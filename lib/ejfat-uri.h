/* SPDX-License-Identifier: Apache-2.0 */

#ifndef LIB_EJFAT_URI_H
#define LIB_EJFAT_URI_H 1

/* EJFAT_URI: where a reservation's control plane, Sync and data addresses are.
 *
 *     ejfat[s]://TOKEN@HOST:PORT/lb/ID?sync=IP:PORT&data=IP:MIN-MAX
 *
 * "ejfats" stands for TLS to the control plane.  IPv6 addresses stand in
 * brackets.  "sync" and "data" may be there once for each address family,
 * "sessionid" once; a client library that is spread widely accepts no other
 * keys.  The last part of the path is the reservation; it is empty where the
 * token is not of one.  "data" without a port means port 19522.  What is not
 * an address may be percent-encoded.
 *
 * A token is a secret: no error below holds any of what stands before the
 * path, and ejfat_uri_to_public_string() leaves the token out. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

/* The environment variable that holds one. */
#define EJFAT_URI_VARIABLE "EJFAT_URI"

#define EJFAT_URI_MAX 2047  /* Bytes in all. */
#define EJFAT_TOKEN_MAX 255 /* Bytes of each part, decoded. */
#define EJFAT_HOST_MAX 253
#define EJFAT_ID_MAX 63

/* Where data goes if the URI does not say. */
#define EJFAT_DATA_PORT 19522

enum ejfat_family {
    EJFAT_IPV4,
    EJFAT_IPV6,
};
#define EJFAT_N_FAMILIES 2

struct ejfat_endpoint {
    struct in6_addr ip; /* See controller/core/addr.h. */
    uint16_t min_port;  /* 0 if there is no such address. */
    uint16_t max_port;  /* 'min_port' where it is one port. */
};

struct ejfat_uri {
    bool tls;
    char token[EJFAT_TOKEN_MAX + 1];   /* "" if there is none. */
    char host[EJFAT_HOST_MAX + 1];     /* Name or address, no brackets. */
    uint16_t port;                     /* Of the control plane. */
    char lb_id[EJFAT_ID_MAX + 1];      /* "" if there is none. */
    char session_id[EJFAT_ID_MAX + 1]; /* "" if there is none. */
    struct ejfat_endpoint sync[EJFAT_N_FAMILIES];
    struct ejfat_endpoint data[EJFAT_N_FAMILIES];
};

/* Parses 's'.  Returns NULL, or an error that names the part that is wrong,
 * which the caller frees; '*uri' holds nothing of use then. */
char *ejfat_uri_parse(const char *s, struct ejfat_uri *uri);

/* Returns NULL if the client library accepts what is printed of 'uri', else
 * an error that names the part, which the caller frees.  It wants ports from
 * 1024 on, and one for the control plane. */
char *ejfat_uri_check(const struct ejfat_uri *uri);

/* Return the text of 'uri', which the caller frees.  IPv4 stands behind IPv6
 * because the client library keeps the last "sync". */
char *ejfat_uri_to_string(const struct ejfat_uri *uri);
char *ejfat_uri_to_public_string(const struct ejfat_uri *uri);

/* Parses 's', "HOST:PORT" with an IPv6 address in brackets, as it stands in a
 * URI and in a request's ":authority".  'host' has EJFAT_HOST_MAX + 1 bytes.
 * Returns false if it is anything else. */
bool ejfat_authority_parse(const char *s, char *host, uint16_t *port);

#endif /* lib/ejfat-uri.h */
