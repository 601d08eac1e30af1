/* A store with counters of every kind, and a state directory to keep them in. For unit tests and
 * for programs that make system calls fail, so no criterion here: what must hold is asserted. */
#ifndef TESTS_PERSIST_STATE_FIXTURE_H
#define TESTS_PERSIST_STATE_FIXTURE_H

#include "base/clock.h"
#include "persist/persist.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STATE_POLICIES 7u
#define STATE_KEYS 60u
#define STATE_T0 (INT64_C(1700000000) * CLOCK_NS_PER_S)
#define STATE_MINUTE (60 * CLOCK_NS_PER_S)

#define STATE_REQUIRE(condition)                                                                  \
    do {                                                                                          \
        if (!(condition)) {                                                                       \
            (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                 \
            abort();                                                                              \
        }                                                                                         \
    } while (0)

struct state_policies {
    struct store_policies set;
    struct limiter_policy list[STATE_POLICIES];
};

struct state_fixture {
    char path[64];
    struct state_policies policies[2]; /* in force, and the ones before */
    uint32_t now_in_force;
    const struct store_policies *in_force;
    struct store_change change;
    struct store *store;
    struct state_dir dir;
    struct persist *persist;
    int64_t now_ns;
    uint64_t random;
};

static inline uint64_t state_random(struct state_fixture *state)
{
    state->random ^= state->random << 13;
    state->random ^= state->random >> 7;
    state->random ^= state->random << 17;
    return state->random;
}

/* `more`: added to every limit, as a reload would. */
static inline void state_policies_init(struct state_policies *policies, uint64_t more)
{
    static const struct {
        enum limiter_algorithm algorithm;
        uint64_t limit;
        uint64_t burst;
        int64_t window_ns;
    } rows[STATE_POLICIES] = {
        {LIMITER_TOKEN_BUCKET, 10, 0, 60 * STATE_MINUTE},
        {LIMITER_TOKEN_BUCKET, 900000000000000, 0, 3000 * 24 * 60 * STATE_MINUTE},
        {LIMITER_LEAKY_BUCKET, 7, 20, 30 * STATE_MINUTE},
        {LIMITER_FIXED_WINDOW, 12, 0, 1000 * 24 * 60 * STATE_MINUTE},
        {LIMITER_SLIDING_COUNTER, 9, 0, 60 * STATE_MINUTE},
        {LIMITER_SLIDING_LOG, 40, 0, 40 * STATE_MINUTE},
        {LIMITER_SLIDING_LOG, 1000000, 0, 600 * STATE_MINUTE},
    };
    for (uint32_t i = 0; i < STATE_POLICIES; i++) {
        uint64_t limit = rows[i].limit + (i == STATE_POLICIES - 1 ? 0 : more);
        limiter_policy_init(&policies->list[i], rows[i].algorithm, limit, rows[i].burst,
                            rows[i].window_ns, NULL);
        policies->list[i].id = i;
    }
    policies->set =
        (struct store_policies){.policies = policies->list, .count = STATE_POLICIES};
}

/* ---- descriptions: what every limit allows more ---- */

static inline struct slice state_describe(const struct state_policies *policies, uint64_t *more)
{
    *more = policies->list[0].limit - 10;
    return slice_make(more, sizeof(*more));
}

static inline enum status state_read(void *context, struct slice description, void **set,
                                     const struct store_policies **policies)
{
    uint64_t more;
    struct state_policies *read = calloc(1, sizeof(*read));
    (void)context;
    if (read == NULL || description.size != sizeof(more)) {
        free(read);
        return read == NULL ? STATUS_NO_MEMORY : STATUS_INVALID;
    }
    memcpy(&more, description.data, sizeof(more));
    state_policies_init(read, more);
    *set = read;
    *policies = &read->set;
    return STATUS_OK;
}

static inline uint32_t *state_map(void *context, const void *from, const void *to,
                                  struct buf *log)
{
    uint32_t *map = calloc(STATE_POLICIES, sizeof(*map));
    (void)context;
    (void)from;
    (void)to;
    (void)log;
    for (uint32_t i = 0; map != NULL && i < STATE_POLICIES; i++) {
        map[i] = i;
    }
    return map;
}

static inline void state_drop(void *context, void *set)
{
    (void)context;
    free(set);
}

static inline const struct store_policies *state_in_force(const struct state_fixture *state)
{
    return state->in_force;
}

static inline struct load_policies state_hooks(const struct store_policies *in_force)
{
    return (struct load_policies){
        .in_force = in_force, .read = state_read, .map = state_map, .drop = state_drop};
}

/* ---- life ---- */

static inline void state_begin(struct state_fixture *state)
{
    *state = (struct state_fixture){.random = 88172645463325252u, .now_ns = STATE_T0};
    (void)strcpy(state->path, "/tmp/sluice-state-XXXXXX");
    STATE_REQUIRE(mkdtemp(state->path) != NULL);
    state_policies_init(&state->policies[0], 0);
    state->in_force = &state->policies[0].set;
}

/* Loads what is there (nothing: begins) and keeps it. False: *why says why not. */
static inline bool state_open(struct state_fixture *state, struct buf *why)
{
    bool waiting;
    uint64_t more;
    struct load load;
    struct door_in_result result;
    struct load_policies hooks = state_hooks(state_in_force(state));
    struct store_config config = {.key = {{7}}, .shards = 4};
    if (state_dir_open(&state->dir, state->path, &waiting, why) != STATUS_OK) {
        return false;
    }
    enum status status = load_open(&load, &state->dir, why);
    if (status == STATUS_OK) {
        state->store = store_create(&config);
        STATE_REQUIRE(state->store != NULL);
        store_install(state->store, state_in_force(state));
        if (load.file_count > 0) {
            status = load_into(&load, state->store, &hooks, state->now_ns, &result, NULL, why);
        }
    }
    if (status == STATUS_OK) {
        struct persist_config persist = {
            .store = state->store,
            .dir = &state->dir,
            .load = &load,
            .interval_ns = 3600 * CLOCK_NS_PER_S,
            .now_ns = state->now_ns,
            .policies = state_describe(&state->policies[state->now_in_force], &more)};
        status = persist_create(&persist, &state->persist, why);
        load_close(&load);
    }
    if (status != STATUS_OK) {
        store_destroy(&state->store);
        state_dir_close(&state->dir);
    }
    return status == STATUS_OK;
}

/* A clean stop, as far as the disk goes along. */
static inline bool state_close(struct state_fixture *state)
{
    struct buf why;
    buf_init(&why, 0);
    bool good = persist_destroy(&state->persist, &why);
    buf_deinit(&why);
    store_destroy(&state->store);
    state_dir_close(&state->dir);
    return good;
}

static inline void state_remove_folder(const char *path)
{
    DIR *stream = opendir(path);
    char name[400];
    struct dirent *entry;
    while (stream != NULL && (entry = readdir(stream)) != NULL) {
        (void)snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        (void)unlink(name);
    }
    if (stream != NULL) {
        closedir(stream);
    }
    (void)rmdir(path);
}

static inline void state_end(struct state_fixture *state)
{
    if (state->persist != NULL) {
        (void)state_close(state);
    }
    state_remove_folder(state->path);
}

/* Copies the files as they stand, as a crash would leave them. */
static inline void state_copy_folder(const char *from, char *to)
{
    DIR *stream = opendir(from);
    char name[400];
    struct dirent *entry;
    (void)strcpy(to, "/tmp/sluice-state-XXXXXX");
    STATE_REQUIRE(stream != NULL && mkdtemp(to) != NULL);
    while ((entry = readdir(stream)) != NULL) {
        static uint8_t bytes[1 << 24];
        (void)snprintf(name, sizeof(name), "%s/%s", from, entry->d_name);
        int fd = open(name, O_RDONLY);
        ssize_t size = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));
        if (fd >= 0) {
            close(fd);
        }
        if (size < 0) {
            continue;
        }
        (void)snprintf(name, sizeof(name), "%s/%s", to, entry->d_name);
        fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        STATE_REQUIRE(fd >= 0 && write(fd, bytes, (size_t)size) == size);
        close(fd);
    }
    closedir(stream);
}

