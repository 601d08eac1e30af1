/* Random traffic through the limiters and the reference side by side. Every answer is compared:
 * admissions one by one, and each number an answer shows by what it promises. The traffic is made
 * of many short scenes, each with numbers of its own: narrow and wide, plans that differ, time that
 * stands, creeps, leaps over years, goes back or sits at an end of 64 bits, waits taken exactly
 * and one nanosecond short, refunds and reloads. A failure prints the scene's seed. */
#include "reference.h"

#include <criterion/criterion.h>
#include <string.h>

#define YEAR_NS INT64_C(31557600000000000)
#define PLANS 3
#define SCENE_STEPS 120
#define LOG_ROOM 1024

/* A log as the store keeps one. */
struct kept_log {
    struct limiter_log view; /* first: `at` casts back */
    struct limiter_log_entry entries[LOG_ROOM];
};

struct scene {
    uint64_t seed;
    uint64_t random;
    enum limiter_algorithm algorithm;
    struct limiter_policy plans[PLANS];
    struct limiter_state state;
    bool exists;
    int held;
    struct kept_log log;
    struct reference reference;
    int64_t base_ns;
    int64_t now_ns;
    int64_t wait_ns; /* of the latest refusal */
    uint64_t remaining;
};

static uint64_t draw(struct scene *s)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return s->random * UINT64_C(0x2545F4914F6CDD1D);
}

static uint64_t below(struct scene *s, uint64_t bound)
{
    return bound == 0 ? 0 : (uint64_t)(((arith_u128)draw(s) * bound) >> 64);
}

static void fail(const struct scene *s, const char *what, int64_t got)
{
    cr_assert_fail("%s: %s, seed %llu, at %lld: got %lld", limiter_algorithm_name(s->algorithm),
                   what, (unsigned long long)s->seed, (long long)s->now_ns, (long long)got);
}

static void check(const struct scene *s, bool right, const char *what, int64_t got)
{
    if (!right) {
        fail(s, what, got);
    }
}

static struct limiter_log_entry entry_at(const struct limiter_log *log, uint32_t index)
{
    return ((const struct kept_log *)log)->entries[index];
}

static void apply_log(struct scene *s, const struct limiter_step *step)
{
    struct limiter_log *view = &s->log.view;
    struct limiter_log_entry *entries = s->log.entries;
    check(s, step->log_drop <= view->count, "log_drop", step->log_drop);
    if (step->log_drop > 0) {
        view->base = entries[step->log_drop - 1].total;
        view->count -= step->log_drop;
        memmove(entries, entries + step->log_drop, view->count * sizeof entries[0]);
    }
    if (step->log_append > 0) {
        uint32_t total = view->count > 0 ? entries[view->count - 1].total : view->base;
        bool merge = view->count > 0 && entries[view->count - 1].at_ns == step->next.time_ns;
        uint32_t index = merge ? view->count - 1 : view->count++;
        cr_assert_lt(view->count, (uint32_t)LOG_ROOM);
        entries[index] = (struct limiter_log_entry){.at_ns = step->next.time_ns,
                                                    .total = total + step->log_append};
    }
    for (uint32_t left = step->log_pop; left > 0;) {
        check(s, view->count > 0, "log_pop", step->log_pop);
        struct limiter_log_entry *newest = &entries[view->count - 1];
        uint32_t before = view->count > 1 ? newest[-1].total : view->base;
        uint32_t back = newest->total - before < left ? newest->total - before : left;
        newest->total -= back;
        left -= back;
        view->count -= newest->total == before;
    }
}

static void apply(struct scene *s, const struct limiter_step *step)
{
    apply_log(s, step);
    s->state = step->next;
    s->state.log = s->algorithm == LIMITER_SLIDING_LOG ? &s->log.view : NULL;
    s->exists = true;
}

static void forget(struct scene *s)
{
    s->exists = false;
    s->log.view.base = (uint32_t)draw(s);
    s->log.view.count = 0;
    s->log.view.at = entry_at;
    reference_forget(&s->reference, s->algorithm);
}

static struct reference_numbers numbers_of(const struct limiter_policy *policy)
{
    return (struct reference_numbers){
        .limit = policy->limit, .burst = policy->burst, .window = policy->window_ns};
}

static uint64_t draw_units(struct scene *s)
{
    static const uint64_t few[] = {1, 2, 3, 5, 6, 10, 12, 60, 100, 1000};
    uint64_t most = s->algorithm == LIMITER_SLIDING_LOG ? 1000000 : UINT64_C(999999999999999);
    switch (below(s, 8)) {
    case 0:
        return most - below(s, 3);
    case 1:
        return 1 + below(s, most);
    case 2:
        return 1 + below(s, 100000);
    default:
        return few[below(s, sizeof few / sizeof few[0])];
    }
}

