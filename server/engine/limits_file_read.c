#include "engine/limits_file_read.h"

#include "base/text.h"

#include <inttypes.h>

static uint32_t limits_file_read_field_index(struct slice name, const char *const *names)
{
    uint32_t i = 0;
    while (names[i] != NULL && !slice_equal_text(name, names[i])) {
        i++;
    }
    return i;
}

/* The nearest name is most likely what was meant: that it is missing is then not said as well. */
static void limits_file_read_unknown(struct limits_file_build *build,
                                     const struct yaml_tree_node *key, const char *const *names,
                                     struct limits_file_fields *out)
{
    const char *quoted = limits_file_notes_quote(&build->notes, key->text);
    const char *nearest = text_nearest(key->text, names);
    if (nearest == NULL) {
        LIMITS_FILE_BUILD_ERROR(build, key, "unknown field %s", quoted);
        return;
    }
    LIMITS_FILE_BUILD_ERROR(build, key, "unknown field %s; did you mean \"%s\"?", quoted, nearest);
    out->excused[limits_file_read_field_index(slice_text(nearest), names)] = true;
}

bool limits_file_read_fields(struct limits_file_build *build, const struct yaml_tree_node *node,
                             const char *what, const char *const *names,
                             struct limits_file_fields *out)
{
    *out = (struct limits_file_fields){.items = {NULL}};
    if (node->kind != YAML_TREE_MAPPING) {
        LIMITS_FILE_BUILD_ERROR(build, node, "expected %s", what);
        return false;
    }
    for (uint32_t i = 0; names[i] != NULL; i++) {
        out->excused[i] = node->cut;
    }
    for (const struct yaml_tree_item *item = node->first; item != NULL; item = item->next) {
        if (item->key->kind != YAML_TREE_SCALAR) {
            LIMITS_FILE_BUILD_ERROR(build, item->key, "the name of a field is plain text");
            continue;
        }
        uint32_t at = limits_file_read_field_index(item->key->text, names);
        if (item->first_line != 0) {
            LIMITS_FILE_BUILD_ERROR(build, item->key,
                                    "field %s stands here twice, first in line %u",
                                    limits_file_notes_quote(&build->notes, item->key->text),
                                    item->first_line);
        } else if (names[at] == NULL) {
            limits_file_read_unknown(build, item->key, names, out);
        } else {
            out->items[at] = item;
        }
    }
    return true;
}

bool limits_file_read_text(struct limits_file_build *build, const struct yaml_tree_node *node,
                           const char *field, const char *what, struct slice *out)
{
    if (node->kind != YAML_TREE_SCALAR) {
        LIMITS_FILE_BUILD_ERROR(build, node, "%s: expected %s, not a %s", field, what,
                                node->kind == YAML_TREE_SEQUENCE ? "list" : "mapping");
        return false;
    }
    *out = node->text;
    return true;
}

bool limits_file_read_list(struct limits_file_build *build, const struct yaml_tree_node *node,
                           const char *field, const char *what)
{
    if (node->kind == YAML_TREE_SEQUENCE) {
        return true;
    }
    LIMITS_FILE_BUILD_ERROR(build, node, "%s: expected %s", field, what);
    return false;
}

/* Why text is no whole number, from the most telling sign of it. */
static const char *limits_file_read_number_reason(struct slice text)
{
    if (text.size == 0) {
        return "is empty";
    }
    if (text.data[0] == '-') {
        return "is negative";
    }
    if (text.data[0] == '+') {
        return "has a sign";
    }
    if (text.data[0] < '0' || text.data[0] > '9') {
        return "is no number";
    }
    if (text.size > 1 && text.data[0] == '0') {
        return "begins with 0";
    }
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '.') {
            return "is a fraction";
        }
        if (text.data[i] == 'e' || text.data[i] == 'E') {
            return "has an exponent";
        }
    }
    return "has more in it than digits";
}

bool limits_file_read_number(struct limits_file_build *build, const struct yaml_tree_node *node,
                             const char *field, uint64_t least, uint64_t most, uint64_t *out)
{
    struct slice text;
    if (!limits_file_read_text(build, node, field, "a whole number", &text)) {
        return false;
    }
    uint64_t value = 0;
    enum status status = text_parse_grouped_u64(text, &value);
    const char *reason = NULL;
    if (status == STATUS_TOO_LARGE || (status == STATUS_OK && value > most)) {
        reason = "is too large";
    } else if (status != STATUS_OK) {
        reason = limits_file_read_number_reason(text);
    } else if (value < least) {
        reason = "is too small";
    }
    if (reason != NULL) {
        LIMITS_FILE_BUILD_ERROR(build, node,
                                "%s: %s %s; expected a whole number from %" PRIu64 " to %" PRIu64,
                                field, limits_file_notes_quote(&build->notes, text), reason, least,
                                most);
        return false;
    }
    *out = value;
    return true;
}

