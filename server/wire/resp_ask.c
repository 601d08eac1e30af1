#include "wire/resp_ask.h"

#include "base/text.h"
#include "wire/resp_reply.h"

#include <inttypes.h>

static_assert((int64_t)LIMITS_THROTTLE_PERIOD_S_MAX == LIMITS_WINDOW_NS_MAX / 1000000000,
              "a period is as long as a window can be");

enum resp_ask_kind resp_ask_kind(struct slice name)
{
    static const char usual[] = "CL.THROTTLE";
    if (name.size == sizeof(usual) - 1 &&
        (memcmp(name.data, usual, sizeof(usual) - 1) == 0 || resp_turn_says(name, usual))) {
        return RESP_ASK_THROTTLE;
    }
    return resp_turn_says(name, "SLUICE.ALLOW") ? RESP_ASK_ALLOW : RESP_ASK_OTHER;
}

static void set_arity_error(struct request_error *error, const char *name)
{
    request_error_set(error, REQUEST_INVALID_ARGUMENT, "",
                      "wrong number of arguments for '%s' command", name);
}

bool resp_ask_check_key(struct slice key, struct request_error *error)
{
    if (key.size > 0 && key.size <= LIMITS_KEY_BYTES_MAX) {
        return true;
    }
    request_error_set(error, REQUEST_INVALID_ARGUMENT, "key",
                      "1 to %d bytes were expected, not %zu", LIMITS_KEY_BYTES_MAX, key.size);
    return false;
}

/* Digits that surely fit: all but the largest numbers. */
static inline bool read_digits(struct slice text, uint64_t *out)
{
    uint64_t value = 0;
    if (text.size == 0 || text.size > 18 || (text.data[0] == '0' && text.size > 1)) {
        return false;
    }
    for (size_t i = 0; i < text.size; i++) {
        uint8_t digit = (uint8_t)(text.data[i] - '0');
        if (digit > 9) {
            return false;
        }
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}

static bool read_number(struct slice text, const char *field, uint64_t least, uint64_t most,
                        uint64_t *out, struct request_error *error)
{
    bool read = read_digits(text, out) || text_parse_u64(text, out) == STATUS_OK;
    if (read && *out >= least && *out <= most) {
        return true;
    }
    request_error_set(error, REQUEST_INVALID_ARGUMENT, field,
                      "a whole number from %" PRIu64 " to %" PRIu64 " was expected", least, most);
    return false;
}

/* CL.THROTTLE key max_burst count period [quantity] */
static bool prepare_throttle(struct resp_turn *turn, struct engine_throttle *throttle,
                             const struct resp_command *command, struct request_error *error)
{
    const struct slice *arguments = command->arguments;
    struct engine_throttle_numbers numbers = {.quantity = 1};
    if (command->count < 5 || command->count > 6) {
        set_arity_error(error, "cl.throttle");
        return false;
    }
    if (!resp_ask_check_key(arguments[1], error) ||
        !read_number(arguments[2], "max_burst", 0, LIMITS_THROTTLE_BURST_MAX, &numbers.max_burst,
                     error) ||
        !read_number(arguments[3], "count", 1, LIMITS_QUOTA_MAX, &numbers.count, error) ||
        !read_number(arguments[4], "period", 1, LIMITS_THROTTLE_PERIOD_S_MAX, &numbers.period_s,
                     error)) {
        return false;
    }
    if (command->count == 6 && !read_number(arguments[5], "quantity", 0, LIMITS_COST_MAX,
                                            &numbers.quantity, error)) {
        return false;
    }
    engine_throttle_prepare(turn->worker->engine, arguments[1], &numbers, throttle);
    return true;
}

/* ATTR name value, from argument `at` on. More attributes than there may be are counted, not
 * kept: the engine refuses them. */
static bool read_attributes(const struct resp_command *command, uint32_t at,
                            struct request *request, struct request_error *error)
{
    request->attribute_count = 0;
    for (; at < command->count; at += 3) {
        if (!resp_turn_says(command->arguments[at], "ATTR") || command->count - at < 3) {
            request_error_set(error, REQUEST_INVALID_ARGUMENT, "",
                              "syntax error: expected ATTR, a name and a value behind the %s",
                              request->has_cost || request->cost_invalid ? "cost" : "route");
            return false;
        }
        if (request->attribute_count < LIMITS_ATTRIBUTES_MAX) {
            request->attributes[request->attribute_count] = (struct request_attribute){
                .name = command->arguments[at + 1], .value = command->arguments[at + 2]};
        }
        request->attribute_count++;
    }
    return true;
}

bool resp_ask_read_request(const struct resp_command *command, bool takes_cost,
                           struct request *request, struct request_error *error)
{
    uint32_t at = 3;
    if (command->count < 3) {
        char name[RESP_TURN_COMMAND_BYTES];
        set_arity_error(error, resp_turn_small(command->arguments[0], name));
        return false;
    }
    request->key = command->arguments[1];
    request->route = command->arguments[2];
    request->cost = 0;
    request->has_cost = false;
    request->cost_invalid = false;
    request->details = false;
    request->utf8 = false;
    if (takes_cost && command->count > 3 && !resp_turn_says(command->arguments[3], "ATTR")) {
        request->cost_invalid = text_parse_u64(command->arguments[3], &request->cost) != STATUS_OK;
        request->has_cost = !request->cost_invalid;
        at = 4;
    }
    return read_attributes(command, at, request, error);
}

void resp_ask_prepare(struct resp_turn *turn, uint32_t index, enum resp_ask_kind kind,
                      const struct resp_command *command)
{
    struct wire_scratch_entry *entry = &turn->scratch->entries[index];
    entry->id = kind;
    if (kind == RESP_ASK_THROTTLE) {
        entry->failed =
            !prepare_throttle(turn, &turn->scratch->throttles[index], command, &entry->error);
        return;
    }
    entry->failed = !resp_ask_read_request(command, true, &entry->request, &entry->error) ||
                    !engine_prepare(turn->worker->engine, &entry->request, ENGINE_DECIDE,
                                    turn->now_ns, &entry->plan, &entry->error);
}

/* Decides one entry and writes its answer at `at`; returns its end, or NULL with entry->error. */
static uint8_t *decide(struct resp_turn *turn, uint32_t index, uint8_t *at)
{
    struct engine_worker *engine = turn->worker->engine;
    struct wire_scratch_entry *entry = &turn->scratch->entries[index];
    if (entry->failed) {
        return NULL;
    }
    if (entry->id == RESP_ASK_THROTTLE) {
        struct engine_throttle_answer answer;
        return engine_throttle_decide(engine, &turn->scratch->throttles[index], turn->now_ns,
                                      &answer, &entry->error)
                   ? resp_reply_throttle(at, &answer)
                   : NULL;
    }
    return engine_decide(engine, &entry->plan, turn->now_ns, &turn->scratch->decision,
                         &entry->error)
               ? resp_reply_decision(at, &turn->scratch->decision)
               : NULL;
}

void resp_ask_answer(struct resp_turn *turn, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *start = buf_reserve(turn->out, RESP_REPLY_ANSWER_BYTES);
        if (start == NULL) {
            return;
        }
        uint8_t *end = decide(turn, i, start);
        if (end != NULL) {
            buf_commit(turn->out, (size_t)(end - start));
            turn->answered++;
        } else {
            resp_turn_error(turn, &turn->scratch->entries[i].error);
        }
    }
    if (count > 0) {
        metrics_request(turn->worker->metrics, METRICS_RESP, METRICS_SHOULD_ALLOW, count);
    }
}
