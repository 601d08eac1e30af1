/* links: sluice_engine
 *
 * Any bytes as an Envoy file: refused with at least one line, or rules that a descriptor made of
 * the file's own bytes walks through. */
#include "engine/envoy_match.h"
#include "engine/limits_file.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool good)
{
    if (!good) {
        abort();
    }
}

/* Every node is found by its own path, unless an earlier exact value or pattern takes it. */
static void walk(const struct policy_set *set)
{
    const struct envoy_config *config = set->envoy;
    for (uint32_t i = 0; i < config->node_count; i++) {
        const struct envoy_node *node = &config->node_list[i];
        struct envoy_entry entries[LIMITS_FILE_DEPTH_MAX];
        require(node->depth > 0 && node->depth <= LIMITS_FILE_DEPTH_MAX);
        for (const struct envoy_node *at = node; at != NULL; at = at->parent) {
            entries[at->depth - 1] = (struct envoy_entry){at->key, at->value};
        }
        for (uint32_t domain = 0; domain < config->domain_count; domain++) {
            const struct envoy_node *found =
                envoy_match_find(config, &config->level_list[0], entries, node->depth);
            require(found == NULL || found->depth == node->depth);
        }
        if (node->rule != NULL && node->rule->limit != NULL) {
            require(node->rule->limit->own.policy < set->policies.count);
            require(node->rule->limit->part_count <= node->depth);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char limits[] = "limits: {}\nroutes: {}\n";
    struct hash_key key = {.bytes = {1}};
    struct limits_file_options options = {.key = &key,
                                          .envoy_path = "fuzz.yaml",
                                          .envoy_text = slice_make(data, size),
                                          .envoy_classic = size % 2 == 1};
    struct limits_file_report report;
    struct policy_set *set = NULL;
    limits_file_report_init(&report);
    enum status status =
        limits_file_parse("limits.yaml", slice_text(limits), &options, &set, &report);
    require((status == STATUS_OK) == (set != NULL));
    require((status == STATUS_OK) == (report.errors == 0));
    require(status == STATUS_OK || report.text.size > 0);
    if (set != NULL) {
        walk(set);
        policy_set_destroy(&set);
    }
    limits_file_report_deinit(&report);
    return 0;
}
