/* Every cut and many flips of every file. A sealed state is refused as soon as one bit is wrong; of
 * one that a crash left, only an append that was not finished may be missing. */
#include "state_fixture.h"

#include <criterion/criterion.h>

#define FLIPS 1000
#define APPENDS 6

struct bytes {
    uint8_t *data;
    size_t size;
};

static struct bytes read_whole(const char *path)
{
    struct stat about;
    int fd = open(path, O_RDONLY);
    cr_assert(fd >= 0 && fstat(fd, &about) == 0);
    struct bytes bytes = {.data = malloc((size_t)about.st_size + 1),
                          .size = (size_t)about.st_size};
    cr_assert_eq(read(fd, bytes.data, bytes.size), (ssize_t)bytes.size);
    close(fd);
    return bytes;
}

static void write_whole(const char *path, const uint8_t *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_TRUNC);
    cr_assert(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
}

/* What may come out: the digests after each append. */
struct expected {
    uint64_t digests[APPENDS + 1];
    uint32_t count;
};

static bool is_expected(const struct expected *expected, uint64_t digest)
{
    for (uint32_t i = 0; i < expected->count; i++) {
        if (expected->digests[i] == digest) {
            return true;
        }
    }
    return false;
}

static void expect_refused(const struct buf *why, const char *name)
{
    cr_assert_gt(why->size, 0);
    char said[512];
    (void)snprintf(said, sizeof(said), "%.*s", (int)why->size,
                   (const char *)why->data + why->start);
    cr_assert(strstr(said, name) != NULL, "%s: %s", name, said);
    cr_assert(strchr(said, '\n') == NULL);
}

/* Loads a directory with one file changed. */
static void try_changed(struct state_fixture *state, const char *name, const char *path,
                        const uint8_t *data, size_t size, const struct expected *expected)
{
    struct buf why;
    uint64_t digest = 0;
    buf_init(&why, 0);
    write_whole(path, data, size);
    if (state_digest_of(state, state->path, &digest, &why)) {
        cr_assert(is_expected(expected, digest), "%s loaded with wrong counts", name);
    } else {
        expect_refused(&why, name);
    }
    buf_deinit(&why);
}

static void try_file(struct state_fixture *state, const char *name,
                     const struct expected *expected)
{
    char path[400];
    (void)snprintf(path, sizeof(path), "%s/%s", state->path, name);
    struct bytes whole = read_whole(path);
    for (size_t size = 0; size < whole.size; size++) {
        try_changed(state, name, path, whole.data, size, expected);
    }
    for (int i = 0; i < FLIPS; i++) {
        uint64_t dice = state_random(state);
        size_t at = (size_t)(dice / 8 % whole.size);
        uint8_t bit = (uint8_t)(1u << (dice % 8));
        whole.data[at] ^= bit;
        try_changed(state, name, path, whole.data, whole.size, expected);
        whole.data[at] ^= bit;
    }
    write_whole(path, whole.data, whole.size);
    free(whole.data);
}

/* A journal of several appends behind a base of some counters. */
static void fill(struct state_fixture *state, struct expected *expected)
{
    struct buf why;
    buf_init(&why, 0);
    state_begin(state);
    cr_assert(state_open(state, &why));
    for (int i = 0; i < 40; i++) {
        state_request(state);
    }
    cr_assert(state_close(state));
    cr_assert(state_open(state, &why));
    int64_t end_ns = state->now_ns + 60 * STATE_MINUTE;
    for (int append = 0; append < APPENDS; append++) {
        for (int i = 0; i < 8; i++) {
            state_request(state);
        }
        cr_assert(persist_write_now(state->persist));
    }
    state->now_ns = end_ns;
    expected->count = 0;
    buf_deinit(&why);
}

Test(damage, of_a_sealed_state_is_always_told)
{
    struct state_fixture state;
    struct expected none = {.count = 0};
    fill(&state, &none);
    cr_assert(state_close(&state));
    try_file(&state, "base-0000000000000001.sluice", &none);
    try_file(&state, "journal-0000000000000001.sluice", &none);
    try_file(&state, "journal-0000000000000002.sluice", &none);
    try_file(&state, "seal", &none);
    struct buf why;
    buf_init(&why, 0);
    cr_assert(state_open(&state, &why), "the files are as they were");
    buf_deinit(&why);
    state_end(&state);
}

