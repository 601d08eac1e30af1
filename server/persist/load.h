/* Reading a state directory. First all of it is read and every checksum tried, before anything is
 * used; then the counters go into the store, each through the policies since it was written.
 *
 *   sealed      (a clean stop)  every byte of every file is as it was written, or it is damage
 *   not sealed  (a crash)       the newest journal may end in an append that was not finished: that
 *                               is dropped; anything else that is wrong is damage
 *
 * No file is changed here. */
#ifndef PERSIST_LOAD_H
#define PERSIST_LOAD_H

#include "persist/state_dir.h"
#include "store/door_in.h"

struct load_file {
    enum format_kind kind;
    uint64_t number;
    uint8_t *bytes;
    size_t size;
    uint64_t end; /* what counts ends here */
    uint64_t *places; /* of its blocks of counters; a base's only */
    uint32_t place_count;
    struct format_header header;
};

struct load {
    const struct state_dir *dir;
    struct format_codec *codec;
    struct load_file *files; /* the base, then its journals in order */
    uint32_t file_count;     /* 0: there is no state */
    uint64_t state_id;
    bool sealed;
    uint64_t covered;      /* the base's append: records up to it may be older than the base's */
    uint64_t last_append;
    uint64_t last_epoch;
    uint64_t base_counters;
    uint64_t journal_records;
    uint64_t dropped_bytes; /* of an unfinished append */
};

/* Reads and tries everything. On failure *why holds one sentence that begins with the file. */
STATUS_CHECKED enum status load_open(struct load *load, const struct state_dir *dir,
                                     struct buf *why);
void load_close(struct load *load);

/* Only after load_open with file_count > 0. */
const struct hash_key *load_key(const struct load *load);

/* How policies are understood: by the engine, which persistence does not know. A set is what `read`
 * made of a description; NULL stands for the policies in force. */
struct load_policies {
    void *context;
    const struct store_policies *in_force;
    enum status (*read)(void *context, struct slice description, void **set,
                        const struct store_policies **policies);
    /* One entry a policy of `from`: its heir in `to`, or STORE_GONE. Freed with free(). */
    uint32_t *(*map)(void *context, const void *from, const void *to, struct buf *log);
    void (*drop)(void *context, void *set);
};

/* Puts all counters into an empty store whose policies are installed. `log` gets a line for each
 * limit that starts fresh. On failure the store holds part of them. */
STATUS_CHECKED enum status load_into(struct load *load, struct store *store,
                                     const struct load_policies *policies, int64_t now_ns,
                                     struct door_in_result *result, struct buf *log,
                                     struct buf *why);

/* Every block that counts, file after file, in order. Stops at the first that `each` does not
 * return STATUS_OK for. */
typedef enum status load_visitor(void *context, const struct load_file *file,
                                 const struct format_block *block);
STATUS_CHECKED enum status load_each(struct load *load, load_visitor *each, void *context);

#endif
