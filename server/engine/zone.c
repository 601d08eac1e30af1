/* TZif (RFC 8536): a header with six counts, data in 32-bit times, and from version 2 on the same
 * once more in 64-bit times, followed by a rule for the time after. Every count is checked against
 * the bytes that are there before anything is read. */
#include "engine/zone.h"

#include "base/limits.h"
#include "engine/zone_rule.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define ZONE_HEADER_BYTES ((size_t)44)
#define ZONE_TYPE_BYTES ((size_t)6)
#define ZONE_FIRST_YEAR 1677 /* the first and last that fit an instant in ns, and a margin */
#define ZONE_LAST_YEAR 2300
#define ZONE_OFFSET_CEILING_S 93599 /* 25:59:59, as RFC 8536 has it */
#define ZONE_AVERAGE_YEAR_S INT64_C(31556952)

/* One data block, found in the bytes. */
struct zone_block {
    const uint8_t *times;
    const uint8_t *kinds; /* the type of each time */
    const uint8_t *types;
    uint32_t time_count;
    uint32_t type_count;
    uint32_t leap_count;
    uint32_t time_bytes; /* 4 or 8 */
};

/* The table under construction. */
struct zone_table {
    struct calendar_shift *shifts;
    uint32_t count;
};

struct calendar_zone zone_utc(void)
{
    static const struct calendar_shift utc = {.from_s = INT64_MIN, .offset_s = 0};
    return (struct calendar_zone){.shifts = &utc, .count = 1};
}

static uint32_t zone_u32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static int64_t zone_time(const struct zone_block *block, uint32_t index)
{
    const uint8_t *at = block->times + (size_t)index * block->time_bytes;
    if (block->time_bytes == 4) {
        return (int32_t)zone_u32(at);
    }
    return (int64_t)((uint64_t)zone_u32(at) << 32 | zone_u32(at + 4));
}

/* The block whose header stands at *offset; *offset moves behind it. */
static bool zone_find_block(struct slice bytes, size_t *offset, uint32_t time_bytes,
                            struct zone_block *out)
{
    if (bytes.size < *offset || bytes.size - *offset < ZONE_HEADER_BYTES ||
        memcmp(bytes.data + *offset, "TZif", 4) != 0) {
        return false;
    }
    const uint8_t *header = bytes.data + *offset;
    uint64_t is_utc = zone_u32(header + 20);
    uint64_t is_standard = zone_u32(header + 24);
    uint64_t leaps = zone_u32(header + 28);
    uint64_t times = zone_u32(header + 32);
    uint64_t types = zone_u32(header + 36);
    uint64_t letters = zone_u32(header + 40);
    uint64_t size = times * (time_bytes + 1) + types * ZONE_TYPE_BYTES + letters +
                    leaps * (time_bytes + 4) + is_standard + is_utc;
    *offset += ZONE_HEADER_BYTES;
    if (size > bytes.size - *offset) {
        return false;
    }
    const uint8_t *data = bytes.data + *offset;
    *out = (struct zone_block){.times = data,
                               .kinds = data + times * time_bytes,
                               .types = data + times * (time_bytes + 1),
                               .time_count = (uint32_t)times,
                               .type_count = (uint32_t)types,
                               .leap_count = (uint32_t)leaps,
                               .time_bytes = time_bytes};
    *offset += size;
    return types > 0 && types <= 256;
}

static bool zone_offset(const struct zone_block *block, uint32_t type, int32_t *out)
{
    if (type >= block->type_count) {
        return false;
    }
    *out = (int32_t)zone_u32(block->types + type * ZONE_TYPE_BYTES);
    return *out >= -ZONE_OFFSET_CEILING_S && *out <= ZONE_OFFSET_CEILING_S;
}

/* A change that changes nothing is left out; one at the same instant takes the other's place. */
static void zone_add(struct zone_table *table, int64_t from_s, int32_t offset_s)
{
    if (table->count > 0 && table->shifts[table->count - 1].from_s == from_s) {
        table->count--;
    }
    if (table->count == 0 || table->shifts[table->count - 1].offset_s != offset_s) {
        table->shifts[table->count++] =
            (struct calendar_shift){.from_s = from_s, .offset_s = offset_s};
    }
}

