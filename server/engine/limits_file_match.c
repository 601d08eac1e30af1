#include "engine/limits_file_match.h"

#include "base/text.h"
#include "engine/limits_file_read.h"
#include "engine/network.h"
#include "engine/pattern.h"

#include <stdlib.h>

/* key, route and every attribute that a request can name. */
#define LIMITS_FILE_MATCH_TESTS (LIMITS_ATTRIBUTES_MAX + 2)

static bool limits_file_match_pattern(struct limits_file_build *build,
                                      const struct yaml_tree_node *node, struct policy_test *test)
{
    uint16_t *tokens = arena_alloc(&build->scratch, sizeof(*tokens) * (node->text.size + 1));
    uint8_t *bytes = arena_alloc(&build->scratch, node->text.size * 2 + 1);
    if (tokens == NULL || bytes == NULL) {
        build->no_memory = true;
        return false;
    }
    uint32_t count = 0;
    if (!pattern_decode(node->text, tokens, &count)) {
        LIMITS_FILE_BUILD_ERROR(build, node, "match: in %s a \\ stands before neither * nor \\",
                                limits_file_notes_quote(&build->notes, node->text));
        return false;
    }
    uint32_t literals = pattern_literal_count(tokens, count);
    bool never = count == 0 && test->of.source != POLICY_ATTRIBUTE;
    if (literals > LIMITS_KEY_BYTES_MAX || never) {
        LIMITS_FILE_BUILD_ERROR(build, node,
                                "match: %s can match nothing; keys, routes and attributes have %s",
                                limits_file_notes_quote(&build->notes, node->text),
                                never ? "at least 1 byte" : "at most 1024 bytes");
        return false;
    }
    if (test->of.source == POLICY_ROUTE) {
        count = pattern_normalise(tokens, count, build->set->normalise);
    }
    count = pattern_collapse_stars(tokens, count);
    test->kind = POLICY_TEST_PATTERN;
    test->pattern = limits_file_read_keep(
        build, slice_make(bytes, pattern_encode(tokens, count, bytes)));
    size_t size = pattern_literal(tokens, count, bytes, &test->exact);
    bool same = test->exact && size == test->pattern.size;
    test->literal =
        same ? test->pattern : limits_file_read_keep(build, slice_make(bytes, size));
    return true;
}

static void limits_file_match_host_bits(struct limits_file_build *build,
                                        const struct yaml_tree_node *node,
                                        const uint8_t network[16], uint32_t bits)
{
    struct buf meant;
    buf_init(&meant, 0);
    network_print(network, bits, &meant);
    buf_append_byte(&meant, '\0');
    LIMITS_FILE_BUILD_ERROR(build, node,
                            "cidr: %s has bits set beyond its prefix; the network is %s",
                            limits_file_notes_quote(&build->notes, node->text),
                            meant.failed ? "another" : (const char *)buf_slice(&meant).data);
    buf_deinit(&meant);
}

static bool limits_file_match_cidr(struct limits_file_build *build,
                                   const struct yaml_tree_node *node, struct policy_test *test)
{
    struct slice text = node->text;
    size_t slash = 0;
    while (slash < text.size && text.data[slash] != '/') {
        slash++;
    }
    bool is_v4 = false;
    uint64_t bits = 0;
    bool dotted = memchr(text.data, ':', slash) == NULL;
    if (slash == text.size ||
        !policy_parse_address(slice_make(text.data, slash), test->network, &is_v4) ||
        text_parse_u64(slice_make(text.data + slash + 1, text.size - slash - 1), &bits) !=
            STATUS_OK ||
        bits > (dotted ? 32 : 128)) {
        LIMITS_FILE_BUILD_ERROR(
            build, node, "cidr: %s is no network; expected such as 10.0.0.0/8 or 2001:db8::/32",
            limits_file_notes_quote(&build->notes, text));
        return false;
    }
    test->kind = POLICY_TEST_CIDR;
    test->prefix_bits = (uint8_t)(bits + (dotted ? NETWORK_V4_PREFIX_BITS : 0));
    uint8_t whole[16];
    memcpy(whole, test->network, sizeof(whole));
    network_mask(test->network, test->prefix_bits);
    if (memcmp(whole, test->network, sizeof(whole)) != 0) {
        limits_file_match_host_bits(build, node, test->network, test->prefix_bits);
        return false;
    }
    return true;
}