static int64_t draw_window(struct scene *s)
{
    static const int64_t usual[] = {
        1000000,        7000000,         1000000000,      3000000000,          10000000000,
        60000000000,    3600000000000,   86400000000000,  7 * 86400000000000,  1234567891,
        998244353,      YEAR_NS,         3653 * 86400000000000};
    if (below(s, 4) == 0) {
        return 1000000 + (int64_t)below(s, UINT64_C(3653) * 86400000000000 - 1000000);
    }
    return usual[below(s, sizeof usual / sizeof usual[0])];
}

static void draw_plans(struct scene *s, int64_t window_ns)
{
    for (int i = 0; i < PLANS; i++) {
        uint64_t limit = below(s, 12) == 0 ? 0 : draw_units(s);
        uint64_t burst = below(s, 2) == 0 ? limit : draw_units(s);
        limiter_policy_init(&s->plans[i], s->algorithm, limit, burst, window_ns, NULL);
    }
}

static int64_t moved(int64_t at_ns, int64_t by_ns)
{
    int64_t sum;
    if (__builtin_add_overflow(at_ns, by_ns, &sum)) {
        return by_ns < 0 ? INT64_MIN : INT64_MAX;
    }
    return sum;
}

static void leap(struct scene *s)
{
    switch (below(s, 8)) {
    case 0:
        s->now_ns = INT64_MAX - (int64_t)below(s, 3);
        break;
    case 1:
        s->now_ns = INT64_MIN + (int64_t)below(s, 3);
        break;
    case 2:
    case 3:
        s->now_ns = s->base_ns;
        break;
    default:
        s->now_ns = moved(s->now_ns, (int64_t)below(s, 200) * YEAR_NS);
    }
}

static void pass_time(struct scene *s)
{
    const struct limiter_policy *plan = &s->plans[below(s, PLANS)];
    uint64_t window = (uint64_t)plan->window_ns;
    uint64_t into = (uint64_t)(s->now_ns % plan->window_ns);
    switch (below(s, 14)) {
    case 0:
        s->now_ns = moved(s->now_ns, 1);
        break;
    case 1:
    case 2:
        s->now_ns = moved(s->now_ns, (int64_t)below(s, 2 * window / (plan->limit + 1) + 2));
        break;
    case 3:
        s->now_ns = moved(s->now_ns, (int64_t)below(s, window));
        break;
    case 4:
        s->now_ns = moved(s->now_ns, (int64_t)below(s, 3 * window));
        break;
    case 5:
    case 6:
        s->now_ns = moved(s->now_ns, s->wait_ns - (int64_t)below(s, 2));
        break;
    case 7:
        s->now_ns = moved(s->now_ns, -(int64_t)below(s, 2 * window));
        break;
    case 8:
        s->now_ns = moved(moved(s->now_ns, (int64_t)(window - into)), (int64_t)below(s, 3) - 1);
        break;
    case 9:
        if (below(s, 12) == 0) {
            leap(s);
        }
        break;
    default:
        break;
    }
}

/* `fresh` is what reset_after and the idle instant promise. */
static void check_fresh_from(const struct scene *s, wide at, bool held_at_end, const char *what)
{
    check(s, !reference_is_fresh(&s->reference, at - 1), what, (int64_t)at);
    check(s, held_at_end || reference_is_fresh(&s->reference, at), what, (int64_t)at);
}

static void check_reset(const struct scene *s, const struct limiter_policy *asked,
                        int64_t reset_ns)
{
    wide now = s->now_ns;
    if (s->algorithm == LIMITER_FIXED_WINDOW) {
        wide left = reference_window_end(&s->reference, numbers_of(asked), now) - now;
        wide shown = left < INT64_MAX ? left : INT64_MAX;
        check(s, reset_ns == shown, "reset_after", reset_ns);
    } else if (reference_is_fresh(&s->reference, now)) {
        check(s, reset_ns == 0, "reset_after of a fresh counter", reset_ns);
    } else {
        check(s, reset_ns > 0, "reset_after", reset_ns);
        check_fresh_from(s, now + reset_ns, reset_ns == INT64_MAX, "reset_after");
    }
}

static void check_remaining(const struct scene *s, const struct limiter_policy *asked,
                            uint64_t remaining)
{
    struct reference_numbers numbers = numbers_of(asked);
    wide more = (wide)remaining + 1;
    check(s, remaining <= asked->burst, "remaining", (int64_t)remaining);
    check(s, reference_fits(&s->reference, numbers, remaining, s->now_ns), "remaining",
          (int64_t)remaining);
    check(s, !reference_fits(&s->reference, numbers, more, s->now_ns), "remaining",
          (int64_t)remaining);
}

