#include "engine/name_index.h"

#define NAME_INDEX_SLOTS_LEAST 8u

static const uint64_t NAME_INDEX_ODD_A = UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */
static const uint64_t NAME_INDEX_ODD_B = UINT64_C(0xd6e8feb86659fd93);

static uint64_t name_index_load(const uint8_t *data, size_t size)
{
    uint64_t word = 0;
    memcpy(&word, data, size);
    return word;
}

static uint64_t name_index_step(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * NAME_INDEX_ODD_B;
    return hash ^ (hash >> 32);
}

/* Eight bytes a step; the last step takes the last eight again rather than a ragged rest. */
static uint64_t name_index_hash(uint32_t space, struct slice name)
{
    uint64_t hash = NAME_INDEX_ODD_A * (((uint64_t)space << 32 | (uint32_t)name.size) + 1);
    size_t at = 0;
    for (; at + 8 < name.size; at += 8) {
        hash = name_index_step(hash, name_index_load(name.data + at, 8));
    }
    if (name.size >= 8) {
        hash = name_index_step(hash, name_index_load(name.data + name.size - 8, 8));
    } else if (name.size > 0) {
        hash = name_index_step(hash, name_index_load(name.data, name.size));
    }
    hash *= NAME_INDEX_ODD_A;
    return hash ^ (hash >> 29);
}

static enum status name_index_allocate(struct name_index *index, uint32_t slots)
{
    index->slots = arena_alloc(index->arena, sizeof(*index->slots) * (size_t)slots);
    if (index->slots == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (uint32_t i = 0; i < slots; i++) {
        index->slots[i].value = NAME_INDEX_NONE;
    }
    index->mask = slots - 1;
    return STATUS_OK;
}

enum status name_index_init(struct name_index *index, struct arena *arena, uint32_t expected)
{
    *index = (struct name_index){.arena = arena};
    if (expected > UINT32_MAX / 4) {
        return STATUS_TOO_LARGE;
    }
    uint32_t slots = NAME_INDEX_SLOTS_LEAST;
    while (slots < expected * 2) {
        slots *= 2;
    }
    return name_index_allocate(index, slots);
}

/* The slot that holds the name, or the empty one where it would go. */
static struct name_index_slot *name_index_seek(const struct name_index *index, uint64_t hash,
                                               uint32_t space, struct slice name)
{
    for (uint32_t at = (uint32_t)hash & index->mask;; at = (at + 1) & index->mask) {
        struct name_index_slot *slot = &index->slots[at];
        if (slot->value == NAME_INDEX_NONE) {
            return slot;
        }
        if (slot->hash == hash && slot->space == space &&
            slice_equal(slice_make(slot->name, slot->size), name)) {
            return slot;
        }
    }
}

uint32_t name_index_find(const struct name_index *index, uint32_t space, struct slice name)
{
    if (index->count == 0) {
        return NAME_INDEX_NONE;
    }
    return name_index_seek(index, name_index_hash(space, name), space, name)->value;
}

static enum status name_index_grow(struct name_index *index)
{
    struct name_index old = *index;
    if (old.mask >= UINT32_MAX / 4) {
        return STATUS_TOO_LARGE;
    }
    enum status status = name_index_allocate(index, (old.mask + 1) * 2);
    if (status != STATUS_OK) {
        *index = old;
        return status;
    }
    for (uint32_t i = 0; i <= old.mask; i++) {
        const struct name_index_slot *from = &old.slots[i];
        if (from->value != NAME_INDEX_NONE) {
            struct slice name = slice_make(from->name, from->size);
            *name_index_seek(index, from->hash, from->space, name) = *from;
        }
    }
    return STATUS_OK;
}

static enum status name_index_put(struct name_index *index, uint32_t space, struct slice name,
                                  uint32_t value, bool replace, uint32_t *before)
{
    if (index->count >= (index->mask + 1) / 2) {
        enum status status = name_index_grow(index);
        if (status != STATUS_OK) {
            return status;
        }
    }
    uint64_t hash = name_index_hash(space, name);
    struct name_index_slot *slot = name_index_seek(index, hash, space, name);
    *before = slot->value;
    index->count += slot->value == NAME_INDEX_NONE;
    if (slot->value == NAME_INDEX_NONE || replace) {
        *slot = (struct name_index_slot){.hash = hash,
                                         .name = name.data,
                                         .size = (uint32_t)name.size,
                                         .space = space,
                                         .value = value};
    }
    return STATUS_OK;
}

enum status name_index_add(struct name_index *index, uint32_t space, struct slice name,
                           uint32_t value, uint32_t *existing)
{
    return name_index_put(index, space, name, value, false, existing);
}

enum status name_index_replace(struct name_index *index, uint32_t space, struct slice name,
                               uint32_t value, uint32_t *before)
{
    return name_index_put(index, space, name, value, true, before);
}
