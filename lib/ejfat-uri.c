/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/ejfat-uri.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/core/addr.h"
#include "controller/core/mem.h"

/* The lowest port that the client library accepts. */
#define CLIENT_PORT_MIN 1024

/* Room for the longest address and port of a query, and for its key. */
#define VALUE_MAX 127
#define KEY_MAX 15

static int
hex_value(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *p = c ? strchr(digits, tolower((unsigned char) c)) : NULL;

    return p ? (int) (p - digits) : -1;
}

/* Returns the byte that the two characters at 's' write, or -1. */
static int
hex_byte(const char *s)
{
    int high = hex_value(s[0]);
    int low = hex_value(s[1]);

    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* Copies the 'n' bytes at 's' to 'out', which has room for 'max' and a null,
 * with "%xx" decoded.  Returns false if they are too many or not all visible
 * ASCII characters. */
static bool
decode(const char *s, size_t n, char *out, size_t max)
{
    const char *end = s + n;
    size_t used = 0;

    while (s < end) {
        int c = (unsigned char) *s++;

        if (c == '%') {
            c = end - s < 2 ? -1 : hex_byte(s);
            s += 2;
        }
        if (c <= ' ' || c >= 0x7f || used >= max) {
            return false;
        }
        out[used++] = (char) c;
    }
    out[used] = '\0';
    return true;
}

/* Parses a port at the start of 's'.  Returns what stands behind it, or NULL
 * if there is none. */
static const char *
parse_port(const char *s, uint16_t *port)
{
    uint32_t value = 0;

    if (!isdigit((unsigned char) *s)) {
        return NULL;
    }
    for (; isdigit((unsigned char) *s); s++) {
        value = value * 10 + (uint32_t) (*s - '0');
        if (value > UINT16_MAX) {
            return NULL;
        }
    }
    *port = (uint16_t) value;
    return value ? s : NULL;
}

static bool
is_host_name(const char *s)
{
    return isalnum((unsigned char) *s)
           && s[strspn(s, "abcdefghijklmnopqrstuvwxyz"
                          "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_")]
                  == '\0';
}

/* Takes the host, up to a port or the end, from the start of 's'.  Returns
 * what stands behind it, or NULL if it is not a host. */
static const char *
parse_host(const char *s, char *host)
{
    bool brackets = *s == '[';
    size_t n = strcspn(s += brackets, brackets ? "]" : ":");
    struct in6_addr ip;

    if (n > EJFAT_HOST_MAX || (brackets && !s[n])) {
        return NULL;
    }
    memcpy(host, s, n);
    host[n] = '\0';
    if (brackets ? !strchr(host, ':') || !addr_from_string(host, &ip)
                 : !is_host_name(host)) {
        return NULL;
    }
    return s + n + brackets;
}

bool
ejfat_authority_parse(const char *s, char *host, uint16_t *port)
{
    s = parse_host(s, host);
    if (!s || *s++ != ':') {
        return false;
    }
    s = parse_port(s, port);
    return s && !*s;
}

/* Parses the 'n' bytes of "TOKEN@HOST:PORT" at 's'. */
static char *
parse_authority(const char *s, size_t n, struct ejfat_uri *uri)
{
    char host_port[EJFAT_HOST_MAX + sizeof "[]:65535"];
    size_t token_len = n;

    while (token_len && s[token_len - 1] != '@') {
        token_len--;
    }
    if (token_len && !decode(s, token_len - 1, uri->token, EJFAT_TOKEN_MAX)) {
        return mem_printf("EJFAT_URI: the token, before '@', is not of up to "
                          "%d visible characters",
                          EJFAT_TOKEN_MAX);
    }
    if (!decode(s + token_len, n - token_len, host_port, sizeof host_port - 1)
        || !ejfat_authority_parse(host_port, uri->host, &uri->port)) {
        return mem_strdup("EJFAT_URI: the control plane is not HOST:PORT with "
                          "a port from 1 to 65535, an IPv6 address in "
                          "brackets");
    }
    return NULL;
}

/* Parses the path, 'n' bytes at 's', into the reservation. */
static char *
parse_path(const char *s, size_t n, struct ejfat_uri *uri)
{
    size_t start = n;

    if (!n || (n == 3 && !memcmp(s, "/lb", 3))) {
        return NULL;
    }
    while (s[start - 1] != '/') {
        start--;
    }
    if (!decode(s + start, n - start, uri->lb_id, EJFAT_ID_MAX)) {
        return mem_printf("EJFAT_URI: the reservation, the last part of the "
                          "path, is not of up to %d visible characters",
                          EJFAT_ID_MAX);
    }
    return NULL;
}

/* Parses the ports at 's', "", ":PORT" or, if 'range', ":MIN-MAX". */
static bool
parse_ports(const char *s, bool range, struct ejfat_endpoint *endpoint)
{
    if (!*s && range) {
        endpoint->min_port = endpoint->max_port = EJFAT_DATA_PORT;
        return true;
    }
    s = *s == ':' ? parse_port(s + 1, &endpoint->min_port) : NULL;
    if (!s) {
        return false;
    }
    endpoint->max_port = endpoint->min_port;
    if (range && *s == '-') {
        s = parse_port(s + 1, &endpoint->max_port);
    }
    return s && !*s && endpoint->max_port >= endpoint->min_port;
}

static bool
parse_endpoint(const char *s, bool range, struct ejfat_endpoint *endpoint)
{
    char host[EJFAT_HOST_MAX + 1];

    s = parse_host(s, host);
    return s && addr_from_string(host, &endpoint->ip)
           && parse_ports(s, range, endpoint);
}

/* Puts the value of "sync" or "data" into the element of 'endpoints' for its
 * address family. */
static char *
take_endpoint(const char *key, const char *value,
              struct ejfat_endpoint endpoints[EJFAT_N_FAMILIES])
{
    bool range = !strcmp(key, "data");
    struct ejfat_endpoint new;
    enum ejfat_family family;

    if (!parse_endpoint(value, range, &new)) {
        return mem_printf("EJFAT_URI: %s=%s is not %s with ports from 1 to "
                          "65535, an IPv6 address in brackets",
                          key, value,
                          range ? "IP, IP:PORT or IP:MIN-MAX" : "IP:PORT");
    }
    family = addr_is_ipv4(&new.ip) ? EJFAT_IPV4 : EJFAT_IPV6;
    if (endpoints[family].min_port) {
        return mem_printf("EJFAT_URI: %s= is there twice for %s", key,
                          family == EJFAT_IPV4 ? "IPv4" : "IPv6");
    }
    endpoints[family] = new;
    return NULL;
}

static char *
take_session_id(const char *value, struct ejfat_uri *uri)
{
    if (uri->session_id[0]) {
        return mem_strdup("EJFAT_URI: sessionid= is there twice");
    }
    if (!*value || strlen(value) > EJFAT_ID_MAX) {
        return mem_printf("EJFAT_URI: sessionid= is not of 1 to %d "
                          "characters",
                          EJFAT_ID_MAX);
    }
    memcpy(uri->session_id, value, strlen(value) + 1);
    return NULL;
}

static char *
take_pair(const char *key, const char *value, struct ejfat_uri *uri)
{
    if (!strcmp(key, "sync")) {
        return take_endpoint(key, value, uri->sync);
    } else if (!strcmp(key, "data")) {
        return take_endpoint(key, value, uri->data);
    } else if (!strcmp(key, "sessionid")) {
        return take_session_id(value, uri);
    }
    return mem_printf("EJFAT_URI: '%s=' is not known; sync=, data= and "
                      "sessionid= are",
                      key);
}

/* Parses the 'n' bytes of "KEY=VALUE" at 's'. */
static char *
parse_pair(const char *s, size_t n, struct ejfat_uri *uri)
{
    const char *equals = memchr(s, '=', n);
    size_t key_len = equals ? (size_t) (equals - s) : n;
    char key[KEY_MAX + 1], value[VALUE_MAX + 1];

    if (!equals || !decode(s, key_len, key, KEY_MAX)
        || !decode(equals + 1, n - key_len - 1, value, VALUE_MAX)) {
        return mem_printf("EJFAT_URI: what follows '?' is not KEY=VALUE&... "
                          "with keys and values of up to %d and %d visible "
                          "characters",
                          KEY_MAX, VALUE_MAX);
    }
    return take_pair(key, value, uri);
}

static char *
parse_query(const char *s, struct ejfat_uri *uri)
{
    char *error = NULL;

    while (!error && *s) {
        size_t n = strcspn(s, "&");

        error = parse_pair(s, n, uri);
        s += n + (s[n] == '&');
    }
    return error;
}

static const char *
parse_scheme(const char *s, bool *tls)
{
    *tls = !strncmp(s, "ejfats://", 9);
    if (!*tls && strncmp(s, "ejfat://", 8)) {
        return NULL;
    }
    return s + 8 + *tls;
}

char *
ejfat_uri_parse(const char *s, struct ejfat_uri *uri)
{
    size_t authority, path;
    char *error;

    memset(uri, 0, sizeof *uri);
    if (strlen(s) > EJFAT_URI_MAX) {
        return mem_printf("EJFAT_URI: it is longer than %d bytes",
                          EJFAT_URI_MAX);
    }
    s = parse_scheme(s, &uri->tls);
    if (!s) {
        return mem_strdup("EJFAT_URI: it starts with neither ejfat:// nor "
                          "ejfats://");
    }
    authority = strcspn(s, "/?#");
    error = parse_authority(s, authority, uri);
    s += authority;
    path = strcspn(s, "?#");
    if (!error) {
        error = parse_path(s, path, uri);
    }
    s += path;
    if (!error && *s) {
        error = *s == '?' ? parse_query(s + 1, uri)
                          : mem_strdup("EJFAT_URI: '#' is of no use in it");
    }
    return error;
}

static char *
check_ports(const char *what, const struct ejfat_endpoint *endpoint)
{
    if (!endpoint->min_port || endpoint->min_port >= CLIENT_PORT_MIN) {
        return NULL;
    }
    return mem_printf("EJFAT_URI: %s has port %u; client libraries accept "
                      "ports from %d on",
                      what, (unsigned int) endpoint->min_port,
                      CLIENT_PORT_MIN);
}

char *
ejfat_uri_check(const struct ejfat_uri *uri)
{
    char *error = NULL;

    if (!uri->host[0] || uri->port < CLIENT_PORT_MIN) {
        return mem_printf("EJFAT_URI: the control plane's address is not a "
                          "host with a port from %d on, as client libraries "
                          "need it",
                          CLIENT_PORT_MIN);
    }
    for (int i = 0; i < EJFAT_N_FAMILIES && !error; i++) {
        error = check_ports("sync=", &uri->sync[i]);
        if (!error) {
            error = check_ports("data=", &uri->data[i]);
        }
    }
    return error;
}

/* Writes 's' with all but RFC 3986's unreserved characters encoded. */
static void
print_encoded(FILE *stream, const char *s)
{
    for (; *s; s++) {
        unsigned char c = (unsigned char) *s;

        fprintf(stream, isalnum(c) || strchr("-._~", c) ? "%c" : "%%%02X", c);
    }
}

static void
print_endpoint(FILE *stream, const char *key,
               const struct ejfat_endpoint *endpoint, char *separator)
{
    bool ipv4 = addr_is_ipv4(&endpoint->ip);
    char ip[ADDR_STRLEN];

    if (!endpoint->min_port) {
        return;
    }
    addr_to_string(&endpoint->ip, ip);
    fprintf(stream, ipv4 ? "%c%s=%s:%u" : "%c%s=[%s]:%u", *separator, key, ip,
            (unsigned int) endpoint->min_port);
    if (endpoint->max_port != endpoint->min_port) {
        fprintf(stream, "-%u", (unsigned int) endpoint->max_port);
    }
    *separator = '&';
}

static void
print_query(FILE *stream, const struct ejfat_uri *uri)
{
    char separator = '?';

    if (uri->session_id[0]) {
        fputs("?sessionid=", stream);
        print_encoded(stream, uri->session_id);
        separator = '&';
    }
    for (int i = EJFAT_N_FAMILIES - 1; i >= 0; i--) {
        print_endpoint(stream, "sync", &uri->sync[i], &separator);
    }
    for (int i = EJFAT_N_FAMILIES - 1; i >= 0; i--) {
        print_endpoint(stream, "data", &uri->data[i], &separator);
    }
}

static char *
print(const struct ejfat_uri *uri, const char *token)
{
    size_t size;
    char *text;
    FILE *stream = open_memstream(&text, &size);

    if (!stream) {
        abort();
    }
    fprintf(stream, "ejfat%s://", uri->tls ? "s" : "");
    if (*token) {
        print_encoded(stream, token);
        putc('@', stream);
    }
    fprintf(stream, strchr(uri->host, ':') ? "[%s]:%u" : "%s:%u", uri->host,
            (unsigned int) uri->port);
    fputs("/lb/", stream);
    print_encoded(stream, uri->lb_id);
    print_query(stream, uri);
    fclose(stream);
    return text;
}

char *
ejfat_uri_to_string(const struct ejfat_uri *uri)
{
    return print(uri, uri->token);
}

char *
ejfat_uri_to_public_string(const struct ejfat_uri *uri)
{
    return print(uri, "");
}