static void check_retry(const struct scene *s, const struct limiter_policy *asked, uint64_t cost,
                        int64_t retry_ns)
{
    struct reference_numbers numbers = numbers_of(asked);
    wide then = (wide)s->now_ns + retry_ns;
    check(s, retry_ns > 0, "retry_after", retry_ns);
    check(s, !reference_fits(&s->reference, numbers, cost, then - 1), "retry_after", retry_ns);
    check(s, retry_ns == INT64_MAX || reference_fits(&s->reference, numbers, cost, then),
          "retry_after", retry_ns);
}

static void check_idle(const struct scene *s)
{
    wide time = s->reference.time;
    if (!s->exists) {
        return;
    }
    int64_t idle_ns = limiter_idle_at_ns(&s->plans[s->held], &s->state);
    if (reference_is_fresh(&s->reference, time)) {
        check(s, idle_ns <= time, "idle_at of a fresh counter", idle_ns);
    } else {
        check_fresh_from(s, idle_ns, idle_ns == INT64_MAX, "idle_at");
    }
}

/* A leaky bucket's delay: what was queued before has drained at the asked rate, not earlier. */
static void check_delay(const struct scene *s, const struct limiter_policy *asked, wide queued,
                        wide at, int64_t delay_ns)
{
    wide wait = delay_ns - (at - s->now_ns);
    if (s->algorithm != LIMITER_LEAKY_BUCKET || queued == 0) {
        check(s, delay_ns == 0, "delay", delay_ns);
        return;
    }
    check(s, delay_ns == INT64_MAX || wait * (wide)asked->limit >= queued, "delay", delay_ns);
    check(s, (wait - 1) * (wide)asked->limit < queued, "delay", delay_ns);
}

static bool same_report(const struct limiter_report *a, const struct limiter_report *b)
{
    return a->remaining == b->remaining && a->retry_after_ns == b->retry_after_ns &&
           a->reset_after_ns == b->reset_after_ns && a->delay_ns == b->delay_ns;
}

/* Where the brief way answers, it answers the same. */
static void check_brief_way(const struct scene *s, const struct limiter_policy *asked,
                            uint64_t cost, enum limiter_outcome outcome,
                            const struct limiter_step *step, const struct limiter_report *report)
{
    struct limiter_state next;
    struct limiter_report brief;
    if (!s->exists || &s->plans[s->held] != asked ||
        !limiter_admit_brief(asked, &s->state, cost, s->now_ns, &next, &brief)) {
        return;
    }
    check(s, outcome == LIMITER_ADMIT, "the brief way's outcome", outcome);
    check(s, next.time_ns == step->next.time_ns && next.lo == step->next.lo &&
                 next.hi == step->next.hi,
          "the brief way's state", (int64_t)next.lo);
    check(s, same_report(&brief, report), "the brief way's report", (int64_t)brief.remaining);
}

static void request(struct scene *s, int plan, uint64_t cost)
{
    const struct limiter_policy *asked = &s->plans[plan];
    const struct limiter_policy *held = s->exists ? &s->plans[s->held] : asked;
    const struct limiter_state *state = s->exists ? &s->state : NULL;
    struct reference *reference = &s->reference;
    struct limiter_step step = {.log_drop = 0};
    struct limiter_report report;
    enum limiter_outcome outcome = limiter_admit(asked, held, state, cost, s->now_ns, &step);
    bool fits = reference_fits(reference, numbers_of(asked), cost, s->now_ns);
    check(s, (outcome == LIMITER_ADMIT) == fits, "admitted", outcome);
    check(s, (outcome == LIMITER_NEVER) == (cost > asked->burst), "never", outcome);
    if (outcome == LIMITER_ADMIT) {
        limiter_report_admitted(asked, held, state, &step, cost, s->now_ns, &report);
    } else {
        limiter_report(asked, held, state, cost, outcome, s->now_ns, &report);
    }
    check_brief_way(s, asked, cost, outcome, &step, &report);
    if (outcome == LIMITER_ADMIT && cost > 0) {
        wide queued = reference_queued(reference, s->now_ns);
        reference_charge(reference, numbers_of(asked), cost, s->now_ns);
        apply(s, &step);
        s->held = plan;
        check_delay(s, asked, queued, reference->time, report.delay_ns);
    } else {
        check(s, report.delay_ns == 0, "delay of an answer that charges nothing", report.delay_ns);
    }
    if (outcome == LIMITER_REFUSE) {
        check_retry(s, asked, cost, report.retry_after_ns);
        s->wait_ns = report.retry_after_ns;
    } else {
        check(s, report.retry_after_ns == 0, "retry_after of no refusal", report.retry_after_ns);
    }
    check_remaining(s, asked, report.remaining);
    check_reset(s, asked, report.reset_after_ns);
    s->remaining = report.remaining;
}

