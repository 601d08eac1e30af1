#include "engine/envoy_path.h"

#include "base/buf.h"

#define ENVOY_PATH_PREFIX "envoy:"

static void append_part(struct buf *out, struct slice part)
{
    for (size_t i = 0; i < part.size; i++) {
        uint8_t byte = part.data[i];
        if (byte == '/' || byte == '=' || byte == '\\') {
            buf_append_byte(out, '\\');
        }
        buf_append_byte(out, byte);
    }
}

static void append_node(struct buf *out, const struct envoy_node *node)
{
    if (node->parent != NULL) {
        append_node(out, node->parent);
    }
    buf_append_byte(out, '/');
    append_part(out, node->key);
    if (node->value.size > 0) {
        buf_append_byte(out, '=');
        append_part(out, node->value);
    }
}

static bool keep(struct arena *arena, struct buf *text, struct slice *out)
{
    const char *copy = text->failed ? NULL : arena_copy(arena, buf_slice(text));
    *out = slice_make(copy, copy == NULL ? 0 : text->size);
    buf_deinit(text);
    return copy != NULL;
}

bool envoy_path_name(struct arena *arena, struct slice domain, const struct envoy_node *node,
                     struct slice *out)
{
    struct buf text;
    buf_init(&text, 0);
    buf_append_text(&text, ENVOY_PATH_PREFIX);
    append_part(&text, domain);
    append_node(&text, node);
    return keep(arena, &text, out);
}

bool envoy_path_metric(struct arena *arena, struct slice name, struct slice *out)
{
    struct buf text;
    buf_init(&text, 0);
    buf_append_text(&text, "envoy/");
    for (size_t i = strlen(ENVOY_PATH_PREFIX); i < name.size; i++) {
        uint8_t byte = name.data[i];
        if (byte == '\\') {
            i++;
            buf_append_byte(&text, name.data[i]);
        } else {
            buf_append_byte(&text, byte == '/' ? '.' : byte == '=' ? '_' : byte);
        }
    }
    return keep(arena, &text, out);
}

uint32_t envoy_path_parts(const struct envoy_node *node, struct policy_part *parts)
{
    uint32_t count = node->parent == NULL ? 0 : envoy_path_parts(node->parent, parts);
    if (envoy_path_counts(node)) {
        parts[count++] = (struct policy_part){.source = POLICY_ATTRIBUTE, .attribute = node->key};
    }
    return count;
}
