/* SPDX-License-Identifier: Apache-2.0 */

/* usage: check-stream EPOCHS CAPTURE
 *
 * Reads the packets that the switch sent from CAPTURE, a capture file or a
 * pipe, to its end, and checks for each one that it went to the member that
 * its tick asks for.  Its load-balancer header must have been kept.
 *
 * EPOCHS has a line for each epoch, in ascending order: the first tick, then
 * the members of the 512 slots.  It is read when CAPTURE begins, so that it can
 * be written after the pipe was opened.  Prints counts as JSON, by epoch of the ticks:
 *
 *     packets      all of them
 *     wrong_epoch  at the member of the epoch before or after
 *     neither      at another member
 *     malformed    not rewritten as a whole for any one member
 *
 * and, of the whole, how many packets had ticks of the slowest whole second. */

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>

#define N_SLOTS 512
#define MAX_EPOCHS 4096
#define MAX_SECONDS 4096
#define ETH_LEN 14
#define IP_LEN 20
#define UDP_LEN 8
#define HEADERS_LEN (ETH_LEN + IP_LEN + UDP_LEN + 16)

struct epoch {
    uint64_t first;            /* First tick. */
    uint16_t members[N_SLOTS]; /* Member of each slot. */
    uint64_t packets, wrong_epoch, neither, malformed;
};

static struct epoch *epochs;
static size_t n_epochs;
static uint64_t first_second;
static uint64_t by_second[MAX_SECONDS];

static void
fail(const char *what)
{
    fprintf(stderr, "check-stream: %s\n", what);
    exit(2);
}

static void
read_epochs(const char *name)
{
    FILE *file = fopen(name, "r");
    uint64_t first;

    if (!file) {
        perror(name);
        exit(2);
    }
    epochs = calloc(MAX_EPOCHS, sizeof *epochs);
    if (!epochs) {
        fail("out of memory");
    }
    while (fscanf(file, "%" SCNu64, &first) == 1) {
        struct epoch *e = &epochs[n_epochs];

        if (++n_epochs > MAX_EPOCHS) {
            fail("too many epochs");
        }
        e->first = first;
        for (size_t i = 0; i < N_SLOTS; i++) {
            if (fscanf(file, "%" SCNu16, &e->members[i]) != 1) {
                fail("an epoch has less than 512 slots");
            }
        }
    }
    fclose(file);
    if (!n_epochs) {
        fail("no epochs");
    }
}

/* Returns the index of the epoch that 'tick' belongs to.  Ticks before the
 * first one count as its own. */
static size_t
find_epoch(uint64_t tick)
{
    static size_t last;

    while (last && tick < epochs[last].first) {
        last--;
    }
    while (last + 1 < n_epochs && tick >= epochs[last + 1].first) {
        last++;
    }
    return last;
}

static uint16_t
get_be16(const uint8_t *p)
{
    return (uint16_t) (p[0] << 8 | p[1]);
}

static uint64_t
get_be64(const uint8_t *p)
{
    uint64_t value = 0;

    for (int i = 0; i < 8; i++) {
        value = value << 8 | p[i];
    }
    return value;
}

static bool
ip_checksum_is_right(const uint8_t *ip)
{
    uint32_t sum = 0;

    for (int i = 0; i < IP_LEN; i += 2) {
        sum += get_be16(ip + i);
    }
    return (sum & 0xffff) + (sum >> 16) == 0xffff;
}

/* Returns the member that 'packet' was rewritten for, 0 if its addresses, its
 * port, its TTL or its checksum do not fit together. */
static uint16_t
get_member(const uint8_t *packet)
{
    static const uint8_t mac[4] = { 2, 0, 0, 2 };
    static const uint8_t net[2] = { 10, 2 };
    const uint8_t *ip = packet + ETH_LEN;
    const uint8_t *udp = ip + IP_LEN;
    const uint8_t *lb = udp + UDP_LEN;
    uint16_t member = get_be16(packet + 4);

    return (!memcmp(packet, mac, sizeof mac)
                    && !memcmp(ip + 16, net, sizeof net)
                    && get_be16(ip + 18) == member && ip[8] == 63
                    && ip_checksum_is_right(ip)
                    && get_be16(udp + 2) == 17000 + 16 * member + (lb[7] & 15)
                    && get_be16(lb) == 0x4c42
                ? member
                : 0);
}

/* Returns true if 'member' has slot 'slot' in the epoch at index 'i', which
 * may be none. */
static bool
has_slot(size_t i, size_t slot, uint16_t member)
{
    return i < n_epochs && epochs[i].members[slot] == member;
}

static void
check_packet(const uint8_t *packet)
{
    uint64_t tick = get_be64(packet + HEADERS_LEN - 8);
    uint64_t second = tick / 1000000 - first_second;
    uint16_t member = get_member(packet);
    size_t slot = tick % N_SLOTS;
    size_t i = find_epoch(tick);

    epochs[i].packets++;
    by_second[second < MAX_SECONDS ? second : MAX_SECONDS - 1]++;
    if (has_slot(i, slot, member)) {
        return;
    } else if (!member) {
        epochs[i].malformed++;
    } else if (has_slot(i - 1, slot, member)
               || has_slot(i + 1, slot, member)) {
        epochs[i].wrong_epoch++;
    } else {
        epochs[i].neither++;
    }
}

static void
read_capture(const char *name, const char *epochs_name)
{
    static char buffer[1 << 20];
    struct {
        uint32_t seconds, fraction, captured, size;
    } record;
    static uint8_t packet[65536];
    uint8_t header[24];
    FILE *file = fopen(name, "rb");

    if (!file) {
        perror(name);
        exit(2);
    }
    setvbuf(file, buffer, _IOFBF, sizeof buffer);
    if (fread(header, sizeof header, 1, file) != 1) {
        fail("no capture");
    }
    read_epochs(epochs_name);
    while (fread(&record, sizeof record, 1, file) == 1) {
        if (record.captured > sizeof packet || record.captured < HEADERS_LEN
            || fread(packet, record.captured, 1, file) != 1) {
            fail("the capture is damaged, or a packet too short");
        }
        if (!first_second) {
            first_second = get_be64(packet + HEADERS_LEN - 8) / 1000000;
        }
        check_packet(packet);
    }
    fclose(file);
}

/* Returns the number of packets of the second with the fewest, the first and
 * the last one left out. */
static uint64_t
slowest_second(void)
{
    uint64_t slowest = UINT64_MAX;
    size_t last = MAX_SECONDS - 1;

    while (last && !by_second[last]) {
        last--;
    }
    for (size_t i = 1; i < last; i++) {
        slowest = by_second[i] < slowest ? by_second[i] : slowest;
    }
    return slowest == UINT64_MAX ? 0 : slowest;
}

int
main(int argc, char *argv[])
{
    if (argc != 3) {
        fail("usage: check-stream EPOCHS CAPTURE");
    }
    read_capture(argv[2], argv[1]);

    printf("{\"slowest_second\": %" PRIu64 ", \"epochs\": [",
           slowest_second());
    for (size_t i = 0; i < n_epochs; i++) {
        const struct epoch *e = &epochs[i];

        printf("%s{\"packets\": %" PRIu64 ", \"wrong_epoch\": %" PRIu64
               ", \"neither\": %" PRIu64 ", \"malformed\": %" PRIu64 "}",
               i ? ", " : "", e->packets, e->wrong_epoch, e->neither,
               e->malformed);
    }
    printf("]}\n");
    free(epochs);
    return 0;
}