static bool zone_add_written(const struct zone_block *block, struct zone_table *table)
{
    int32_t offset_s = 0;
    if (!zone_offset(block, 0, &offset_s)) {
        return false;
    }
    zone_add(table, INT64_MIN, offset_s);
    for (uint32_t i = 0; i < block->time_count; i++) {
        int64_t from_s = zone_time(block, i);
        if ((i > 0 && from_s <= zone_time(block, i - 1)) ||
            !zone_offset(block, block->kinds[i], &offset_s)) {
            return false;
        }
        zone_add(table, from_s, offset_s);
    }
    return true;
}

static int zone_compare(const void *left, const void *right)
{
    const struct calendar_shift *a = left;
    const struct calendar_shift *b = right;
    return a->from_s < b->from_s ? -1 : a->from_s > b->from_s;
}

/* Writes the rule out, year by year, for the time after `after_s`. Where one summer time ends at
 * the instant the next begins it is summer all year, so the start comes second. */
static bool zone_add_rule(const struct zone_rule *rule, int64_t after_s, bool any_written,
                          struct zone_table *table)
{
    if (!rule->has_summer) {
        zone_add(table, any_written ? after_s : INT64_MIN, rule->standard_s);
        return true;
    }
    int64_t year = any_written ? 1970 + after_s / ZONE_AVERAGE_YEAR_S - 2 : ZONE_FIRST_YEAR;
    year = year < ZONE_FIRST_YEAR ? ZONE_FIRST_YEAR : year;
    struct calendar_shift *changes =
        malloc(sizeof(*changes) * 2 * (ZONE_LAST_YEAR - ZONE_FIRST_YEAR + 1));
    if (changes == NULL) {
        return false;
    }
    uint32_t count = 0;
    for (; year <= ZONE_LAST_YEAR; year++) {
        int64_t start = zone_rule_instant(&rule->start, (int32_t)year, rule->standard_s);
        int64_t end = zone_rule_instant(&rule->end, (int32_t)year, rule->summer_s);
        int64_t next = zone_rule_instant(&rule->start, (int32_t)year + 1, rule->standard_s);
        changes[count++] = (struct calendar_shift){start, rule->summer_s};
        if (end != next) {
            changes[count++] = (struct calendar_shift){end, rule->standard_s};
        }
    }
    qsort(changes, count, sizeof(*changes), zone_compare);
    for (uint32_t i = 0; i < count; i++) {
        if (!any_written || changes[i].from_s > after_s) {
            zone_add(table, changes[i].from_s, changes[i].offset_s);
        }
    }
    free(changes);
    return true;
}

/* "\n<rule>\n" behind the second block; an empty rule says nothing. */
static bool zone_find_rule(struct slice bytes, size_t offset, struct slice *out)
{
    if (offset >= bytes.size || bytes.data[offset] != '\n') {
        return false;
    }
    const uint8_t *start = bytes.data + offset + 1;
    const uint8_t *end = memchr(start, '\n', bytes.size - offset - 1);
    if (end == NULL) {
        return false;
    }
    *out = slice_make(start, (size_t)(end - start));
    return true;
}

static enum status zone_make(const struct zone_block *block, const struct zone_rule *rule,
                             struct arena *arena, struct calendar_zone *out)
{
    size_t most = (size_t)block->time_count + 1 + 2 * (ZONE_LAST_YEAR - ZONE_FIRST_YEAR + 1) + 1;
    struct zone_table table = {.shifts = malloc(sizeof(struct calendar_shift) * most)};
    enum status status = table.shifts == NULL ? STATUS_NO_MEMORY : STATUS_OK;
    if (status == STATUS_OK && !zone_add_written(block, &table)) {
        status = STATUS_INVALID;
    }
    if (status == STATUS_OK && rule != NULL) {
        bool any = block->time_count > 0;
        int64_t after_s = any ? zone_time(block, block->time_count - 1) : INT64_MIN;
        status = zone_add_rule(rule, after_s, any, &table) ? STATUS_OK : STATUS_NO_MEMORY;
    }
    if (status == STATUS_OK) {
        size_t size = sizeof(*table.shifts) * table.count;
        struct calendar_shift *kept = arena_alloc(arena, size);
        status = kept == NULL ? STATUS_NO_MEMORY : STATUS_OK;
        if (kept != NULL) {
            memcpy(kept, table.shifts, size);
            *out = (struct calendar_zone){.shifts = kept, .count = table.count};
        }
    }
    free(table.shifts);
    return status;
}

