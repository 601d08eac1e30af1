#include "base/clock.h"

#include <time.h>

/* What has to be added to CLOCK_BOOTTIME to get this process's idea of wall time. */
static int64_t clock_anchor_ns;

static int64_t clock_read_ns(clockid_t id)
{
    struct timespec at;
    (void)clock_gettime(id, &at);
    return (int64_t)at.tv_sec * CLOCK_NS_PER_S + at.tv_nsec;
}

void clock_start(void)
{
    clock_anchor_ns = clock_read_ns(CLOCK_REALTIME) - clock_read_ns(CLOCK_BOOTTIME);
}

int64_t clock_now_ns(void)
{
    return clock_anchor_ns + clock_read_ns(CLOCK_BOOTTIME);
}

int64_t clock_ticks_ns(void)
{
    return clock_read_ns(CLOCK_MONOTONIC);
}
