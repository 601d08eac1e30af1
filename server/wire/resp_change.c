#include "wire/resp_change.h"

#include "wire/access.h"
#include "wire/resp_ask.h"
#include "wire/resp_reply.h"

/* Counts the request, and refuses a peer that may not change anything. */
static bool may_change(struct resp_turn *turn, enum metrics_kind kind)
{
    struct request_error error;
    metrics_request(turn->worker->metrics, METRICS_RESP, kind, 1);
    if (access_may_change(turn->worker->config, &turn->session->peer)) {
        return true;
    }
    access_deny_change(&error);
    resp_turn_error(turn, &error);
    return false;
}

/* All keys are looked at before the first is forgotten. */
static bool check_keys(const struct resp_command *command, struct request_error *error)
{
    for (uint32_t i = 1; i < command->count; i++) {
        if (!resp_ask_check_key(command->arguments[i], error)) {
            return false;
        }
    }
    return true;
}

void resp_change_del(struct resp_turn *turn, const struct resp_command *command)
{
    struct request_error error;
    uint32_t sum = 0;
    if (!may_change(turn, METRICS_RESET)) {
        return;
    }
    if (!check_keys(command, &error)) {
        resp_turn_error(turn, &error);
        return;
    }
    for (uint32_t i = 1; i < command->count; i++) {
        uint32_t forgotten;
        if (!engine_throttle_forget(turn->worker->engine, command->arguments[i], turn->now_ns,
                                    &forgotten, &error)) {
            resp_turn_error(turn, &error);
            return;
        }
        sum += forgotten;
    }
    turn->answered++;
    resp_reply_integer(turn->out, sum);
}

void resp_change_refund(struct resp_turn *turn, const struct resp_command *command)
{
    struct engine_worker *engine = turn->worker->engine;
    struct wire_scratch_entry *entry = &turn->scratch->entries[0];
    if (!may_change(turn, METRICS_REFUND)) {
        return;
    }
    uint8_t *start = buf_reserve(turn->out, RESP_REPLY_ANSWER_BYTES);
    if (start == NULL) {
        return;
    }
    if (!resp_ask_read_request(command, true, &entry->request, &entry->error) ||
        !engine_prepare(engine, &entry->request, ENGINE_REFUND, turn->now_ns, &entry->plan,
                        &entry->error) ||
        !engine_refund(engine, &entry->plan, turn->now_ns, &turn->scratch->decision,
                       &entry->error)) {
        resp_turn_error(turn, &entry->error);
        return;
    }
    turn->answered++;
    uint8_t *end = resp_reply_decision(start, &turn->scratch->decision);
    buf_commit(turn->out, (size_t)(end - start));
}

void resp_change_reset(struct resp_turn *turn, const struct resp_command *command)
{
    struct engine_worker *engine = turn->worker->engine;
    struct wire_scratch_entry *entry = &turn->scratch->entries[0];
    uint32_t counters;
    if (!may_change(turn, METRICS_RESET)) {
        return;
    }
    if (!resp_ask_read_request(command, false, &entry->request, &entry->error) ||
        !engine_prepare(engine, &entry->request, ENGINE_RESET, turn->now_ns, &entry->plan,
                        &entry->error) ||
        !engine_reset(engine, &entry->plan, turn->now_ns, &counters, &entry->error)) {
        resp_turn_error(turn, &entry->error);
        return;
    }
    turn->answered++;
    resp_reply_integer(turn->out, counters);
}
