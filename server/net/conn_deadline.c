#include "net/conn_deadline.h"

#include "base/clock.h"
#include "base/limits.h"
#include "net/conn_state.h"

/* How long a closing connection still swallows what its peer sends: closing over unread bytes
 * would reset the connection, and the peer might lose the error it is to read. */
#define CONN_LINGER_NS CLOCK_NS_PER_S
#define CONN_GOODBYE_NS (CLOCK_NS_PER_S / 5) /* the same when the server goes */
/* How long a peer that was told that the server goes may take to say that it knows. */
#define CONN_NOTICE_NS (CLOCK_NS_PER_S / 2)

/* Has one of the connection's deadlines passed? */
static void conn_deadline_check(struct conn *conn, int64_t now_ns)
{
    const struct conn_timeouts *timeouts = &conn->home->timeouts;
    if (conn->state == CONN_LINGER) {
        int64_t most_ns = conn->home->stopping ? CONN_GOODBYE_NS : CONN_LINGER_NS;
        if (now_ns - conn->lingering_ns >= most_ns) {
            conn_close(conn);
        }
        return;
    }
    bool late = timeouts->request_ns > 0 && conn->waiting_ns != 0 &&
                now_ns - conn->waiting_ns >= timeouts->request_ns;
    if (late && conn->state == CONN_ENDING) {
        conn_close(conn);
        return;
    }
    if (conn->state == CONN_OPEN && conn->session == NULL) {
        if (late || now_ns - conn->waiting_ns >= LIMITS_TLS_HANDSHAKE_NS) {
            conn_close(conn);
        }
        return;
    }
    if (late && conn->state == CONN_OPEN) {
        conn->protocol->timed_out(conn->session, conn->home->wire, &conn->home->output);
        conn_end(conn);
        return;
    }
    if (timeouts->idle_ns > 0 && now_ns - conn->last_ns >= timeouts->idle_ns) {
        conn_close(conn);
        return;
    }
    bool noticed = conn->leaving_ns == 0 || now_ns - conn->leaving_ns < CONN_NOTICE_NS;
    if (!noticed && conn->state == CONN_OPEN && !conn->writing) {
        conn_say_goodbye(conn);
    }
}

/* Looks at every deadline; goes to sleep when there is none. */
static void conn_deadline_tick(uv_timer_t *timer)
{
    struct conn_home *home = timer->data;
    int64_t now_ns = clock_now_ns();
    bool needed = false;
    for (struct conn *conn = home->first, *next; conn != NULL; conn = next) {
        next = conn->next;
        conn_deadline_check(conn, now_ns);
        needed = needed || conn->waiting_ns != 0 || conn->state == CONN_LINGER ||
                 conn->leaving_ns != 0 || home->timeouts.idle_ns > 0;
    }
    if (!needed) {
        home->ticking = false;
        (void)uv_timer_stop(timer);
    }
}

void conn_deadline_watch(struct conn_home *home)
{
    if (!home->ticking) {
        home->ticking = true;
        (void)uv_timer_start(&home->tick, conn_deadline_tick, home->tick_ms, home->tick_ms);
    }
}

static uint64_t conn_deadline_period_ms(const struct conn_timeouts *timeouts)
{
    int64_t shortest_ns = CONN_LINGER_NS;
    if (timeouts->request_ns > 0 && timeouts->request_ns < shortest_ns) {
        shortest_ns = timeouts->request_ns;
    }
    if (timeouts->idle_ns > 0 && timeouts->idle_ns < shortest_ns) {
        shortest_ns = timeouts->idle_ns;
    }
    int64_t ms = shortest_ns / 4 / CLOCK_NS_PER_MS;
    return ms < 1 ? 1 : (uint64_t)ms;
}

void conn_deadline_init(struct conn_home *home)
{
    home->ticking = false;
    home->tick_ms = conn_deadline_period_ms(&home->timeouts);
    (void)uv_timer_init(home->loop, &home->tick);
    home->tick.data = home;
}

void conn_deadline_deinit(struct conn_home *home)
{
    uv_close((uv_handle_t *)&home->tick, NULL);
}
