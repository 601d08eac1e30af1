#include "store/decide.h"

#include "store/decide_parts.h"

#define FULL_RETRY_NS INT64_C(1000000000) /* a hint: room may come at any time */

static bool want(struct decide *decide, uint32_t item)
{
    decide->wanting = decide->work[item].shard;
    decide->wanting_item = item;
    return false;
}

/* Before anything is read: bringing one counter over may move another's slot. */
static bool bring_over(struct decide *decide)
{
    for (uint32_t i = 0; i < decide->count; i++) {
        struct table_slot *slot;
        if (!shard_find(decide->work[i].shard, decide->work[i].key, &slot)) {
            return want(decide, i);
        }
    }
    return true;
}

static struct limiter_log_entry overlay_at(const struct limiter_log *log, uint32_t index)
{
    const struct decide_overlay *overlay = (const struct decide_overlay *)log;
    return index + 1 == log->count ? overlay->newest : overlay->under->at(overlay->under, index);
}

/* The log after `step`, its oldest entries not dropped yet. All items of one request are admitted
 * at one instant of their counter, so there is never more than one entry on top. */
static void overlay_log(struct decide_overlay *overlay, const struct limiter_log *under,
                        const struct limiter_step *step)
{
    uint32_t count = under == NULL ? 0 : under->count;
    uint32_t total = under == NULL ? 0 : under->base;
    overlay->under = under;
    overlay->log = (struct limiter_log){
        .count = count + 1, .base = total, .at = overlay_at};
    if (count > 0) {
        struct limiter_log_entry newest = under->at(under, count - 1);
        total = newest.total;
        overlay->log.count = newest.at_ns == step->next.time_ns ? count : count + 1;
    }
    overlay->newest = (struct limiter_log_entry){.at_ns = step->next.time_ns,
                                                 .total = total + step->log_append};
}

/* The state that an earlier item of the same counter leaves to this one. */
static void follow(struct decide_work *work, const struct decide_work *earlier,
                   const struct limiter_policy *policy)
{
    work->before = earlier->before;
    work->before_held = earlier->before_held;
    work->dropped = earlier->dropped;
    if (!earlier->charged) {
        work->state = earlier->state;
        work->held = earlier->held;
        return;
    }
    work->state_after = earlier->step.next;
    work->state_after.log = NULL;
    if (decide_parts_is_log(policy)) {
        const struct limiter_state *state = earlier->state;
        overlay_log(&work->overlay, state == NULL ? NULL : state->log, &earlier->step);
        work->state_after.log = &work->overlay.log;
    }
    work->state = &work->state_after;
    work->held = policy;
}

static const struct decide_work *earlier_item(const struct decide *decide, uint32_t index,
                                              uint32_t *which)
{
    struct table_key key = decide->work[index].key;
    for (uint32_t i = index; i-- > 0;) {
        if (decide->work[i].key.order == key.order && decide->work[i].key.tag == key.tag) {
            *which = i;
            return &decide->work[i];
        }
    }
    return NULL;
}

static void look_at(struct decide *decide, uint32_t index)
{
    struct decide_work *work = &decide->work[index];
    struct store_item *item = &decide->items[index];
    uint32_t which = 0;
    const struct decide_work *earlier = earlier_item(decide, index, &which);
    if (earlier != NULL) {
        follow(work, earlier, decide->items[which].policy);
        item->exists = decide->items[which].exists;
        work->made = earlier->made;
    } else {
        struct table_slot *slot = table_find(&work->shard->table, work->key);
        work->state = NULL;
        work->held = item->policy;
        work->dropped = 0;
        if (slot != NULL) {
            counter_read(slot, &work->view);
            work->state = &work->view.state;
            work->held = shard_held(work->shard, slot);
        }
        work->before = work->state;
        work->before_held = work->held;
        item->exists = work->made = slot != NULL;
    }
    work->outcome = limiter_admit(item->policy, work->held, work->state, item->cost,
                                  decide->now_ns, &work->step);
    work->charged = work->outcome == LIMITER_ADMIT && item->cost > 0;
    work->creates = work->charged && !work->made;
    work->made = work->made || work->charged;
    if (work->charged && decide_parts_is_log(item->policy)) {
        uint32_t drop = work->step.log_drop;
        work->step.log_drop = drop > work->dropped ? drop - work->dropped : 0;
        work->dropped = drop > work->dropped ? drop : work->dropped;
    }
    decide->creates += work->creates;
}

bool decide_look(struct decide *decide)
{
    if (!bring_over(decide)) {
        return false;
    }
    decide->creates = 0;
    for (uint32_t i = 0; i < decide->count; i++) {
        look_at(decide, i);
        decide_parts_note_now(decide->work[i].shard, decide->now_ns);
    }
    return true;
}

