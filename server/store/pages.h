/* Runs of whole memory pages, for the parts of a shard that must not ask the kernel themselves.
 *
 * A part that lacks memory says so (pages_take returns NULL and leaves a wish); store.c gives its
 * locks back, maps the run, takes the locks again and repeats the whole operation, which now finds
 * the run. What a part no longer needs it hangs on a list that store.c unmaps after unlocking. */
#ifndef STORE_PAGES_H
#define STORE_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGES_BYTES 4096u

/* A run waiting to be unmapped; written into its own first bytes. */
struct pages_run {
    struct pages_run *next;
    size_t bytes;
};

struct pages {
    void *given; /* mapped for the wish below, not used yet; zeroed memory */
    size_t given_bytes;
    size_t wish_bytes; /* 0: nothing is lacking */
    size_t wish_align;
    bool impossible; /* no memory can help: one place of the table holds too many */
    struct pages_run *dropped;
};

/* A zeroed run of exactly `bytes`, or NULL with the wish noted. `align` is a power of two. */
void *pages_take(struct pages *pages, size_t bytes, size_t align);
void pages_drop(struct pages *pages, void *run, size_t bytes);

/* Where runs come from; a test puts one that fails in its place. */
struct pages_source {
    void *(*map)(void *context, size_t bytes); /* zeroed, resident; NULL: no memory */
    void (*unmap)(void *context, void *run, size_t bytes);
    void *context;
};

struct pages_source pages_system(void);
void *pages_map(const struct pages_source *source, size_t bytes, size_t align);
void pages_unmap(const struct pages_source *source, void *run, size_t bytes);

#endif
