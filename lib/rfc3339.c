/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/rfc3339.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define NANOS 1000000000

/* Writes the time 'seconds' after 1970 began, and 'nanos' more, to 's', with
 * as many groups of three decimals as it needs.  Returns false if there is no
 * such time; then 's' is empty. */
bool
rfc3339_format(int64_t seconds, int32_t nanos, char s[RFC3339_STRLEN])
{
    time_t t = (time_t) seconds;
    struct tm tm;
    int n;

    *s = '\0';
    if (seconds < RFC3339_MIN || seconds > RFC3339_MAX || nanos < 0
        || nanos >= NANOS || !gmtime_r(&t, &tm)) {
        return false;
    }
    n = snprintf(s, RFC3339_STRLEN, "%04d-%02d-%02dT%02d:%02d:%02d",
                 tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
                 tm.tm_min, tm.tm_sec);
    s += n;
    if (!nanos) {
        snprintf(s, RFC3339_STRLEN - (size_t) n, "Z");
    } else if (nanos % 1000) {
        snprintf(s, RFC3339_STRLEN - (size_t) n, ".%09dZ", nanos);
    } else if (nanos % 1000000) {
        snprintf(s, RFC3339_STRLEN - (size_t) n, ".%06dZ", nanos / 1000);
    } else {
        snprintf(s, RFC3339_STRLEN - (size_t) n, ".%03dZ", nanos / 1000000);
    }
    return true;
}

/* Takes a number of 'digits' digits from '*sp', and the character 'end' after
 * it unless that is 0.  Returns it, or -1 if there is none. */
static int
take_number__(const char **sp, int digits, char end)
{
    int value = 0;

    for (int i = 0; i < digits; i++, (*sp)++) {
        if (!isdigit((unsigned char) **sp)) {
            return -1;
        }
        value = value * 10 + (**sp - '0');
    }
    if (end && *(*sp)++ != end) {
        return -1;
    }
    return value;
}

/* Takes decimals from '*sp', if there are any, up to nine of them. */
static bool
take_nanos__(const char **sp, int32_t *nanos)
{
    int32_t unit = NANOS;

    *nanos = 0;
    if (**sp != '.') {
        return true;
    }
    (*sp)++;
    for (; isdigit((unsigned char) **sp) && unit > 1; (*sp)++) {
        unit /= 10;
        *nanos += unit * (**sp - '0');
    }
    return unit < NANOS;
}

/* Takes "Z", or "+HH:MM" or "-HH:MM", from '*sp'. */
static bool
take_zone__(const char **sp, int64_t *offset)
{
    char sign = *(*sp)++;
    int hours, minutes;

    *offset = 0;
    if (sign == 'Z' || sign == 'z') {
        return true;
    }
    hours = sign == '+' || sign == '-' ? take_number__(sp, 2, ':') : -1;
    minutes = hours >= 0 ? take_number__(sp, 2, '\0') : -1;
    *offset = (sign == '-' ? -60 : 60) * (hours * 60 + minutes);
    return hours >= 0 && hours < 24 && minutes >= 0 && minutes < 60;
}

/* Takes "YYYY-MM-DDTHH:MM:SS" from '*sp'. */
static bool
take_date__(const char **sp, int64_t *seconds)
{
    struct tm tm = { 0 }, same;
    time_t t;
    int year = take_number__(sp, 4, '-');
    int month = year < 1 ? -1 : take_number__(sp, 2, '-');

    tm.tm_year = year - 1900;
    tm.tm_mon = month - 1;
    tm.tm_mday = month < 1 ? -1 : take_number__(sp, 2, '\0');
    if (tm.tm_mday < 1 || (**sp != 'T' && **sp != 't')) {
        return false;
    }
    (*sp)++;
    tm.tm_hour = take_number__(sp, 2, ':');
    tm.tm_min = tm.tm_hour < 0 ? -1 : take_number__(sp, 2, ':');
    tm.tm_sec = tm.tm_min < 0 ? -1 : take_number__(sp, 2, '\0');
    if (tm.tm_hour > 23 || tm.tm_min > 59 || tm.tm_sec < 0 || tm.tm_sec > 59) {
        return false;
    }
    same = tm;
    t = timegm(&same);
    *seconds = t;
    /* The 31st of February is another day. */
    return same.tm_mon == tm.tm_mon && same.tm_mday == tm.tm_mday;
}

/* Stores in '*seconds' and '*nanos' the time that 's' is.  Returns false if it
 * is none. */
bool
rfc3339_parse(const char *s, int64_t *seconds, int32_t *nanos)
{
    int64_t offset;

    if (!take_date__(&s, seconds) || !take_nanos__(&s, nanos)
        || !take_zone__(&s, &offset) || *s) {
        return false;
    }
    *seconds -= offset;
    return *seconds >= RFC3339_MIN && *seconds <= RFC3339_MAX;
}
