/* Several workers, and sets that outlive a reload for as long as one of them holds one. */
#include "engine_fixture.h"

#define NUMBERED(limit)                                                                           \
    "limits:\n  a: {algorithm: fixed_window, limit: " limit ", window: 60s}\n"                    \
    "routes:\n  \"*\": [a]\n"

Test(engine_workers, a_held_set_stays)
{
    struct fixture f;
    fixture_open(&f, NUMBERED("5"));
    struct engine_worker *other = engine_worker_create(f.engine, metrics_worker(f.metrics, 0));
    cr_assert_not_null(other);
    struct request request = fixture_request("k", "r");
    struct engine_plan plan;
    struct decision decision;
    struct request_error error = {0};

    engine_enter(other);
    const struct policy_set *first = engine_worker_set(other);
    cr_assert(engine_prepare(other, &request, ENGINE_DECIDE, AT(0), &plan, &error));
    fixture_reload(&f, AT(0), NUMBERED("6"));
    fixture_reload(&f, AT(0), NUMBERED("7"));
    fixture_reload(&f, AT(0), NUMBERED("8"));
    for (int i = 0; i < 100; i++) {
        (void)engine_sweep(f.engine, AT(0), 1000);
    }
    cr_expect_eq(engine_worker_set(other), first);
    cr_expect_eq(first->limits[0].limit, 5u); /* a freed set would be noticed here (sanitizer) */
    cr_assert(engine_decide(other, &plan, AT(0), &decision, &error));
    EXPECT_ALLOWED(decision, 7);
    engine_enter(other);
    cr_expect_eq(engine_worker_set(other)->limits[0].limit, 8u);
    engine_leave(other);
    engine_worker_destroy(&other);
    fixture_close(&f);
}

Test(engine_workers, there_are_no_more_than_allowed)
{
    struct fixture f;
    struct engine_worker *workers[LIMITS_WORKERS_MAX];
    fixture_open(&f, NUMBERED("5"));
    for (int i = 0; i < LIMITS_WORKERS_MAX - 1; i++) { /* the fixture has one */
        workers[i] = engine_worker_create(f.engine, metrics_worker(f.metrics, 0));
        cr_assert_not_null(workers[i]);
    }
    cr_expect_null(engine_worker_create(f.engine, metrics_worker(f.metrics, 0)));
    engine_worker_destroy(&workers[3]);
    workers[3] = engine_worker_create(f.engine, metrics_worker(f.metrics, 0));
    cr_expect_not_null(workers[3]);
    for (int i = 0; i < LIMITS_WORKERS_MAX - 1; i++) {
        engine_worker_destroy(&workers[i]);
    }
    fixture_close(&f);
}