enum status zone_parse(struct slice bytes, struct arena *arena, struct calendar_zone *out)
{
    struct zone_block block;
    struct zone_rule rule;
    struct slice text = slice_make(NULL, 0);
    size_t offset = 0;
    bool first = zone_find_block(bytes, &offset, 4, &block);
    if (offset == 0) {
        return STATUS_INVALID;
    }
    uint8_t version = bytes.data[4];
    if (version == '\0' && !first) {
        return STATUS_INVALID;
    }
    if (version != '\0' && !zone_find_block(bytes, &offset, 8, &block)) {
        return STATUS_INVALID;
    }
    if (version != '\0' && !zone_find_rule(bytes, offset, &text)) {
        return STATUS_INVALID;
    }
    if (block.leap_count > 0) {
        return STATUS_UNSUPPORTED;
    }
    if (text.size > 0 && !zone_rule_parse(text, &rule)) {
        return STATUS_INVALID;
    }
    return zone_make(&block, text.size > 0 ? &rule : NULL, arena, out);
}

/* Letters, digits and _ + - in words between slashes: no name leads out of the directory. */
static bool zone_name_is_good(struct slice name)
{
    if (name.size == 0 || name.size > LIMITS_ZONE_NAME_BYTES_MAX) {
        return false;
    }
    for (size_t i = 0; i < name.size; i++) {
        uint8_t byte = name.data[i];
        bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                      (byte >= '0' && byte <= '9') || byte == '_' || byte == '+' || byte == '-';
        bool between = byte == '/' && i > 0 && i + 1 < name.size && name.data[i - 1] != '/';
        if (!letter && !between) {
            return false;
        }
    }
    return true;
}

/* The file's bytes, malloc'd; NULL and errno. */
static uint8_t *zone_read_file(const char *path, size_t *size)
{
    uint8_t *bytes = malloc(LIMITS_ZONE_FILE_BYTES_MAX);
    errno = ENOMEM;
    int fd = bytes == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got = fd < 0 ? -1 : 1;
    *size = 0;
    while (got > 0 && *size < LIMITS_ZONE_FILE_BYTES_MAX) {
        got = read(fd, bytes + *size, LIMITS_ZONE_FILE_BYTES_MAX - *size);
        *size += got > 0 ? (size_t)got : 0;
    }
    int error = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    if (got < 0) {
        free(bytes);
        errno = error;
        return NULL;
    }
    return bytes;
}

enum status zone_load(const char *dir, struct slice name, struct arena *arena,
                      struct calendar_zone *out, char *why, size_t why_size)
{
    const char *directory = dir == NULL ? ZONE_DIR_DEFAULT : dir;
    char path[4096];
    struct stat about;
    if (slice_equal_text(name, "UTC")) {
        *out = zone_utc();
        return STATUS_OK;
    }
    if (!zone_name_is_good(name)) {
        (void)snprintf(why, why_size, "is no name of a time zone, such as Europe/Berlin");
        return STATUS_INVALID;
    }
    if (stat(directory, &about) != 0 || !S_ISDIR(about.st_mode)) {
        (void)snprintf(why, why_size,
                       "needs the time zone database, and there is none in %.160s", directory);
        return STATUS_NOT_FOUND;
    }
    int length = snprintf(path, sizeof(path), "%s/%.*s", directory, (int)name.size,
                          (const char *)name.data);
    size_t size = 0;
    errno = ENAMETOOLONG;
    uint8_t *bytes = length < 0 || (size_t)length >= sizeof(path) ? NULL
                                                                  : zone_read_file(path, &size);
    if (bytes == NULL && errno == ENOMEM) {
        return STATUS_NO_MEMORY;
    }
    if (bytes == NULL) {
        bool unknown = errno == ENOENT || errno == ENOTDIR || errno == EISDIR;
        (void)snprintf(why, why_size, unknown ? "is unknown to the time zone database in %.120s"
                                              : "cannot be read from %.120s",
                       directory);
        return unknown ? STATUS_NOT_FOUND : STATUS_IO;
    }
    enum status status = zone_parse(slice_make(bytes, size), arena, out);
    free(bytes);
    if (status == STATUS_UNSUPPORTED) {
        (void)snprintf(why, why_size, "counts leap seconds; use the zone of the same name outside "
                                      "right/");
    } else if (status != STATUS_OK) {
        (void)snprintf(why, why_size, "is damaged in the time zone database in %.120s", directory);
    }
    return status;
}