/* The digest of every prefix that ends with an append: found by cutting at each length. */
Test(damage, of_a_crashed_state_loses_no_more_than_its_last_append)
{
    struct state_fixture state;
    struct expected expected;
    struct buf why;
    char copy[64];
    uint64_t whole;
    fill(&state, &expected);
    buf_init(&why, 0);
    state_copy_folder(state.path, copy);
    int64_t now_ns = state.now_ns;
    state_end(&state);
    (void)strcpy(state.path, copy);
    state.now_ns = now_ns;
    cr_assert(state_digest_of(&state, copy, &whole, &why));

    /* Cuts: each loads as one of the prefixes, in order, the whole one last. */
    char path[400];
    (void)snprintf(path, sizeof(path), "%s/journal-0000000000000002.sluice", copy);
    struct bytes bytes = read_whole(path);
    for (size_t size = 0; size <= bytes.size; size++) {
        uint64_t digest;
        buf_clear(&why);
        write_whole(path, bytes.data, size);
        if (state_digest_of(&state, copy, &digest, &why) && !is_expected(&expected, digest)) {
            cr_assert_lt(expected.count, APPENDS + 1, "more prefixes than appends");
            expected.digests[expected.count] = digest;
            expected.count++;
        }
    }
    cr_assert_eq(expected.count, APPENDS + 1);
    cr_assert_eq(expected.digests[APPENDS], whole);

    /* Flips: a changed byte before the last append is no unfinished tail. */
    struct expected last_two = {.digests = {expected.digests[APPENDS - 1], whole}, .count = 2};
    for (int i = 0; i < FLIPS; i++) {
        uint64_t dice = state_random(&state);
        size_t at = (size_t)(dice / 8 % bytes.size);
        bytes.data[at] ^= (uint8_t)(1u << (dice % 8));
        try_changed(&state, "journal-0000000000000002.sluice", path, bytes.data, bytes.size,
                    &last_two);
        bytes.data[at] ^= (uint8_t)(1u << (dice % 8));
    }
    write_whole(path, bytes.data, bytes.size);
    free(bytes.data);
    struct expected nothing = {.count = 0};
    try_file(&state, "base-0000000000000001.sluice", &nothing);
    state_end(&state);
    buf_deinit(&why);
}

/* A start behind an unfinished append goes on, and so does the next. */
Test(damage, an_unfinished_append_is_left_behind_for_ever)
{
    struct state_fixture state;
    struct expected none;
    struct buf why;
    buf_init(&why, 0);
    fill(&state, &none);
    for (int round = 0; round < 5; round++) {
        char copy[64];
        char path[400];
        char name[STATE_DIR_NAME_BYTES];
        cr_assert(persist_write_now(state.persist));
        uint64_t before = state_digest_now(&state);
        int64_t now_ns = state.now_ns;
        state_request(&state);
        state_request(&state);
        cr_assert(persist_write_now(state.persist));
        state_copy_folder(state.path, copy);
        state_end(&state);
        (void)strcpy(state.path, copy);
        state.now_ns = now_ns;
        state_dir_name(FORMAT_JOURNAL, (uint64_t)round + 2, name);
        (void)snprintf(path, sizeof(path), "%s/%s", copy, name);
        struct stat about;
        cr_assert(stat(path, &about) == 0 && truncate(path, about.st_size - 3) == 0);
        cr_assert(state_open(&state, &why), "round %d: %.*s", round, (int)why.size,
                  (const char *)why.data);
        cr_assert_eq(state_digest_now(&state), before, "round %d", round);
    }
    state_end(&state);
    buf_deinit(&why);
}

/* ---- what a directory may hold besides ---- */

static void expect_why(struct state_fixture *state, const char *words)
{
    struct buf why;
    uint64_t digest;
    buf_init(&why, 0);
    cr_assert(!state_digest_of(state, state->path, &digest, &why), "%s", words);
    expect_refused(&why, words);
    buf_deinit(&why);
}

static void sealed(struct state_fixture *state, const char *name, char path[400])
{
    struct expected none;
    fill(state, &none);
    cr_assert(state_close(state));
    (void)snprintf(path, 400, "%s/%s", state->path, name);
}