static uint64_t draw_cost(struct scene *s, int plan)
{
    uint64_t burst = s->plans[plan].burst;
    switch (below(s, 12)) {
    case 0:
        return 0;
    case 1:
        return burst + below(s, 2);
    case 2:
        return 1 + below(s, burst);
    case 3:
        return s->remaining + below(s, 2);
    case 4:
        return below(s, 4) == 0 ? INT64_MAX : s->remaining;
    case 5:
    case 6:
        return 1 + below(s, burst / 4 + 1);
    default:
        return 1;
    }
}

static void refund(struct scene *s)
{
    static const uint64_t many[] = {0, 1, 1, 2, 3, 10, 1000, INT64_MAX};
    uint64_t units = many[below(s, sizeof many / sizeof many[0])];
    struct limiter_step step;
    if (!s->exists) {
        check(s, !limiter_refund(&s->plans[0], NULL, units, s->now_ns, &step), "refund", 0);
        return;
    }
    bool any = units > 0 && !reference_is_fresh(&s->reference, s->now_ns);
    bool given = limiter_refund(&s->plans[s->held], &s->state, units, s->now_ns, &step);
    check(s, given == any, "refund", given);
    wide popped = reference_refund(&s->reference, units, s->now_ns);
    if (given) {
        check(s, step.log_pop == popped, "log_pop", step.log_pop);
        apply(s, &step);
    }
    request(s, s->held, 0);
}

static void reload(struct scene *s)
{
    struct limiter_policy from = s->plans[s->held];
    int64_t at_ns = moved(s->now_ns, (int64_t)below(s, 3) * -1000);
    struct limiter_step step;
    if (below(s, 3) > 0) {
        draw_plans(s, below(s, 2) == 0 ? from.window_ns : draw_window(s));
    }
    if (!s->exists) {
        return;
    }
    bool kept = limiter_convert(&from, &s->plans[s->held], &s->state, at_ns, &step);
    reference_convert(&s->reference, numbers_of(&s->plans[s->held]), at_ns);
    if (kept) {
        apply(s, &step);
        check(s, !s->reference.exists || s->state.time_ns == s->reference.time,
              "time after a reload", s->state.time_ns);
    } else {
        check(s, reference_is_fresh(&s->reference, s->reference.time), "forgotten at a reload", 0);
        forget(s);
    }
}

static void play(struct scene *s, enum limiter_algorithm algorithm, uint64_t seed)
{
    static const int64_t bases[] = {0, 1767225600000000000, -5 * YEAR_NS, -1, INT64_MIN,
                                    INT64_MAX - YEAR_NS};
    s->seed = seed;
    s->random = seed * UINT64_C(0x9E3779B97F4A7C15) | 1;
    s->algorithm = algorithm;
    s->held = 0;
    s->wait_ns = 1;
    s->remaining = 1;
    s->base_ns = bases[below(s, sizeof bases / sizeof bases[0])];
    s->now_ns = s->base_ns;
    forget(s);
    draw_plans(s, draw_window(s));
    for (int i = 0; i < SCENE_STEPS; i++) {
        uint64_t what = below(s, 40);
        pass_time(s);
        if (what == 0) {
            reload(s);
        } else if (what < 4) {
            refund(s);
        } else {
            int plan = below(s, 4) == 0 ? (int)below(s, PLANS) : s->held;
            request(s, plan, draw_cost(s, plan));
        }
        check_idle(s);
    }
}

/* `scenes` x SCENE_STEPS random operations. */
static void play_many(enum limiter_algorithm algorithm, uint64_t scenes)
{
    static struct scene scene;
    for (uint64_t seed = 1; seed <= scenes; seed++) {
        play(&scene, algorithm, seed);
    }
}

Test(random, token_bucket)
{
    play_many(LIMITER_TOKEN_BUCKET, 20000);
}

Test(random, leaky_bucket)
{
    play_many(LIMITER_LEAKY_BUCKET, 20000);
}

Test(random, fixed_window)
{
    play_many(LIMITER_FIXED_WINDOW, 20000);
}

Test(random, sliding_window_log)
{
    play_many(LIMITER_SLIDING_LOG, 20000);
}

Test(random, sliding_window_counter)
{
    play_many(LIMITER_SLIDING_COUNTER, 20000);
}