static bool limits_file_match_test(struct limits_file_build *build,
                                   const struct yaml_tree_item *item, struct policy_test *test)
{
    static const char *const fields[] = {"cidr", NULL};
    *test = (struct policy_test){.exact = false};
    if (!limits_file_read_source(build, item->key, "match", &test->of)) {
        return false;
    }
    if (item->first_line != 0) {
        LIMITS_FILE_BUILD_ERROR(build, item->key, "match: %s stands here twice, first in line %u",
                                limits_file_notes_quote(&build->notes, item->key->text),
                                item->first_line);
        return false;
    }
    if (item->value->kind == YAML_TREE_SCALAR) {
        return limits_file_match_pattern(build, item->value, test);
    }
    struct limits_file_fields cidr;
    if (!limits_file_read_fields(build, item->value,
                                 "a pattern, or a network as {cidr: \"10.0.0.0/8\"}", fields,
                                 &cidr)) {
        return false;
    }
    if (cidr.items[0] == NULL) {
        if (!cidr.excused[0]) {
            LIMITS_FILE_BUILD_ERROR(build, item->value, "match: missing field \"cidr\"");
        }
        return false;
    }
    struct slice text;
    return limits_file_read_text(build, cidr.items[0]->value, "cidr", "a network", &text) &&
           limits_file_match_cidr(build, cidr.items[0]->value, test);
}

static int limits_file_match_compare(const void *left, const void *right)
{
    const struct policy_part *a = &((const struct policy_test *)left)->of;
    const struct policy_part *b = &((const struct policy_test *)right)->of;
    if (a->source != b->source) {
        return a->source < b->source ? -1 : 1;
    }
    size_t least = a->attribute.size < b->attribute.size ? a->attribute.size : b->attribute.size;
    int order = least == 0 ? 0 : memcmp(a->attribute.data, b->attribute.data, least);
    if (order != 0 || a->attribute.size == b->attribute.size) {
        return order;
    }
    return a->attribute.size < b->attribute.size ? -1 : 1;
}

/* The same tests give the same label however they were spelled or ordered. Quotes and escapes
 * keep two different matches apart. */
static struct slice limits_file_match_label(struct limits_file_build *build,
                                            const struct policy_override *override)
{
    struct buf label;
    buf_init(&label, 0);
    for (uint32_t i = 0; i < override->test_count; i++) {
        const struct policy_test *test = &override->tests[i];
        struct slice name = test->of.source == POLICY_KEY     ? slice_text("key")
                            : test->of.source == POLICY_ROUTE ? slice_text("route")
                                                              : test->of.attribute;
        buf_append_text(&label, i == 0 ? "\"" : ", \"");
        text_append_escaped(&label, name, SIZE_MAX);
        buf_append_text(&label, "\": ");
        if (test->kind == POLICY_TEST_CIDR) {
            network_print(test->network, test->prefix_bits, &label);
            continue;
        }
        buf_append_byte(&label, '"');
        text_append_escaped(&label, test->pattern, SIZE_MAX);
        buf_append_byte(&label, '"');
    }
    build->no_memory = build->no_memory || label.failed;
    struct slice kept = limits_file_read_keep(build, buf_slice(&label));
    buf_deinit(&label);
    return kept;
}

bool limits_file_match_read(struct limits_file_build *build, const struct yaml_tree_node *node,
                            struct policy_override *out)
{
    if (node->kind != YAML_TREE_MAPPING) {
        LIMITS_FILE_BUILD_ERROR(build, node,
                                "match: expected a mapping such as {key: \"tenant-42\"}");
        return false;
    }
    if (node->count == 0 && !node->cut) {
        LIMITS_FILE_BUILD_ERROR(build, node, "match: names nothing that could match");
        return false;
    }
    if (node->count > LIMITS_FILE_MATCH_TESTS) {
        LIMITS_FILE_BUILD_ERROR(build, node,
                                "match: can match nothing; a request names at most %d attributes",
                                LIMITS_ATTRIBUTES_MAX);
        return false;
    }
    out->tests = arena_zalloc(&build->set->arena, sizeof(*out->tests) * node->count);
    if (out->tests == NULL) {
        build->no_memory = true;
        return false;
    }
    bool good = true;
    for (const struct yaml_tree_item *item = node->first; item != NULL; item = item->next) {
        good = limits_file_match_test(build, item, &out->tests[out->test_count++]) && good;
    }
    if (!good || build->no_memory) {
        return false;
    }
    qsort(out->tests, out->test_count, sizeof(*out->tests), limits_file_match_compare);
    out->variant.label = limits_file_match_label(build, out);
    return true;
}
