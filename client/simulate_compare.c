#include "simulate_compare.h"

#include "base/text.h"

#define LABEL_BYTES 120u

static void init_side(struct simulate_compare_side *side)
{
    *side = (struct simulate_compare_side){.requests = 0};
    simulate_top_init(&side->keys);
    simulate_top_init(&side->routes);
}

void simulate_compare_init(struct simulate_compare *compare, const struct hash_key *key)
{
    *compare = (struct simulate_compare){.key = key};
    init_side(&compare->refused);
    init_side(&compare->allowed);
    buf_init(&compare->scratch, 0);
}

void simulate_compare_deinit(struct simulate_compare *compare)
{
    struct simulate_compare_side *sides[] = {&compare->refused, &compare->allowed};
    for (int i = 0; i < 2; i++) {
        simulate_top_deinit(&sides[i]->keys);
        simulate_top_deinit(&sides[i]->routes);
    }
    buf_deinit(&compare->scratch);
}

static void add_name(struct simulate_compare *compare, struct simulate_top *top,
                     struct slice name)
{
    buf_clear(&compare->scratch);
    text_append_escaped(&compare->scratch, name, LABEL_BYTES);
    simulate_top_add(top, hash_bytes(compare->key, name.data, name.size),
                     buf_slice(&compare->scratch));
}

static void add_change(struct simulate_compare *compare, struct simulate_compare_side *side,
                       const struct request *request)
{
    side->requests++;
    add_name(compare, &side->keys, request->key);
    add_name(compare, &side->routes, request->route);
}

void simulate_compare_add(struct simulate_compare *compare, const struct traffic_item *item,
                          const struct simulate_answer *before,
                          const struct simulate_answer *after)
{
    bool decided = before->kind == SIMULATE_DECISION && after->kind == SIMULATE_DECISION;
    if (item->op != TRAFFIC_ALLOW) {
        return;
    }
    if (!decided) {
        compare->only_one_decides += before->kind != after->kind;
        return;
    }
    bool first = before->decision.shown.allowed;
    bool second = after->decision.shown.allowed;
    if (first && second) {
        compare->both_allow++;
    } else if (first) {
        add_change(compare, &compare->refused, &item->request);
    } else if (second) {
        add_change(compare, &compare->allowed, &item->request);
    } else {
        compare->both_refuse++;
    }
}
