#include "traffic_sorted.h"

#include <stdlib.h>

#define CHUNK_BYTES ((size_t)1024 * 1024)

/* What an access log says of one request: the bytes of key, route, address and user stand one
 * after the other. */
struct traffic_sorted_entry {
    int64_t t_ns;
    uint64_t line; /* also what keeps the sort stable */
    uint64_t cost;
    const uint8_t *bytes;
    uint32_t sizes[4];
    bool has_cost;
    bool has_user;
};

void traffic_sorted_init(struct traffic_sorted *sorted)
{
    *sorted = (struct traffic_sorted){.entries = NULL};
    arena_init(&sorted->arena, CHUNK_BYTES, 0);
}

void traffic_sorted_deinit(struct traffic_sorted *sorted)
{
    free(sorted->entries);
    sorted->entries = NULL;
    arena_deinit(&sorted->arena);
}

static bool grow(struct traffic_sorted *sorted)
{
    size_t capacity = sorted->capacity == 0 ? 1024 : sorted->capacity * 2;
    struct traffic_sorted_entry *entries =
        realloc(sorted->entries, capacity * sizeof(*entries));
    if (entries == NULL) {
        return false;
    }
    sorted->entries = entries;
    sorted->capacity = capacity;
    return true;
}

bool traffic_sorted_add(struct traffic_sorted *sorted, const struct traffic_item *item)
{
    const struct request *request = &item->request;
    bool has_user = request->attribute_count > 1;
    struct slice parts[4] = {request->key, request->route, request->attributes[0].value,
                             has_user ? request->attributes[1].value : slice_make(NULL, 0)};
    if (sorted->count == sorted->capacity && !grow(sorted)) {
        return false;
    }
    size_t total = 0;
    for (int i = 0; i < 4; i++) {
        total += parts[i].size;
    }
    uint8_t *bytes = arena_alloc(&sorted->arena, total + 1);
    if (bytes == NULL) {
        return false;
    }
    struct traffic_sorted_entry *entry = &sorted->entries[sorted->count++];
    *entry = (struct traffic_sorted_entry){.t_ns = item->t_ns,
                                           .line = item->line,
                                           .cost = request->cost,
                                           .bytes = bytes,
                                           .has_cost = request->has_cost,
                                           .has_user = has_user};
    for (int i = 0; i < 4; i++) {
        if (parts[i].size > 0) {
            memcpy(bytes, parts[i].data, parts[i].size);
        }
        entry->sizes[i] = (uint32_t)parts[i].size;
        bytes += parts[i].size;
    }
    return true;
}

static int compare(const void *left, const void *right)
{
    const struct traffic_sorted_entry *a = left;
    const struct traffic_sorted_entry *b = right;
    if (a->t_ns != b->t_ns) {
        return a->t_ns < b->t_ns ? -1 : 1;
    }
    return a->line < b->line ? -1 : a->line > b->line;
}

void traffic_sorted_arrange(struct traffic_sorted *sorted)
{
    if (sorted->count > 1) {
        qsort(sorted->entries, sorted->count, sizeof(sorted->entries[0]), compare);
    }
}

bool traffic_sorted_next(struct traffic_sorted *sorted, struct traffic_item *item)
{
    if (sorted->next >= sorted->count) {
        return false;
    }
    const struct traffic_sorted_entry *entry = &sorted->entries[sorted->next++];
    struct slice parts[4];
    const uint8_t *bytes = entry->bytes;
    for (int i = 0; i < 4; i++) {
        parts[i] = slice_make(bytes, entry->sizes[i]);
        bytes += entry->sizes[i];
    }
    *item = (struct traffic_item){.line = entry->line, .t_ns = entry->t_ns};
    item->request.key = parts[0];
    item->request.route = parts[1];
    item->request.has_cost = entry->has_cost;
    item->request.cost = entry->cost;
    item->request.attribute_count = entry->has_user ? 2 : 1;
    item->request.attributes[0] =
        (struct request_attribute){.name = slice_text("ip"), .value = parts[2]};
    item->request.attributes[1] =
        (struct request_attribute){.name = slice_text("user"), .value = parts[3]};
    return true;
}
