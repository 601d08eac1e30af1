#include "store/pages.h"

#include <sys/mman.h>

void *pages_take(struct pages *pages, size_t bytes, size_t align)
{
    void *run = pages->given;
    if (run != NULL && pages->given_bytes == bytes && ((uintptr_t)run & (align - 1)) == 0) {
        pages->given = NULL;
        return run;
    }
    pages->wish_bytes = bytes;
    pages->wish_align = align;
    pages->impossible = false;
    return NULL;
}

void pages_drop(struct pages *pages, void *run, size_t bytes)
{
    struct pages_run *dropped = run;
    dropped->bytes = bytes;
    dropped->next = pages->dropped;
    pages->dropped = dropped;
}

/* MAP_POPULATE: the page faults are taken here, not later under a lock. */
static void *map_anonymous(void *context, size_t bytes)
{
    (void)context;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
    void *run = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    return run == MAP_FAILED ? NULL : run;
}

static void unmap_anonymous(void *context, void *run, size_t bytes)
{
    (void)context;
    (void)munmap(run, bytes);
}

struct pages_source pages_system(void)
{
    return (struct pages_source){.map = map_anonymous, .unmap = unmap_anonymous};
}

/* Neighbouring runs of one size mostly come out aligned by themselves, so a plain mapping is tried
 * first; else a larger one is cut to the aligned part. */
void *pages_map(const struct pages_source *source, size_t bytes, size_t align)
{
    uint8_t *run = source->map(source->context, bytes);
    if (run == NULL || ((uintptr_t)run & (align - 1)) == 0) {
        return run;
    }
    source->unmap(source->context, run, bytes);
    run = source->map(source->context, bytes + align);
    if (run == NULL) {
        return NULL;
    }
    size_t front = (size_t)(-(uintptr_t)run & (align - 1));
    if (front > 0) {
        source->unmap(source->context, run, front);
    }
    source->unmap(source->context, run + front + bytes, align - front);
    return run + front;
}

void pages_unmap(const struct pages_source *source, void *run, size_t bytes)
{
    source->unmap(source->context, run, bytes);
}