/* ---- traffic ---- */

static inline struct fingerprint state_id(const struct store *store, uint32_t policy, uint32_t key)
{
    uint64_t number = policy * 1000u + key;
    return hash_bytes(store_hash_key(store), &number, sizeof(number));
}

static inline void state_request(struct state_fixture *state)
{
    uint64_t dice = state_random(state);
    uint32_t policy = (uint32_t)(dice % STATE_POLICIES);
    uint32_t key = (uint32_t)(dice / 16 % STATE_KEYS);
    bool allowed;
    uint32_t forgotten;
    struct store_item item = {.id = state_id(state->store, policy, key),
                              .policy = &state_in_force(state)->policies[policy],
                              .cost = 1 + dice / 4096 % 3};
    if (policy == 1) {
        item.cost = 1 + dice / 4096 % 100000000000000;
    }
    enum status status;
    if (dice / 65536 % 16 == 0) {
        status = store_refund(state->store, state_in_force(state), &item, 1, state->now_ns);
    } else if (dice / 65536 % 64 == 1) {
        status = store_reset(state->store, state_in_force(state), &item, 1, state->now_ns,
                             &forgotten);
    } else {
        status = store_decide(state->store, state_in_force(state), &item, 1, state->now_ns,
                              &allowed);
    }
    STATE_REQUIRE(status == STATUS_OK);
    state->now_ns += (int64_t)(state_random(state) % (uint64_t)(2 * CLOCK_NS_PER_S));
}

