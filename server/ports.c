#include "ports.h"

#include "base/clock.h"

#include <stdio.h>
#include <time.h>

#define PORTS_DRAIN_TURNS 10
#define PORTS_DRAIN_PAUSE_NS (5 * CLOCK_NS_PER_MS)

static enum status ports_open_one(struct ports *ports, const struct config_listen *listen,
                                  enum listener_manner manner, const char **why)
{
    uint32_t at = ports->count;
    if (listen->shares < at) {
        return listener_share(&ports->listeners[at], listen->protocol,
                              &ports->listeners[listen->shares]);
    }
    return listener_open(&ports->listeners[at], listen->protocol, &listen->address, manner,
                         &ports->inherit, why);
}

enum status ports_open(struct ports *ports, const struct config *config,
                       const struct state *state)
{
    enum listener_manner manner = !state->open     ? LISTENER_ALONE
                                  : state->waiting ? LISTENER_BESIDE
                                                   : LISTENER_FIRST;
    enum status status = inherit_init(&ports->inherit);
    while (status == STATUS_OK && ports->count < config->listen_count) {
        const struct config_listen *listen = &config->listens[ports->count];
        const char *why = "";
        status = ports_open_one(ports, listen, manner, &why);
        if (status == STATUS_OK) {
            ports->count++;
        } else {
            (void)fprintf(stderr, "sluiced: %s: %s\n", listen->text, why);
        }
    }
    if (inherit_deinit(&ports->inherit) > 0) {
        log_event(LOG_LEVEL_WARN, "sockets were handed over that no --listen asks for", NULL, 0);
    }
    return status;
}

void ports_settle(struct ports *ports)
{
    for (uint32_t i = 0; i < ports->count; i++) {
        listener_settle(&ports->listeners[i]);
    }
}

enum status ports_start(struct ports *ports, uv_loop_t *loop, struct worker_pool *workers,
                        struct metrics_worker *metrics, const struct secrets *secrets)
{
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < ports->count && status == STATUS_OK; i++) {
        ports->listeners[i].tls = secrets->tls;
        status = listener_start(&ports->listeners[i], loop, workers, metrics);
    }
    return status;
}

bool ports_have_admin(const struct ports *ports)
{
    bool found = false;
    for (uint32_t i = 0; i < ports->count; i++) {
        found = found || ports->listeners[i].admin;
    }
    return found;
}

bool ports_are_public(const struct ports *ports)
{
    bool found = false;
    for (uint32_t i = 0; i < ports->count; i++) {
        found = found || !address_is_local(&ports->listeners[i].address);
    }
    return found;
}

void ports_say(const struct ports *ports)
{
    for (uint32_t i = 0; i < ports->count; i++) {
        struct buf address;
        buf_init(&address, 0);
        address_append(&ports->listeners[i].address, &address);
        (void)printf("listening %s %.*s\n", ports->listeners[i].protocol->name, (int)address.size,
                     (const char *)address.data + address.start);
        buf_deinit(&address);
    }
}

void ports_hand_over(struct ports *ports)
{
    struct timespec pause = {.tv_nsec = PORTS_DRAIN_PAUSE_NS};
    for (uint32_t i = 0; i < ports->count; i++) {
        listener_turn_away(&ports->listeners[i]);
    }
    for (int turn = 0; turn < PORTS_DRAIN_TURNS; turn++) {
        for (uint32_t i = 0; i < ports->count; i++) {
            listener_drain(&ports->listeners[i]);
        }
        (void)nanosleep(&pause, NULL);
    }
}

void ports_close(struct ports *ports)
{
    for (uint32_t i = ports->count; i > 0; i--) {
        listener_close(&ports->listeners[i - 1]);
    }
    ports->count = 0;
}