/* Enforced counters get the room first, in their order. */
static void hand_out_room(struct decide *decide, bool shadow, uint32_t *granted)
{
    for (uint32_t i = 0; i < decide->count; i++) {
        struct decide_work *work = &decide->work[i];
        if (!work->creates || decide->items[i].shadow != shadow) {
            continue;
        }
        if (*granted == 0) {
            work->no_counter = true;
        } else {
            (*granted)--;
        }
    }
}

/* Are there quota items, and would every one of them refuse? */
static bool quotas_are_over(const struct decide *decide)
{
    uint32_t over = 0;
    for (uint32_t i = 0; i < decide->count; i++) {
        if (decide->items[i].quota && decide->work[i].outcome == LIMITER_ADMIT) {
            return false;
        }
        over += decide->items[i].quota;
    }
    return over > 0;
}

bool decide_passes(const struct decide *decide)
{
    if (quotas_are_over(decide)) {
        return false;
    }
    for (uint32_t i = 0; i < decide->count; i++) {
        if (decide->work[i].outcome != LIMITER_ADMIT && !decide->items[i].shadow) {
            return false;
        }
    }
    return true;
}

void decide_settle(struct decide *decide, uint32_t granted)
{
    for (uint32_t i = 0; i < decide->count; i++) {
        decide->work[i].no_counter = decide->work[i].no_memory;
    }
    hand_out_room(decide, false, &granted);
    hand_out_room(decide, true, &granted);
    decide->allowed = !quotas_are_over(decide);
    for (uint32_t i = 0; i < decide->count; i++) {
        struct decide_work *work = &decide->work[i];
        uint32_t which;
        const struct decide_work *earlier = earlier_item(decide, i, &which);
        if (earlier != NULL && earlier->no_counter) {
            work->no_counter = true;
        }
        work->full = work->no_counter && work->charged;
        work->charged = work->charged && !work->full;
        if ((work->outcome != LIMITER_ADMIT || work->full) && !decide->items[i].shadow) {
            decide->allowed = false;
        }
    }
}

bool decide_reserve(struct decide *decide)
{
    for (uint32_t i = 0; i < decide->count; i++) {
        struct decide_work *work = &decide->work[i];
        if (work->charged && !decide->items[i].exists &&
            !table_reserve(&work->shard->table, &work->shard->memory.pages, work->key,
                           decide->count)) {
            return want(decide, i);
        }
    }
    /* Logs that are there take the blocks they need now, so that what is reserved for new ones
     * afterwards stays. */
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < decide->count; i++) {
            struct decide_work *work = &decide->work[i];
            struct store_item *item = &decide->items[i];
            if (!work->charged || item->exists != (pass == 0)) {
                continue;
            }
            struct table_slot *slot = table_find(&work->shard->table, work->key);
            if (!counter_reserve(&work->shard->memory, slot,
                                 decide_parts_is_log(item->policy), &work->step,
                                 decide->count)) {
                return want(decide, i);
            }
        }
    }
    return true;
}

static void report_full(const struct store_item *item, int64_t now_ns,
                        struct limiter_report *report)
{
    limiter_report(item->policy, item->policy, NULL, 0, LIMITER_ADMIT, now_ns, report);
    report->remaining = 0;
    report->retry_after_ns = FULL_RETRY_NS;
}

static void report_item(struct decide *decide, uint32_t index)
{
    const struct decide_work *work = &decide->work[index];
    struct store_item *item = &decide->items[index];
    int64_t now_ns = decide->now_ns;
    item->verdict = work->full ? STORE_FULL : decide_parts_verdict(work->outcome);
    if (work->full) {
        report_full(item, now_ns, &item->report);
    } else if (decide->allowed && work->outcome == LIMITER_ADMIT) {
        limiter_report_admitted(item->policy, work->held, work->state, &work->step, item->cost,
                                now_ns, &item->report);
    } else if (work->outcome == LIMITER_REFUSE) {
        struct limiter_report as_it_stands;
        limiter_report(item->policy, work->held, work->state, item->cost, LIMITER_REFUSE, now_ns,
                       &item->report);
        if (!decide->allowed && work->before != work->state) {
            limiter_report(item->policy, work->before_held, work->before, item->cost,
                           LIMITER_ADMIT, now_ns, &as_it_stands);
            item->report.remaining = as_it_stands.remaining;
            item->report.reset_after_ns = as_it_stands.reset_after_ns;
        }
    } else {
        limiter_report(item->policy, work->before_held, work->before, item->cost, work->outcome,
                       now_ns, &item->report);
    }
}