/* A log of thousands of entries, of key 0 of the last policy. */
static inline void state_fill_log(struct state_fixture *state, uint32_t entries)
{
    for (uint32_t i = 0; i < entries; i++) {
        bool allowed;
        struct store_item item = {
            .id = state_id(state->store, STATE_POLICIES - 1, 0),
            .policy = &state_in_force(state)->policies[STATE_POLICIES - 1],
            .cost = 1};
        STATE_REQUIRE(store_decide(state->store, state_in_force(state), &item, 1, state->now_ns,
                                   &allowed) == STATUS_OK);
        STATE_REQUIRE(allowed);
        state->now_ns += 1000;
    }
}

/* Other numbers from now on. */
static inline void state_reload(struct state_fixture *state, uint64_t more)
{
    static const uint32_t map[STATE_POLICIES] = {0, 1, 2, 3, 4, 5, 6};
    uint64_t described;
    while (!store_is_converted(state->store)) {
        (void)store_sweep(state->store, state->now_ns, 1000);
    }
    uint32_t next = 1 - state->now_in_force;
    state_policies_init(&state->policies[next], more);
    persist_reload_begin(state->persist);
    state->change = (struct store_change){
        .next = &state->policies[next].set, .map = map, .at_ns = state->now_ns};
    STATE_REQUIRE(store_swap(state->store, &state->change) == STATUS_OK);
    state->now_in_force = next;
    state->in_force = state->change.next;
    persist_reload_end(state->persist, true, state_describe(&state->policies[next], &described),
                       state->now_ns);
}

/* ---- comparing ---- */

/* One number for all that looks at every counter can tell, now and later. */
static inline uint64_t state_digest(struct store *store, const struct store_policies *policies,
                                    int64_t now_ns)
{
    uint64_t digest = 0;
    for (uint32_t policy = 0; policy < STATE_POLICIES; policy++) {
        for (uint32_t key = 0; key < STATE_KEYS; key++) {
            for (int later = 0; later < 5; later++) {
                bool allowed;
                struct store_item item = {.id = state_id(store, policy, key),
                                          .policy = &policies->policies[policy]};
                int64_t at_ns = now_ns + later * 13 * STATE_MINUTE;
                STATE_REQUIRE(store_decide(store, policies, &item, 1, at_ns, &allowed) ==
                              STATUS_OK);
                uint64_t said = item.report.remaining * 31 + (uint64_t)item.report.reset_after_ns;
                digest = (digest ^ said) * UINT64_C(0x100000001b3) + policy;
            }
        }
    }
    return digest;
}

/* What a start would load from a directory now: its digest. False: *why says why not. */
static inline bool state_digest_of(const struct state_fixture *state, const char *path,
                                   uint64_t *digest, struct buf *why)
{
    struct state_dir dir;
    struct load load;
    struct door_in_result result;
    struct store_config config = {.key = {{7}}, .shards = 2};
    struct load_policies hooks = state_hooks(state_in_force(state));
    if (state_dir_look(&dir, path, why) != STATUS_OK) {
        return false;
    }
    bool good = load_open(&load, &dir, why) == STATUS_OK;
    if (good) {
        struct store *store = store_create(&config);
        STATE_REQUIRE(store != NULL);
        store_install(store, state_in_force(state));
        good = load_into(&load, store, &hooks, state->now_ns, &result, NULL, why) == STATUS_OK;
        if (good) {
            *digest = state_digest(store, state_in_force(state), state->now_ns);
        }
        store_destroy(&store);
        load_close(&load);
    }
    state_dir_close(&dir);
    return good;
}

static inline uint64_t state_digest_now(struct state_fixture *state)
{
    return state_digest(state->store, state_in_force(state), state->now_ns);
}

#endif
