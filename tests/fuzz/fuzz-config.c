/* SPDX-License-Identifier: Apache-2.0 */

/* Any text as evlbd's configuration.  It is read as evlbd reads it, and what is
 * wrong must be said with the file and, if there is one to blame, the line. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <config.h>

#include "controller/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);
const char *__lsan_default_suppressions(void);

/* libconfig 1.5 does not free the text that its scanner has gathered when
 * it meets a mistake. */
const char *
__lsan_default_suppressions(void)
{
    return "leak:strbuf_append\nleak:libconfig_yylex\n";
}

/* Files that a configuration names are opened, and some of this machine's never
 * end. */
static bool
names_files(const uint8_t *data, size_t size)
{
    return memmem(data, size, "@include", strlen("@include"))
           || memmem(data, size, "/dev/", strlen("/dev/"))
           || memmem(data, size, "/proc/", strlen("/proc/"));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct evlb_config *config;
    char name[40];
    char *error;
    int fd;

    if (names_files(data, size)) {
        return 0;
    }
    fd = memfd_create("evlb.conf", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t) size) {
        abort();
    }
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    error = evlb_config_load(name, &config);
    if (!error == !config || (error && !strstr(error, name))) {
        abort();
    }
    free(error);
    evlb_config_destroy(config);
    close(fd);
    return 0;
}
