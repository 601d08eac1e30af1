#include "watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WATCH_POLL_MS 500
#define WATCH_SOON_MS 20      /* from an event to the look, so that a burst of them is one */
#define WATCH_SETTLE_MS 100   /* a file that was not touched for so long is finished */
#define WATCH_ABSENT_MS 1000  /* one that is not there, or empty, may be on its way */
#define WATCH_PATIENCE_MS 1500 /* and one that never comes to rest is read as it is */
#define WATCH_LINKS 40        /* as many as the system follows */
#define WATCH_PLACES 64       /* more are left to the poll */

/* ---- looking ---- */

static uint64_t watch_mix(uint64_t number, uint64_t value)
{
    number = (number ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    return number ^ number >> 29;
}

/* Somebody has the file open for writing: the system refuses a lease then, and only then says
 * EAGAIN. Where it gives no leases at all, the file's times have to do. */
static bool watch_is_written(const char *path)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    bool written = fcntl(fd, F_SETLEASE, F_RDLCK) != 0 && errno == EAGAIN;
    (void)close(fd); /* gives the lease back */
    return written;
}

static void watch_look_at_file(struct watch_look *look, const char *path, const struct stat *about)
{
    uint64_t number = watch_mix(about->st_dev, about->st_ino);
    number = watch_mix(number, (uint64_t)about->st_size);
    number = watch_mix(number, (uint64_t)about->st_mtim.tv_sec);
    number = watch_mix(number, (uint64_t)about->st_mtim.tv_nsec);
    number = watch_mix(number, (uint64_t)about->st_ctim.tv_sec);
    look->number += watch_mix(number, (uint64_t)about->st_ctim.tv_nsec);
    if (S_ISREG(about->st_mode)) {
        look->lacks = look->lacks || about->st_size == 0;
        look->written = look->written || watch_is_written(path);
    }
}

/* As the limits file is read: *.yaml, no hidden ones. */
static bool watch_counts(const char *name)
{
    static const char suffix[] = ".yaml";
    size_t size = strlen(name);
    return name[0] != '.' && size >= sizeof(suffix) &&
           strcmp(name + size - (sizeof(suffix) - 1), suffix) == 0;
}

static uint64_t watch_number_of(const char *text)
{
    uint64_t number = 0;
    for (; *text != '\0'; text++) {
        number = watch_mix(number, (uint8_t)*text);
    }
    return number;
}

/* Calls `each` for the files of a directory that count. */
static void watch_list(const char *path, void (*each)(void *data, const char *path),
                       void *data)
{
    char file[PATH_MAX];
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return;
    }
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        int size = watch_counts(entry->d_name)
                       ? snprintf(file, sizeof(file), "%s/%s", path, entry->d_name)
                       : -1;
        if (size > 0 && (size_t)size < sizeof(file)) {
            each(data, file);
        }
    }
    (void)closedir(folder);
}

static void watch_look_at_entry(void *data, const char *path)
{
    struct watch_look *look = data;
    struct stat about;
    look->number += watch_number_of(path);
    if (stat(path, &about) == 0) {
        watch_look_at_file(look, path, &about);
    }
}

static struct watch_look watch_look(const struct watch *watch)
{
    struct watch_look look = {.number = 1};
    for (uint32_t i = 0; i < watch->count; i++) {
        struct stat about;
        if (stat(watch->paths[i], &about) != 0) {
            look.number = watch_mix(look.number, (uint64_t)errno);
            look.lacks = true;
        } else if (S_ISDIR(about.st_mode)) {
            watch_list(watch->paths[i], watch_look_at_entry, &look);
        } else {
            watch_look_at_file(&look, watch->paths[i], &about);
        }
    }
    return look;
}

/* ---- directories on the way ---- */

struct watch_place {
    uv_fs_event_t event;
    struct watch *watch;
    struct watch_place *next;
    char name[NAME_MAX + 1]; /* whose changes count; empty: everybody's */
};

static void watch_settle(uv_timer_t *timer);

static void watch_on_event(uv_fs_event_t *event, const char *name, int events, int status)
{
    struct watch_place *place = event->data;
    (void)events;
    (void)status;
    if (place->name[0] != '\0' && name != NULL && strcmp(name, place->name) != 0) {
        return;
    }
    if (!uv_is_active((uv_handle_t *)&place->watch->settle)) {
        (void)uv_timer_start(&place->watch->settle, watch_settle, WATCH_SOON_MS, 0);
    }
}

static void watch_free_place(uv_handle_t *handle)
{
    free(handle->data);
}

/* A directory without a watch is left to the poll. */
static void watch_place(struct watch *watch, const char *folder, const char *name,
                        uint32_t *count)
{
    if (*count == WATCH_PLACES || strlen(name) > NAME_MAX) {
        return;
    }
    struct watch_place *place = calloc(1, sizeof(*place));
    if (place == NULL) {
        return;
    }
    if (uv_fs_event_init(watch->loop, &place->event) != 0) {
        free(place);
        return;
    }
    ++*count;
    place->watch = watch;
    place->event.data = place;
    memcpy(place->name, name, strlen(name));
    place->next = watch->places;
    watch->places = place;
    (void)uv_fs_event_start(&place->event, watch_on_event, folder, 0);
}

static void watch_forget_places(struct watch *watch)
{
    while (watch->places != NULL) {
        struct watch_place *place = watch->places;
        watch->places = place->next;
        uv_close((uv_handle_t *)&place->event, watch_free_place);
    }
}

/* A walk along a path, link by link. */
struct watch_walk {
    struct watch *watch;
    uint32_t places;
    char folder[PATH_MAX]; /* where it has come to */
    char rest[PATH_MAX];   /* what is left to go */
};

