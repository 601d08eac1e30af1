#include "wire/native_turn.h"

void native_turn_prepare(struct native_turn *turn, struct wire_scratch_entry *entry)
{
    entry->failed = !engine_prepare(turn->worker->engine, &entry->request, ENGINE_DECIDE,
                                    turn->now_ns, &entry->plan, &entry->error);
}

bool native_turn_decide(struct native_turn *turn, struct wire_scratch_entry *entry)
{
    if (!entry->failed && engine_decide(turn->worker->engine, &entry->plan, turn->now_ns,
                                        &turn->scratch->decision, &entry->error)) {
        turn->answered++;
        return true;
    }
    metrics_request_error(turn->worker->metrics, turn->metrics, (int)entry->error.code);
    return false;
}

bool native_turn_error(struct native_turn *turn, uint64_t id, const struct request_error *error)
{
    uint8_t *at = buf_reserve(turn->out, NATIVE_ENCODE_FRAME_BYTES);
    if (at == NULL) {
        return false;
    }
    buf_commit(turn->out, (size_t)(native_encode_error(at, id, error) - at));
    metrics_request_error(turn->worker->metrics, turn->metrics, (int)error->code);
    return true;
}
