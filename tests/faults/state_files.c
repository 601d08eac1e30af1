/* Every call that touches the disk fails once, each in a run of its own: a start on a state that is
 * there, traffic, writes, an image, a stop. Whatever fails, what can be loaded afterwards is either
 * what was there before or what was last said to be written; a stop that says it went well left
 * everything; a start that fails says why and changes nothing that counts.
 *
 * Linked with --wrap for each of the calls below. */
#include "persist/state_fixture.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t calls;
static uint64_t fail_at; /* 0: none */
static const char *failed_call;

static bool fails(const char *name)
{
    pthread_mutex_lock(&lock);
    bool now = fail_at != 0 && ++calls == fail_at;
    if (now) {
        failed_call = name;
    }
    pthread_mutex_unlock(&lock);
    errno = now ? ENOSPC : errno;
    return now;
}

static void arm(uint64_t at)
{
    pthread_mutex_lock(&lock);
    calls = 0;
    fail_at = at;
    failed_call = NULL;
    pthread_mutex_unlock(&lock);
}

int __real_openat(int folder, const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
    va_end(more);
    return fails("openat") ? -1 : __real_openat(folder, path, flags, mode);
}

ssize_t __real_pwrite(int fd, const void *bytes, size_t size, off_t at);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t size, off_t at);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t size, off_t at)
{
    /* A short write first, as a disk that fills up gives. */
    if (fails("pwrite")) {
        return size > 1 && __real_pwrite(fd, bytes, size / 2, at) > 0 ? (errno = ENOSPC, -1) : -1;
    }
    return __real_pwrite(fd, bytes, size, at);
}

ssize_t __real_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size)
{
    return fails("write") ? -1 : __real_write(fd, bytes, size);
}

ssize_t __real_read(int fd, void *bytes, size_t size);
ssize_t __wrap_read(int fd, void *bytes, size_t size);
ssize_t __wrap_read(int fd, void *bytes, size_t size)
{
    return fails("read") ? -1 : __real_read(fd, bytes, size);
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    return fails("fsync") ? -1 : __real_fsync(fd);
}

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd)
{
    return fails("fdatasync") ? -1 : __real_fdatasync(fd);
}

int __real_renameat(int from, const char *old, int to, const char *new);
int __wrap_renameat(int from, const char *old, int to, const char *new);
int __wrap_renameat(int from, const char *old, int to, const char *new)
{
    return fails("renameat") ? -1 : __real_renameat(from, old, to, new);
}

int __real_unlinkat(int folder, const char *path, int flags);
int __wrap_unlinkat(int folder, const char *path, int flags);
int __wrap_unlinkat(int folder, const char *path, int flags)
{
    return fails("unlinkat") ? -1 : __real_unlinkat(folder, path, flags);
}

/* ---- the run ---- */

struct run {
    struct state_fixture state;
    uint64_t before;  /* digest of what was there */
    uint64_t written; /* of the latest write that went well */
    uint64_t at_stop;
    bool opened;
    bool stopped_well;
};

static void traffic(struct run *run)
{
    for (int i = 0; i < 60; i++) {
        state_request(&run->state);
    }
    if (persist_write_now(run->state.persist)) {
        run->written++;
    }
}

static void start_and_stop(struct run *run)
{
    struct buf why;
    buf_init(&why, 0);
    run->opened = state_open(&run->state, &why);
    STATE_REQUIRE(run->opened || why.size > 0);
    if (run->opened) {
        traffic(run);
        (void)persist_request(run->state.persist, true);
        traffic(run);
        traffic(run);
        (void)usleep(2000); /* the image's own thread */
        run->at_stop = state_digest_now(&run->state);
        run->stopped_well = state_close(&run->state);
    }
    buf_deinit(&why);
}

static uint64_t loaded(struct run *run, const char *call)
{
    struct buf why;
    uint64_t digest = 0;
    buf_init(&why, 0);
    bool good = state_digest_of(&run->state, run->state.path, &digest, &why);
    if (!good) {
        (void)fprintf(stderr, "after a failed %s: %.*s\n", call == NULL ? "nothing" : call,
                      (int)why.size, (const char *)why.data + why.start);
    }
    STATE_REQUIRE(good);
    buf_deinit(&why);
    return digest;
}

/* A sealed state with some counters, made without faults. */
static void prepare(struct run *run)
{
    struct buf why;
    buf_init(&why, 0);
    *run = (struct run){.opened = false};
    state_begin(&run->state);
    STATE_REQUIRE(state_open(&run->state, &why));
    for (int i = 0; i < 300; i++) {
        state_request(&run->state);
    }
    STATE_REQUIRE(state_close(&run->state));
    run->before = loaded(run, NULL);
    buf_deinit(&why);
}

int main(void)
{
    bool fired = true;
    uint64_t runs = 0;
    uint64_t failed_starts = 0;
    uint64_t failed_stops = 0;
    for (uint64_t at = 1; fired; at++) {
        struct run run;
        prepare(&run);
        arm(at);
        start_and_stop(&run);
        const char *call = failed_call;
        fired = call != NULL;
        arm(0);
        uint64_t after = loaded(&run, call);
        if (!run.opened) {
            failed_starts++;
            STATE_REQUIRE(after == run.before);
        } else if (run.stopped_well) {
            if (after != run.at_stop) {
                (void)fprintf(stderr, "counts were lost after call %llu, a %s\n",
                              (unsigned long long)at, call == NULL ? "nothing" : call);
            }
            STATE_REQUIRE(after == run.at_stop);
        } else {
            failed_stops++;
        }
        STATE_REQUIRE(fired || (run.opened && run.stopped_well && run.written == 3));
        runs++;
        state_end(&run.state);
    }
    (void)printf("%llu runs with one failed call each, %llu starts and %llu stops failed\n",
                 (unsigned long long)runs - 1, (unsigned long long)failed_starts,
                 (unsigned long long)failed_stops);
    return runs > 20 && failed_starts > 0 ? 0 : 1;
}