bool limits_file_read_duration(struct limits_file_build *build, const struct yaml_tree_node *node,
                               const char *field, int64_t *out)
{
    struct slice text;
    if (!limits_file_read_text(build, node, field, "a duration such as 60s", &text)) {
        return false;
    }
    const char *why = NULL;
    int64_t value = 0;
    enum status status = text_parse_duration_ns(text, &value, &why);
    if (status == STATUS_OK && value < LIMITS_WINDOW_NS_MIN) {
        why = "is too short; expected 1ms to 10 years (3653d)";
    } else if (status == STATUS_OK && value > LIMITS_WINDOW_NS_MAX) {
        why = "is too long; expected 1ms to 10 years (3653d)";
    } else if (status != STATUS_OK && why == NULL) {
        why = "is no duration; expected such as 60s or 1h30m";
    }
    if (why != NULL) {
        LIMITS_FILE_BUILD_ERROR(build, node, "%s: %s: %s", field,
                                limits_file_notes_quote(&build->notes, text), why);
        return false;
    }
    *out = value;
    return true;
}

bool limits_file_read_bool(struct limits_file_build *build, const struct yaml_tree_node *node,
                           const char *field, bool *out)
{
    struct slice text;
    if (!limits_file_read_text(build, node, field, "true or false", &text)) {
        return false;
    }
    *out = slice_equal_text(text, "true");
    if (*out || slice_equal_text(text, "false")) {
        return true;
    }
    LIMITS_FILE_BUILD_ERROR(build, node, "%s: %s is neither true nor false", field,
                            limits_file_notes_quote(&build->notes, text));
    return false;
}

bool limits_file_read_time(struct limits_file_build *build, const struct yaml_tree_node *node,
                           const char *field, int64_t *out)
{
    struct slice text;
    if (!limits_file_read_text(build, node, field, "an instant such as 2027-01-01T00:00:00Z",
                               &text)) {
        return false;
    }
    /* 9999-12-31T23:59:59Z is how people write "never": the last instant serves as well. */
    enum status status = text_parse_time_ns(text, out);
    if (status == STATUS_OK || status == STATUS_TOO_LARGE) {
        return true;
    }
    LIMITS_FILE_BUILD_ERROR(build, node,
                            "%s: %s is no instant; expected date, time and zone such as "
                            "2027-01-01T00:00:00Z",
                            field, limits_file_notes_quote(&build->notes, text));
    return false;
}

bool limits_file_read_source(struct limits_file_build *build, const struct yaml_tree_node *node,
                             const char *field, struct policy_part *out)
{
    struct slice text;
    if (!limits_file_read_text(build, node, field, "key, route or the name of an attribute",
                               &text)) {
        return false;
    }
    if (text.size == 0 || text.size > LIMITS_ATTRIBUTE_NAME_BYTES_MAX) {
        LIMITS_FILE_BUILD_ERROR(build, node,
                                "%s: %s is no name of an attribute; expected 1 to %d bytes", field,
                                limits_file_notes_quote(&build->notes, text),
                                LIMITS_ATTRIBUTE_NAME_BYTES_MAX);
        return false;
    }
    *out = (struct policy_part){.source = slice_equal_text(text, "key")     ? POLICY_KEY
                                          : slice_equal_text(text, "route") ? POLICY_ROUTE
                                                                            : POLICY_ATTRIBUTE};
    if (out->source == POLICY_ATTRIBUTE) {
        out->attribute = limits_file_read_keep(build, text);
    }
    return true;
}

bool limits_file_read_attribute(struct limits_file_build *build, const struct yaml_tree_node *node,
                                const char *field, struct slice *out)
{
    struct policy_part part;
    if (!limits_file_read_source(build, node, field, &part)) {
        return false;
    }
    if (part.source != POLICY_ATTRIBUTE) {
        LIMITS_FILE_BUILD_ERROR(build, node, "%s: expected the name of an attribute, not %s", field,
                                part.source == POLICY_KEY ? "key" : "route");
        return false;
    }
    *out = part.attribute;
    return true;
}

struct slice limits_file_read_keep(struct limits_file_build *build, struct slice text)
{
    const char *copy = arena_copy(&build->set->arena, text);
    if (copy == NULL) {
        build->no_memory = true;
        return slice_make(NULL, 0);
    }
    return slice_make(copy, text.size);
}
