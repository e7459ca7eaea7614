/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/store/worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <event2/event.h>

#include "controller/core/mem.h"

struct job_list {
    struct worker_job *head;
    struct worker_job **tail; /* Where the next one goes. */
};

struct worker {
    const struct worker_ops *ops;
    void *aux;
    pthread_t thread;
    struct event *event;
    int fd; /* Tells the event loop of 'done'. */

    pthread_mutex_t mutex; /* For all below. */
    pthread_cond_t wanted;
    struct job_list queue; /* To be worked on. */
    struct job_list done;  /* To be reported. */
    size_t n;              /* Jobs that are not done. */
    bool closing;
};

static void
job_list_init__(struct job_list *list)
{
    list->head = NULL;
    list->tail = &list->head;
}

/* Moves all of 'from' to the end of 'to'. */
static void
job_list_move__(struct job_list *to, struct job_list *from)
{
    if (from->head) {
        *to->tail = from->head;
        to->tail = from->tail;
        job_list_init__(from);
    }
}

static size_t
job_list_count__(const struct job_list *list)
{
    size_t n = 0;

    for (const struct worker_job *job = list->head; job; job = job->next) {
        n++;
    }
    return n;
}

/* The thread. */

static void
wake_loop__(const struct worker *worker)
{
    const uint64_t one = 1;

    /* It cannot fail: the counter is read before it overflows. */
    if (write(worker->fd, &one, sizeof one) != sizeof one) {
        abort();
    }
}

/* Takes over all that waits, when something does.  Returns false if nothing
 * will any more. */
static bool
take__(struct worker *worker, struct job_list *list)
{
    job_list_init__(list);
    while (!worker->queue.head && !worker->closing) {
        pthread_cond_wait(&worker->wanted, &worker->mutex);
    }
    job_list_move__(list, &worker->queue);
    return list->head != NULL;
}

static void *
main__(void *worker_)
{
    struct worker *worker = worker_;
    struct job_list list;

    pthread_mutex_lock(&worker->mutex);
    while (take__(worker, &list)) {
        bool idle;

        pthread_mutex_unlock(&worker->mutex);
        worker->ops->work(worker->aux, list.head);
        pthread_mutex_lock(&worker->mutex);
        worker->n -= job_list_count__(&list);
        job_list_move__(&worker->done, &list);
        wake_loop__(worker);
        idle = !worker->queue.head && worker->ops->idle;
        if (idle) {
            pthread_mutex_unlock(&worker->mutex);
            worker->ops->idle(worker->aux);
            pthread_mutex_lock(&worker->mutex);
        }
    }
    pthread_mutex_unlock(&worker->mutex);
    return NULL;
}

/* The event loop. */

static void
report__(struct worker *worker)
{
    struct worker_job *next;
    struct job_list list;

    job_list_init__(&list);
    pthread_mutex_lock(&worker->mutex);
    job_list_move__(&list, &worker->done);
    pthread_mutex_unlock(&worker->mutex);
    for (struct worker_job *job = list.head; job; job = next) {
        next = job->next;
        worker->ops->report(worker->aux, job);
    }
}

static void
done_cb__(evutil_socket_t fd, short events, void *worker)
{
    uint64_t n;

    (void) events;
    if (read(fd, &n, sizeof n) == sizeof n) {
        report__(worker);
    }
}

/* Starts the thread with all signals blocked, which are the event loop's. */
static int
start__(struct worker *worker)
{
    sigset_t all, old;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    error = pthread_create(&worker->thread, NULL, main__, worker);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return error;
}

/* Starts a worker for the loop of 'base' and stores it in '*workerp'.  Returns 0
 * or a positive errno. */
int
worker_create(struct event_base *base, const struct worker_ops *ops, void *aux,
              struct worker **workerp)
{
    struct worker *worker = mem_zalloc(sizeof *worker);
    int error;

    *workerp = NULL;
    worker->ops = ops;
    worker->aux = aux;
    pthread_mutex_init(&worker->mutex, NULL);
    pthread_cond_init(&worker->wanted, NULL);
    job_list_init__(&worker->queue);
    job_list_init__(&worker->done);
    worker->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    error = worker->fd < 0 ? errno : start__(worker);
    if (error) {
        if (worker->fd >= 0) {
            close(worker->fd);
        }
        free(worker);
        return error;
    }
    worker->event =
        event_new(base, worker->fd, EV_READ | EV_PERSIST, done_cb__, worker);
    event_add(worker->event, NULL);
    *workerp = worker;
    return 0;
}

/* Works on what was submitted after the thread had ended. */
static void
finish__(struct worker *worker)
{
    report__(worker);
    while (worker->queue.head) {
        struct job_list list;

        job_list_init__(&list);
        job_list_move__(&list, &worker->queue);
        worker->ops->work(worker->aux, list.head);
        worker->n -= job_list_count__(&list);
        job_list_move__(&worker->done, &list);
        report__(worker);
    }
}

/* Ends 'worker', which may be NULL, when all jobs are worked on and reported,
 * and those that are submitted by who is reported to, too. */
void
worker_destroy(struct worker *worker)
{
    if (worker) {
        pthread_mutex_lock(&worker->mutex);
        worker->closing = true;
        pthread_cond_signal(&worker->wanted);
        pthread_mutex_unlock(&worker->mutex);
        pthread_join(worker->thread, NULL);
        finish__(worker);

        event_free(worker->event);
        close(worker->fd);
        pthread_cond_destroy(&worker->wanted);
        pthread_mutex_destroy(&worker->mutex);
        free(worker);
    }
}

/* Has 'job' worked on, and reported after that. */
void
worker_submit(struct worker *worker, struct worker_job *job)
{
    job->next = NULL;
    pthread_mutex_lock(&worker->mutex);
    *worker->queue.tail = job;
    worker->queue.tail = &job->next;
    worker->n++;
    pthread_cond_signal(&worker->wanted);
    pthread_mutex_unlock(&worker->mutex);
}

/* Returns how many jobs wait or are worked on. */
size_t
worker_count(struct worker *worker)
{
    size_t n;

    pthread_mutex_lock(&worker->mutex);
    n = worker->n;
    pthread_mutex_unlock(&worker->mutex);
    return n;
}

/* For the thread: does something wait, or is the worker to end? */
bool
worker_has_more(struct worker *worker)
{
    bool more;

    pthread_mutex_lock(&worker->mutex);
    more = worker->queue.head || worker->closing;
    pthread_mutex_unlock(&worker->mutex);
    return more;
}