/* Goes on at a link's target: in front of the rest. False: too long. */
static bool watch_follow(struct watch_walk *walk, const char *link)
{
    char target[PATH_MAX];
    char rest[PATH_MAX];
    ssize_t size = readlink(link, target, sizeof(target) - 1);
    if (size <= 0) {
        return false;
    }
    target[size] = '\0';
    if (target[0] == '/') {
        walk->folder[0] = '/';
        walk->folder[1] = '\0';
    }
    int all = snprintf(rest, sizeof(rest), "%s/%s", target, walk->rest);
    if (all < 0 || (size_t)all >= sizeof(rest)) {
        return false;
    }
    memcpy(walk->rest, rest, (size_t)all + 1);
    return true;
}

/* Takes the first name off the rest. False: there is none. */
static bool watch_next_name(struct watch_walk *walk, char name[NAME_MAX + 1])
{
    size_t skip = strspn(walk->rest, "/");
    size_t size = strcspn(walk->rest + skip, "/");
    if (size == 0 || size > NAME_MAX) {
        return false;
    }
    memcpy(name, walk->rest + skip, size);
    name[size] = '\0';
    memmove(walk->rest, walk->rest + skip + size, strlen(walk->rest + skip + size) + 1);
    return true;
}

/* Watches each name on the way to `path`, in the directory that holds it. */
static void watch_walk(void *data, const char *path)
{
    struct watch_walk *walk = data;
    char name[NAME_MAX + 1];
    char full[PATH_MAX];
    struct stat about;
    (void)snprintf(walk->rest, sizeof(walk->rest), "%s", path);
    (void)snprintf(walk->folder, sizeof(walk->folder), "%s", path[0] == '/' ? "/" : ".");
    for (unsigned links = 0; links <= WATCH_LINKS && watch_next_name(walk, name);) {
        int size = snprintf(full, sizeof(full), "%s/%s", walk->folder, name);
        if (size < 0 || (size_t)size >= sizeof(full)) {
            return;
        }
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
            watch_place(walk->watch, walk->folder, name, &walk->places);
        }
        if (lstat(full, &about) != 0) {
            return;
        }
        if (!S_ISLNK(about.st_mode)) {
            memcpy(walk->folder, full, (size_t)size + 1);
        } else if (!watch_follow(walk, full)) {
            return;
        } else {
            links++;
        }
    }
}

/* The way may have changed: watches it anew. */
static void watch_places(struct watch *watch)
{
    struct watch_walk walk = {.watch = watch};
    watch_forget_places(watch);
    for (uint32_t i = 0; i < watch->count; i++) {
        struct stat about;
        watch_walk(&walk, watch->paths[i]);
        if (stat(watch->paths[i], &about) == 0 && S_ISDIR(about.st_mode)) {
            watch_place(watch, watch->paths[i], "", &walk.places);
            watch_list(watch->paths[i], watch_walk, &walk);
        }
    }
}

/* ---- from a look to a change ---- */

/* Has the candidate lasted long enough? */
static bool watch_is_settled(const struct watch *watch, const struct watch_look *look,
                             uint64_t now_ms)
{
    uint64_t quiet_ms = now_ms - watch->candidate_ms;
    if (now_ms - watch->noticed_ms >= WATCH_PATIENCE_MS) {
        return true;
    }
    return !look->written && quiet_ms >= (look->lacks ? WATCH_ABSENT_MS : WATCH_SETTLE_MS);
}

static void watch_check(struct watch *watch)
{
    struct watch_look look = watch_look(watch);
    uint64_t now_ms = uv_now(watch->loop);
    if (look.number == watch->known) {
        watch->pending = false;
        return;
    }
    if (!watch->pending || look.number != watch->candidate) {
        watch->noticed_ms = watch->pending ? watch->noticed_ms : now_ms;
        watch->pending = true;
        watch->candidate = look.number;
        watch->candidate_ms = now_ms;
        watch_places(watch);
    }
    if (watch_is_settled(watch, &look, now_ms)) {
        watch->changed(watch->data);
        return;
    }
    (void)uv_timer_start(&watch->settle, watch_settle, WATCH_SETTLE_MS, 0);
}

static void watch_settle(uv_timer_t *timer)
{
    watch_check(timer->data);
}

static void watch_poll(uv_timer_t *timer)
{
    struct watch *watch = timer->data;
    if (!watch->pending) {
        watch_check(watch);
    }
}

void watch_note(struct watch *watch)
{
    watch->known = watch_look(watch).number;
    watch->pending = false;
}

void watch_add(struct watch *watch, const char *path)
{
    if (path != NULL && watch->count < WATCH_PATHS) {
        watch->paths[watch->count++] = path;
        watch_note(watch);
    }
}

void watch_start(struct watch *watch)
{
    /* A lease that is broken in the moment we hold it sends one. */
    (void)signal(SIGIO, SIG_IGN);
    (void)uv_timer_init(watch->loop, &watch->poll);
    (void)uv_timer_init(watch->loop, &watch->settle);
    watch->poll.data = watch;
    watch->settle.data = watch;
    watch->started = true;
    watch_places(watch);
    (void)uv_timer_start(&watch->poll, watch_poll, WATCH_POLL_MS, WATCH_POLL_MS);
}

void watch_stop(struct watch *watch)
{
    if (!watch->started) {
        return;
    }
    watch->started = false;
    watch_forget_places(watch);
    uv_close((uv_handle_t *)&watch->poll, NULL);
    uv_close((uv_handle_t *)&watch->settle, NULL);
}
