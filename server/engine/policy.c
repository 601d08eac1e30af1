#include "engine/policy.h"

#include <arpa/inet.h>
#include <stdlib.h>

void policy_set_destroy(struct policy_set **set)
{
    if (*set == NULL) {
        return;
    }
    arena_deinit(&(*set)->arena);
    free(*set);
    *set = NULL;
}

bool policy_part_value(const struct policy_part *part, const struct request *request,
                       struct slice route, struct slice *value)
{
    if (part->source != POLICY_ATTRIBUTE) {
        *value = part->source == POLICY_KEY ? request->key : route;
        return true;
    }
    for (uint32_t i = 0; i < request->attribute_count && i < LIMITS_ATTRIBUTES_MAX; i++) {
        if (slice_equal(request->attributes[i].name, part->attribute)) {
            *value = request->attributes[i].value;
            return true;
        }
    }
    return false;
}

/* a.b.c.d, the form that nearly all addresses have; as strict as inet_pton (no leading zero). */
static bool policy_parse_v4(struct slice text, uint8_t out[4])
{
    size_t at = 0;
    for (int part = 0; part < 4; part++) {
        uint32_t value = 0;
        size_t start = at;
        while (at < text.size && text.data[at] >= '0' && text.data[at] <= '9' && at - start < 3) {
            value = value * 10 + (uint32_t)(text.data[at++] - '0');
        }
        bool leading_zero = at - start > 1 && text.data[start] == '0';
        if (at == start || value > 255 || leading_zero) {
            return false;
        }
        out[part] = (uint8_t)value;
        if (part < 3 && (at == text.size || text.data[at++] != '.')) {
            return false;
        }
    }
    return at == text.size;
}

bool policy_parse_address(struct slice text, uint8_t out[16], bool *is_v4)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    char copy[INET6_ADDRSTRLEN];
    if (text.size == 0 || text.size >= sizeof(copy)) {
        return false;
    }
    if (policy_parse_v4(text, out + sizeof(mapped))) {
        memcpy(out, mapped, sizeof(mapped));
        *is_v4 = true;
        return true;
    }
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    if (memchr(copy, '\0', text.size) != NULL || inet_pton(AF_INET6, copy, out) != 1) {
        return false;
    }
    *is_v4 = memcmp(out, mapped, sizeof(mapped)) == 0;
    return true;
}

static size_t policy_merge_slashes(uint8_t *bytes, size_t size)
{
    size_t kept = 0;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != '/' || kept == 0 || bytes[kept - 1] != '/') {
            bytes[kept++] = bytes[i];
        }
    }
    return kept;
}

static void policy_lowercase(uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] >= 'A' && bytes[i] <= 'Z') {
            bytes[i] = (uint8_t)(bytes[i] + ('a' - 'A'));
        }
    }
}

struct slice policy_normalise_route(const struct policy_set *set, struct slice route,
                                    uint8_t *scratch)
{
    unsigned normalise = set->normalise;
    if (normalise == 0 || route.size == 0) {
        return route;
    }
    size_t size = route.size;
    if ((normalise & POLICY_STRIP_QUERY) != 0) {
        const uint8_t *query = memchr(route.data, '?', size);
        size = query == NULL ? size : (size_t)(query - route.data);
    }
    if (size > 0) {
        memcpy(scratch, route.data, size);
    }
    if ((normalise & POLICY_MERGE_SLASHES) != 0) {
        size = policy_merge_slashes(scratch, size);
    }
    /* The path begins at the first slash; one that is a slash alone stays. */
    if ((normalise & POLICY_STRIP_TRAILING_SLASH) != 0 && size > 0 && scratch[size - 1] == '/' &&
        memchr(scratch, '/', size - 1) != NULL) {
        size--;
    }
    if ((normalise & POLICY_LOWERCASE) != 0) {
        policy_lowercase(scratch, size);
    }
    struct slice normal = slice_make(scratch, size);
    return slice_equal(normal, route) ? route : normal;
}
