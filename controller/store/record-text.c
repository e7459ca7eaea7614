/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/store/record-text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "controller/core/addr.h"
#include "controller/core/mem.h"

#define ESCAPE '%'

/* Starts to read 'value', which is copied, of the record 'key', which is
 * not. */
void
record_reader_init(struct record_reader *r, const char *key, const char *value)
{
    memset(r, 0, sizeof *r);
    r->key = key;
    r->text = mem_strdup(value);
    r->rest = r->text;
}

/* Says that something is wrong with the field that is read. */
void
record_reader_fail(struct record_reader *r, const char *format, ...)
{
    va_list args;
    char *reason;

    if (r->error) {
        return;
    }
    va_start(args, format);
    if (vasprintf(&reason, format, args) < 0) {
        abort();
    }
    va_end(args);
    r->error = mem_printf("record %s, line %u: %s: %s", r->key, r->line,
                          r->field ? r->field : "record", reason);
    free(reason);
}

/* Is the word at the begin of 'line' 'field'? */
static bool
line_is__(const char *line, const char *field)
{
    size_t n = strcspn(line, " \n");

    return n == strlen(field) && !memcmp(line, field, n);
}

/* Checks that all words of the line were read. */
static void
end_line__(struct record_reader *r)
{
    if (r->words) {
        record_reader_fail(r, "has more words than evlbd writes");
    }
}

/* Goes on to the next line, which exists. */
static void
next_line__(struct record_reader *r)
{
    char *line = strsep(&r->rest, "\n");

    r->line++;
    r->words = line;
    r->field = strsep(&r->words, " ");
}

/* Goes on to the next line, if it is about 'field'. */
bool
record_reader_more(struct record_reader *r, const char *field)
{
    end_line__(r);
    if (r->error || !line_is__(r->rest, field)) {
        return false;
    }
    next_line__(r);
    if (!r->rest) {
        record_reader_fail(r, "the line does not end");
    }
    return !r->error;
}

/* Goes on to the next line, which must be about 'field'. */
void
record_reader_field(struct record_reader *r, const char *field)
{
    if (!record_reader_more(r, field) && !r->error) {
        r->line++;
        r->field = field;
        record_reader_fail(r, "is missing");
    }
}

/* Returns the next word of the line, "" if there is none. */
const char *
record_reader_word(struct record_reader *r)
{
    const char *word = r->error ? NULL : strsep(&r->words, " ");

    return word ? word : "";
}

/* Goes over the next word, if it is 'word'. */
bool
record_reader_skip(struct record_reader *r, const char *word)
{
    bool is = !r->error && r->words && line_is__(r->words, word);

    if (is) {
        record_reader_word(r);
    }
    return is;
}

/* Returns the next word, a decimal number. */
uint64_t
record_reader_uint(struct record_reader *r, uint64_t max)
{
    const char *word = record_reader_word(r);
    char *end;
    uint64_t value;

    errno = 0;
    value = strtoull(word, &end, 10);
    if (*word < '0' || *word > '9' || *end || errno || value > max) {
        record_reader_fail(r, "\"%s\" is no number from 0 to %" PRIu64, word,
                           max);
    }
    return r->error ? 0 : value;
}

/* Returns the next word, a number that may have a fraction. */
double
record_reader_factor(struct record_reader *r, double max)
{
    const char *word = record_reader_word(r);
    char *end;
    double value = strtod(word, &end);

    if (*word < '0' || *word > '9' || *end || !(value <= max)) {
        record_reader_fail(r, "\"%s\" is no number from 0 to %g", word, max);
    }
    return r->error ? 0 : value;
}

/* Stores the next word, an address, in '*addr'. */
void
record_reader_addr(struct record_reader *r, struct in6_addr *addr)
{
    const char *word = record_reader_word(r);

    if (!r->error && !addr_from_string(word, addr)) {
        record_reader_fail(r, "\"%s\" is no IPv4 or IPv6 address", word);
    }
}

static int
hex__(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *digit = c ? strchr(digits, c) : NULL;

    return digit ? (int) (digit - digits) : -1;
}

/* Puts the characters that escapes in 's' stand for in their places.  Returns
 * false if one stands for none. */
static bool
unescape__(char *s)
{
    char *out = s;

    while (*s) {
        if (*s == ESCAPE) {
            int high = hex__(s[1]);
            int low = high < 0 ? -1 : hex__(s[2]);

            if (low < 0 || !(high | low)) {
                return false;
            }
            *out++ = (char) (high << 4 | low);
            s += 3;
        } else {
            *out++ = *s++;
        }
    }
    *out = '\0';
    return true;
}

/* Returns the rest of the line, a text of at most 'max' bytes.  The caller must
 * free it, which is "" after a mistake. */
char *
record_reader_text(struct record_reader *r, size_t max)
{
    char *text = r->words;

    r->words = NULL;
    if (r->error) {
        return mem_strdup("");
    }
    if (!text) {
        record_reader_fail(r, "has no text");
    } else if (!unescape__(text)) {
        record_reader_fail(r, "has a %c that no two digits follow", ESCAPE);
    } else if (strlen(text) > max) {
        record_reader_fail(r, "has more than %zu bytes", max);
    }
    return mem_strdup(r->error ? "" : text);
}

/* Ends the reading.  Returns the first error, which the caller must free, or
 * NULL. */
char *
record_reader_finish(struct record_reader *r)
{
    end_line__(r);
    if (!r->error && *r->rest) {
        next_line__(r);
        record_reader_fail(r, "is not what evlbd writes there");
    }
    free(r->text);
    return r->error;
}

/* Writes a line with 'text', which may hold anything. */
void
record_write_text(FILE *stream, const char *field, const char *text)
{
    fprintf(stream, "%s ", field);
    for (; *text; text++) {
        unsigned char c = (unsigned char) *text;

        if (c < ' ' || c == ESCAPE || c == 0x7f) {
            fprintf(stream, "%c%02x", ESCAPE, c);
        } else {
            putc(c, stream);
        }
    }
    putc('\n', stream);
}

/* Writes a line with 'addr'. */
void
record_write_addr(FILE *stream, const char *field, const struct in6_addr *addr)
{
    char s[ADDR_STRLEN];

    addr_to_string(addr, s);
    fprintf(stream, "%s %s\n", field, s);
}
