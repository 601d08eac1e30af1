#include "engine/limits_file_zone.h"

#include "engine/limits_file_read.h"
#include "engine/zone.h"

static void limits_file_zone_remember(struct limits_file_build *build, struct slice name,
                                      struct calendar_zone zone)
{
    uint32_t existing = NAME_INDEX_NONE;
    if ((build->zone_count & (build->zone_count + 1)) == 0) {
        /* Full at 0, 1, 3, 7 …: twice the room and one. */
        struct calendar_zone *grown =
            arena_alloc(&build->scratch, sizeof(*grown) * (build->zone_count * 2 + 1));
        if (grown != NULL && build->zone_count > 0) {
            memcpy(grown, build->zones, sizeof(*grown) * build->zone_count);
        }
        build->zones = grown;
    }
    if (build->zones == NULL ||
        name_index_add(&build->zone_index, 0, name, build->zone_count, &existing) != STATUS_OK) {
        build->no_memory = true;
        return;
    }
    build->zones[build->zone_count++] = zone;
}

bool limits_file_zone_read(struct limits_file_build *build, const struct yaml_tree_node *node,
                           struct calendar_zone *out)
{
    struct slice name;
    if (!limits_file_read_text(build, node, "timezone", "a name such as Europe/Berlin", &name)) {
        return false;
    }
    uint32_t known = name_index_find(&build->zone_index, 0, name);
    if (known != NAME_INDEX_NONE) {
        *out = build->zones[known];
        return true;
    }
    char why[LIMITS_MESSAGE_BYTES_MAX];
    enum status status =
        zone_load(build->options->zone_dir, name, &build->set->arena, out, why, sizeof(why));
    if (status == STATUS_NO_MEMORY) {
        build->no_memory = true;
        return false;
    }
    if (status != STATUS_OK) {
        LIMITS_FILE_BUILD_ERROR(build, node, "timezone: %s %s",
                                limits_file_notes_quote(&build->notes, name), why);
        return false;
    }
    limits_file_zone_remember(build, name, *out);
    return !build->no_memory;
}
