/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/store/neighbour-record.h"

#include <inttypes.h>
#include <stdlib.h>

#include "controller/core/instance.h"
#include "controller/core/mem.h"
#include "controller/store/record-text.h"

/* Returns the key of the record of 'k', which the caller must free. */
char *
neighbour_record_key(const struct neighbour_key *k)
{
    char ip[ADDR_STRLEN];

    addr_to_string(&k->ip, ip);
    return mem_printf(NEIGHBOUR_RECORD_PREFIX "%016" PRIx64 "/%" PRIu8 "/%s",
                      k->datapath_id, k->iface, ip);
}

/* Returns the value of the record of 'n', which is known; the caller must free
 * it. */
char *
neighbour_record_format(const struct neighbour *n)
{
    char ip[ADDR_STRLEN], mac[MAC_STRLEN];

    addr_to_string(&n->key.ip, ip);
    mac_to_string(&n->mac, mac);
    return mem_printf("datapath %" PRIu64 "\ninterface %" PRIu8 "\nip %s\n"
                      "mac %s\nport %" PRIu32 "\n",
                      n->key.datapath_id, n->key.iface, ip, mac, n->port);
}

/* Puts into 'n' what the record of 'key' and 'value' says, as
 * neighbours_restore() does.  Returns NULL, or an error, which the caller must
 * free. */
char *
neighbour_record_parse(struct neighbours *n, int64_t now, const char *key,
                       const char *value)
{
    struct neighbour_key k = { .datapath_id = 0 };
    struct record_reader r;
    struct mac mac = { { 0 } };
    uint32_t port;
    const char *word;
    char *error;

    record_reader_init(&r, key, value);
    record_reader_field(&r, "datapath");
    k.datapath_id = record_reader_uint(&r, UINT64_MAX);
    record_reader_field(&r, "interface");
    k.iface = (uint8_t) record_reader_uint(&r, INTERFACE_ID_MAX);
    record_reader_field(&r, "ip");
    record_reader_addr(&r, &k.ip);
    record_reader_field(&r, "mac");
    word = record_reader_word(&r);
    if (word && !mac_from_string(word, &mac)) {
        record_reader_fail(&r, "\"%s\" is no MAC address", word);
    }
    record_reader_field(&r, "port");
    port = (uint32_t) record_reader_uint(&r, UINT32_MAX);
    error = record_reader_finish(&r);
    if (!error) {
        neighbours_restore(n, &k, &mac, port, now);
    }
    return error;
}