Test(damage, a_newer_format_is_named_as_such)
{
    struct state_fixture state;
    char path[400];
    sealed(&state, "base-0000000000000001.sluice", path);
    struct bytes bytes = read_whole(path);
    bytes.data[8] = FORMAT_VERSION + 1;
    write_whole(path, bytes.data, bytes.size);
    expect_why(&state, "was written by a newer version of sluiced");
    free(bytes.data);
    state_end(&state);
}

Test(damage, a_foreign_file_is_named_as_such)
{
    struct state_fixture state;
    char path[400];
    static const uint8_t foreign[] = "this is a shopping list: bread, butter, eggs";
    sealed(&state, "base-0000000000000001.sluice", path);
    write_whole(path, foreign, sizeof(foreign));
    expect_why(&state, "is not a state file of sluiced");
    state_end(&state);
}

Test(damage, missing_files_are_named)
{
    struct state_fixture state;
    char path[400];
    sealed(&state, "journal-0000000000000002.sluice", path);
    cr_assert_eq(unlink(path), 0);
    expect_why(&state, "journal-0000000000000002.sluice is missing");
    (void)snprintf(path, sizeof(path), "%s/seal", state.path);
    cr_assert_eq(unlink(path), 0);
    (void)snprintf(path, sizeof(path), "%s/base-0000000000000001.sluice", state.path);
    cr_assert_eq(unlink(path), 0);
    expect_why(&state, "no base");
    state_end(&state);
}

Test(damage, a_journal_in_the_middle_is_missed)
{
    struct state_fixture state;
    struct buf why;
    char path[400];
    char copy[64];
    buf_init(&why, 0);
    sealed(&state, "journal-0000000000000002.sluice", path);
    cr_assert(state_open(&state, &why));
    state_copy_folder(state.path, copy);
    state_end(&state);
    (void)strcpy(state.path, copy);
    (void)snprintf(path, sizeof(path), "%s/journal-0000000000000002.sluice", copy);
    cr_assert_eq(unlink(path), 0);
    expect_why(&state, "journal-0000000000000002.sluice is missing");
    state_end(&state);
    buf_deinit(&why);
}

Test(damage, a_journal_of_another_state_is_refused)
{
    struct state_fixture one;
    struct state_fixture other;
    char path[400];
    char strange[400];
    sealed(&one, "journal-0000000000000001.sluice", path);
    sealed(&other, "journal-0000000000000001.sluice", strange);
    struct bytes bytes = read_whole(strange);
    (void)unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    close(fd);
    write_whole(path, bytes.data, bytes.size);
    free(bytes.data);
    expect_why(&one, "journal-0000000000000001.sluice");
    state_end(&one);
    state_end(&other);
}

Test(damage, bad_files_are_moved_aside_and_kept)
{
    struct state_fixture state;
    struct buf why;
    char path[400];
    uint64_t digest;
    buf_init(&why, 0);
    sealed(&state, "journal-0000000000000002.sluice", path);
    cr_assert_eq(truncate(path, 10), 0);
    struct state_dir dir;
    bool waiting;
    cr_assert_eq(state_dir_open(&dir, state.path, &waiting, &why), STATUS_OK);
    cr_assert(state_dir_move_aside(&dir, 1234 * CLOCK_NS_PER_S));
    state_dir_close(&dir);
    (void)strcat(path, ".bad-1234");
    struct bytes kept = read_whole(path);
    cr_assert_eq(kept.size, 10);
    free(kept.data);
    cr_assert(state_digest_of(&state, state.path, &digest, &why), "nothing is left to load");
    state_end(&state);
    buf_deinit(&why);
}

Test(damage, one_daemon_holds_a_directory_and_one_may_wait)
{
    struct state_fixture state;
    struct state_dir second;
    struct state_dir third;
    struct buf why;
    bool waiting;
    buf_init(&why, 0);
    state_begin(&state);
    cr_assert(state_open(&state, &why));
    cr_assert(!state_dir_has_successor(&state.dir));
    cr_assert_eq(state_dir_open(&second, state.path, &waiting, &why), STATUS_OK);
    cr_assert(waiting);
    cr_assert(state_dir_has_successor(&state.dir));
    cr_assert_eq(state_dir_open(&third, state.path, &waiting, &why), STATUS_UNAVAILABLE);
    cr_assert(!state_dir_take(&second));
    cr_assert(state_close(&state));
    cr_assert(state_dir_take(&second));
    state_dir_close(&second);
    state_end(&state);
    buf_deinit(&why);
}
