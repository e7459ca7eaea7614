/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/tls-watch.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <event2/event.h>

#include <config.h>
#include <openvswitch/vlog.h>

#include "controller/core/mem.h"
#include "controller/tls.h"

VLOG_DEFINE_THIS_MODULE(evlb_tls);

/* What tells one version of a file from another. */
struct version {
    struct timespec mtime;
    ino_t inode;
    off_t size;
};

struct tls_watch {
    struct tls_files files;
    struct version versions[3];
    tls_watch_cb *cb;
    void *aux;
    struct event *timer;
};

static void
get_version__(const char *file, struct version *v)
{
    struct stat st;

    memset(v, 0, sizeof *v);
    if (file && !stat(file, &st)) {
        v->mtime.tv_sec = st.st_mtim.tv_sec;
        v->mtime.tv_nsec = st.st_mtim.tv_nsec;
        v->inode = st.st_ino;
        v->size = st.st_size;
    }
}

/* Notes the versions of the files.  Returns true if one has changed. */
static bool
look__(struct tls_watch *watch)
{
    const char *const files[] = { watch->files.certificate,
                                  watch->files.private_key, watch->files.ca };
    bool changed = false;

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct version v;

        get_version__(files[i], &v);
        changed = changed || memcmp(&v, &watch->versions[i], sizeof v);
        watch->versions[i] = v;
    }
    return changed;
}

static void
timer_cb__(evutil_socket_t fd, short events, void *watch_)
{
    struct tls_watch *watch = watch_;
    struct ssl_ctx_st *tls;
    const char *setting;
    char *error;

    (void) fd;
    (void) events;
    if (!look__(watch)) {
        return;
    }
    error = tls_context_create(&watch->files, &tls, &setting);
    if (error) {
        VLOG_ERR("tls.%s: %s; connections go on with what was there", setting,
                 error);
        free(error);
    } else {
        VLOG_INFO("%s: the certificate has been read again",
                  watch->files.certificate);
        watch->cb(watch->aux, tls);
    }
}

static char *
dup__(const char *s)
{
    return s ? mem_strdup(s) : NULL;
}

/* Reads 'files', calls 'cb' with what is in them, and watches them on 'base'.
 * Returns NULL and stores what does so in '*watchp', or returns an error, which
 * the caller must free. */
char *
tls_watch_create(struct event_base *base, const struct tls_files *files,
                 tls_watch_cb *cb, void *aux, struct tls_watch **watchp)
{
    static const struct timeval period = { 1, 0 };
    struct tls_watch *watch = mem_zalloc(sizeof *watch);
    struct ssl_ctx_st *tls;
    const char *setting;
    char *error;

    watch->files =
        (struct tls_files){ dup__(files->certificate),
                            dup__(files->private_key), dup__(files->ca) };
    watch->cb = cb;
    watch->aux = aux;
    watch->timer = event_new(base, -1, EV_PERSIST, timer_cb__, watch);
    look__(watch);
    error = tls_context_create(files, &tls, &setting);
    if (error) {
        tls_watch_destroy(watch);
        watch = NULL;
    } else {
        cb(aux, tls);
        event_add(watch->timer, &period);
    }
    *watchp = watch;
    return error;
}

/* Destroys 'watch', which may be NULL. */
void
tls_watch_destroy(struct tls_watch *watch)
{
    if (watch) {
        event_free(watch->timer);
        tls_files_destroy(&watch->files);
        free(watch);
    }
}
