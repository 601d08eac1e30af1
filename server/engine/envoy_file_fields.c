#include "engine/envoy_file_fields.h"

#include "base/text.h"

/* Every name that some place of such a file knows. */
static const char *const known[] = {
    "domain",          "key",           "value",         "descriptors",       "rate_limit",
    "unit",            "unlimited",     "shadow_mode",   "requests_per_unit", "quota_mode",
    "name",            "replaces",      "metadata",      "detailed_metric",   "value_to_metric",
    "share_threshold", "algorithm",     "burst",         NULL};

static uint32_t index_of(struct slice name, const char *const *names)
{
    uint32_t at = 0;
    while (names[at] != NULL && !slice_equal_text(name, names[at])) {
        at++;
    }
    return at;
}

static bool is_null(const struct yaml_tree_node *node)
{
    static const char *const words[] = {"", "~", "null", "Null", "NULL", NULL};
    return node->kind == YAML_TREE_SCALAR && node->plain &&
           words[index_of(node->text, words)] != NULL;
}

static void unknown(struct limits_file_build *build, const struct yaml_tree_node *key,
                    const char *const *names, struct limits_file_fields *out)
{
    const char *quoted = limits_file_notes_quote(&build->notes, key->text);
    if (known[index_of(key->text, known)] != NULL) {
        limits_file_notes_warning(&build->notes, limits_file_build_place(build, key),
                                  "%s means nothing here and is ignored", quoted);
        return;
    }
    const char *nearest = text_nearest(key->text, names);
    if (nearest == NULL) {
        LIMITS_FILE_BUILD_ERROR(build, key, "unknown field %s", quoted);
        return;
    }
    LIMITS_FILE_BUILD_ERROR(build, key, "unknown field %s; did you mean \"%s\"?", quoted, nearest);
    out->excused[index_of(slice_text(nearest), names)] = true;
}

bool envoy_file_fields_read(struct limits_file_build *build, const struct yaml_tree_node *node,
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
        uint32_t at = index_of(item->key->text, names);
        if (item->first_line != 0) {
            LIMITS_FILE_BUILD_ERROR(build, item->key,
                                    "field %s stands here twice, first in line %u",
                                    limits_file_notes_quote(&build->notes, item->key->text),
                                    item->first_line);
        } else if (names[at] == NULL) {
            unknown(build, item->key, names, out);
        } else if (!is_null(item->value)) {
            out->items[at] = item;
        }
    }
    return true;
}

static size_t digits_at(struct slice text, size_t at)
{
    size_t start = at;
    while (at < text.size && text.data[at] >= '0' && text.data[at] <= '9') {
        at++;
    }
    return at - start;
}

/* 1.5, .5, 1e3, .inf: what YAML takes for a number that is not whole. */
static bool is_fraction(struct slice text)
{
    static const char *const words[] = {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN", NULL};
    size_t at = text.size > 0 && (text.data[0] == '-' || text.data[0] == '+');
    if (words[index_of(slice_make(text.data + at, text.size - at), words)] != NULL) {
        return true;
    }
    size_t whole = digits_at(text, at);
    at += whole;
    bool point = at < text.size && text.data[at] == '.';
    size_t fraction = point ? digits_at(text, at + 1) : 0;
    at += point + fraction;
    if (whole + fraction == 0) {
        return false;
    }
    if (at == text.size) {
        return point || whole > 18;
    }
    if (text.data[at] != 'e' && text.data[at] != 'E') {
        return false;
    }
    at++;
    at += at < text.size && (text.data[at] == '-' || text.data[at] == '+');
    size_t exponent = digits_at(text, at);
    return exponent > 0 && at + exponent == text.size;
}

bool envoy_file_fields_text(struct limits_file_build *build, const struct yaml_tree_item *item,
                            const char *field, struct slice *out)
{
    struct slice text;
    *out = slice_text("");
    if (item == NULL) {
        return true;
    }
    if (!limits_file_read_text(build, item->value, field, "text", &text)) {
        return false;
    }
    if (item->value->plain && is_fraction(text)) {
        LIMITS_FILE_BUILD_ERROR(build, item->value,
                                "%s: %s is a number with a fraction (or a very large one); put it "
                                "in quotes if it is meant as text",
                                field, limits_file_notes_quote(&build->notes, text));
        return false;
    }
    *out = limits_file_read_keep(build, text);
    return true;
}

bool envoy_file_fields_flag(struct limits_file_build *build, const struct yaml_tree_item *item,
                            const char *field)
{
    static const char *const yes[] = {"true", "True", "TRUE", "yes", "Yes", "YES",
                                      "on",   "On",   "ON",   "y",   "Y",   NULL};
    static const char *const no[] = {"false", "False", "FALSE", "no", "No", "NO",
                                     "off",   "Off",   "OFF",   "n",  "N",  NULL};
    struct slice text;
    if (item == NULL || !limits_file_read_text(build, item->value, field, "true or false", &text)) {
        return false;
    }
    if (yes[index_of(text, yes)] != NULL) {
        return true;
    }
    if (no[index_of(text, no)] == NULL) {
        LIMITS_FILE_BUILD_ERROR(build, item->value, "%s: %s is neither true nor false", field,
                                limits_file_notes_quote(&build->notes, text));
    }
    return false;
}