uint32_t decide_finish(struct decide *decide)
{
    uint32_t made = 0;
    for (uint32_t i = 0; i < decide->count; i++) {
        report_item(decide, i);
    }
    for (uint32_t i = 0; decide->allowed && i < decide->count; i++) {
        struct decide_work *work = &decide->work[i];
        if (!work->charged) {
            continue;
        }
        struct table_slot *slot = table_find(&work->shard->table, work->key);
        if (slot == NULL) {
            slot = table_insert(&work->shard->table, work->key);
            work->shard->told++;
            made++;
        }
        decide_parts_charge(work->shard, slot, &decide->items[i], &work->step, decide->now_ns);
    }
    return made;
}

/* ---- giving back ---- */

static void report_look(struct decide *decide, uint32_t index)
{
    struct decide_work *work = &decide->work[index];
    struct store_item *item = &decide->items[index];
    struct table_slot *slot = table_find(&work->shard->table, work->key);
    const struct limiter_policy *held = item->policy;
    const struct limiter_state *state = NULL;
    if (slot != NULL) {
        counter_read(slot, &work->view);
        state = &work->view.state;
        held = shard_held(work->shard, slot);
    }
    limiter_report(item->policy, held, state, 0, LIMITER_ADMIT, decide->now_ns, &item->report);
    item->verdict = STORE_ADMITTED;
    item->evicted = STORE_GONE;
}

/* Where memory is wanted it is wanted before the first unit is given back. */
static bool prepare_refund(struct decide *decide, uint32_t index)
{
    struct decide_work *work = &decide->work[index];
    struct table_slot *slot = table_find(&work->shard->table, work->key);
    decide->items[index].exists = slot != NULL;
    decide_parts_note_now(work->shard, decide->now_ns);
    if (slot == NULL) {
        return true;
    }
    counter_read(slot, &work->view);
    const struct limiter_policy *held = shard_held(work->shard, slot);
    return !limiter_refund(held, &work->view.state, decide->items[index].cost, decide->now_ns,
                           &work->step) ||
           counter_reserve(&work->shard->memory, slot, decide_parts_is_log(held), &work->step,
                           decide->count);
}

static void refund_item(struct decide *decide, uint32_t index)
{
    struct decide_work *work = &decide->work[index];
    struct shard *shard = work->shard;
    struct table_slot *slot = table_find(&shard->table, work->key);
    if (slot == NULL) {
        return;
    }
    counter_read(slot, &work->view);
    const struct limiter_policy *held = shard_held(shard, slot);
    if (limiter_refund(held, &work->view.state, decide->items[index].cost, decide->now_ns,
                       &work->step)) {
        counter_apply(&shard->memory, slot, decide_parts_is_log(held), &work->step, held->id,
                      shard->generation);
        shard_note_changed(shard, slot, true);
        counter_read(slot, &work->view);
        shard_note_due(shard, work->key, limiter_idle_at_ns(held, &work->view.state));
    }
}

bool decide_refund(struct decide *decide)
{
    if (!bring_over(decide)) {
        return false;
    }
    for (uint32_t i = 0; i < decide->count; i++) {
        if (!prepare_refund(decide, i)) {
            return want(decide, i);
        }
    }
    for (uint32_t i = 0; i < decide->count; i++) {
        refund_item(decide, i);
    }
    for (uint32_t i = 0; i < decide->count; i++) {
        report_look(decide, i);
    }
    return true;
}

static bool reset_item(struct decide *decide, uint32_t index)
{
    struct decide_work *work = &decide->work[index];
    struct table_slot *slot = table_find(&work->shard->table, work->key);
    decide->items[index].exists = slot != NULL;
    decide_parts_note_now(work->shard, decide->now_ns);
    if (slot == NULL) {
        return false;
    }
    counter_read(slot, &work->view);
    const struct limiter_state *state = &work->view.state;
    int64_t idle_ns = limiter_idle_at_ns(shard_held(work->shard, slot), state);
    bool in_use = idle_ns > decide->now_ns && idle_ns > state->time_ns;
    shard_forget(work->shard, slot);
    return in_use;
}

bool decide_reset(struct decide *decide, uint32_t *forgotten)
{
    if (!bring_over(decide)) {
        return false;
    }
    *forgotten = 0;
    for (uint32_t i = 0; i < decide->count; i++) {
        *forgotten += reset_item(decide, i);
    }
    for (uint32_t i = 0; i < decide->count; i++) {
        report_look(decide, i);
    }
    return true;
}
