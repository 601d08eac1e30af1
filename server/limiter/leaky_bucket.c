/* The queue is the used amount: a call leaves when all that was admitted before it has drained.
 * Where the request's now lies before the counter's own time, the queue stands as at that time,
 * and the delay, like every wait, holds from the request's own now. */
#include "limiter/leaky_bucket.h"

#include "limiter/instant.h"
#include "limiter/token_bucket.h"

static void report_admitted(const struct limiter_policy *asked, const struct limiter_step *step,
                            uint64_t cost, int64_t now_ns, struct limiter_report *out)
{
    token_bucket_report_admitted(asked, step, cost, now_ns, out);
    arith_u128 own = (arith_u128)cost * (uint64_t)asked->window_ns;
    arith_u128 queued = token_bucket_used(&step->next) - own;
    if (queued > 0) {
        out->delay_ns =
            instant_wait_ns(now_ns, step->next.time_ns, token_bucket_drain_ns(asked, queued));
    }
}

const struct algorithm leaky_bucket_algorithm = {
    .admit = token_bucket_admit,
    .report = token_bucket_report,
    .report_admitted = report_admitted,
    .refund = token_bucket_refund,
    .idle_at_ns = token_bucket_idle_at_ns,
    .convert = token_bucket_convert,
};
