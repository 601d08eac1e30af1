#include "wire/http_headers.h"

#include "base/clock.h"
#include "wire/json_out.h"

/* The parameters of draft-ietf-httpapi-ratelimit-headers. Its editors discuss a for r and w for t:
 * then this table changes and nothing else. */
#define PARAMETER_QUOTA ";q="
#define PARAMETER_WINDOW ";w="
#define PARAMETER_REMAINING ";r="
#define PARAMETER_WAIT ";t="

/* One item of either field: ', "name"', two parameters with their numbers. */
#define ITEM_BYTES (4u + LIMITS_LIMIT_NAME_BYTES_MAX + 2u * (3u + JSON_OUT_NUMBER_BYTES))

static uint64_t seconds(int64_t ns)
{
    return (uint64_t)(ns / CLOCK_NS_PER_S + (ns % CLOCK_NS_PER_S != 0));
}

/* ceil(B·W/L) in seconds: how long a bucket takes to drain; a structured field's integer ends at 15
 * digits. */
static uint64_t bucket_seconds(const struct decision_row *row)
{
    arith_u128 per_s = (arith_u128)row->quota * (uint64_t)CLOCK_NS_PER_S;
    arith_u128 total = (arith_u128)row->burst * (uint64_t)row->window_ns;
    arith_u128 wait = total / per_s + (total % per_s != 0);
    return wait > LIMITS_QUOTA_MAX ? LIMITS_QUOTA_MAX : (uint64_t)wait;
}

static bool is_bucket(const struct decision_row *row)
{
    return row->algorithm == LIMITER_TOKEN_BUCKET || row->algorithm == LIMITER_LEAKY_BUCKET;
}

static bool is_shown(const struct decision_row *row)
{
    return !row->shadow && row->reason != REASON_UNLIMITED;
}

/* Nothing ever passes: no window and no wait would be true. */
static bool is_closed(const struct decision_row *row)
{
    return row->reason == REASON_BLOCKED || row->limit == 0;
}

static uint8_t *put_name(uint8_t *at, const uint8_t *begin, struct slice name)
{
    at = at == begin ? at : json_out_text(at, ", ");
    *at++ = '"';
    memcpy(at, name.data, name.size); /* of [A-Za-z0-9_.-]: nothing to escape */
    at += name.size;
    *at++ = '"';
    return at;
}

static uint8_t *put_policy(uint8_t *at, const uint8_t *begin, const struct decision_row *row)
{
    at = put_name(at, begin, row->limit_name);
    at = json_out_text(at, PARAMETER_QUOTA);
    at = json_out_number(at, row->limit);
    if (!is_closed(row) && !row->calendar) {
        at = json_out_text(at, PARAMETER_WINDOW);
        at = json_out_number(at, is_bucket(row) ? bucket_seconds(row) : seconds(row->window_ns));
    }
    return at;
}

static uint8_t *put_state(uint8_t *at, const uint8_t *begin, const struct decision_row *row,
                          bool refused)
{
    int64_t wait_ns = row->allowed ? row->reset_after_ns : row->retry_after_ns;
    at = put_name(at, begin, row->limit_name);
    at = json_out_text(at, PARAMETER_REMAINING);
    at = json_out_number(at, row->remaining);
    if (!is_closed(row) && wait_ns >= 0 && !(refused && row->allowed)) {
        at = json_out_text(at, PARAMETER_WAIT);
        at = json_out_number(at, seconds(wait_ns));
    }
    return at;
}

static bool add_fields(struct http_turn *turn)
{
    const struct decision *decision = &turn->scratch->decision;
    size_t size = (size_t)ITEM_BYTES * decision->row_count;
    uint8_t *policy = http_turn_room(turn, 2 * size + 1);
    if (policy == NULL) {
        return false;
    }
    uint8_t *state = policy + size;
    uint8_t *policy_end = policy;
    uint8_t *state_end = state;
    for (uint32_t i = 0; i < decision->row_count; i++) {
        const struct decision_row *row = &decision->rows[i];
        if (is_shown(row)) {
            policy_end = put_policy(policy_end, policy, row);
            state_end = put_state(state_end, state, row, !decision->shown.allowed);
        }
    }
    if (policy_end != policy) {
        http_turn_header(turn, "ratelimit-policy",
                         slice_make(policy, (size_t)(policy_end - policy)));
        http_turn_header(turn, "ratelimit", slice_make(state, (size_t)(state_end - state)));
    }
    return true;
}

static bool add_number(struct http_turn *turn, const char *name, uint64_t number)
{
    uint8_t *begin = http_turn_room(turn, JSON_OUT_NUMBER_BYTES);
    if (begin != NULL) {
        http_turn_header(turn, name,
                         slice_make(begin, (size_t)(json_out_number(begin, number) - begin)));
    }
    return begin != NULL;
}

/* The shown limit's. */
static bool add_x_fields(struct http_turn *turn)
{
    const struct decision_row *shown = &turn->scratch->decision.shown;
    if (shown->limit_name.size == 0 || shown->reason == REASON_UNLIMITED) {
        return true;
    }
    return add_number(turn, "x-ratelimit-limit", shown->limit) &&
           add_number(turn, "x-ratelimit-remaining", shown->remaining) &&
           (shown->reset_after_ns < 0 ||
            add_number(turn, "x-ratelimit-reset", seconds(shown->reset_after_ns)));
}

bool http_headers_add(struct http_turn *turn, bool refused)
{
    int64_t retry_ns = turn->scratch->decision.shown.retry_after_ns;
    http_turn_header(turn, "cache-control", slice_text("no-store"));
    if (!add_fields(turn)) {
        return false;
    }
    if (refused && retry_ns >= 0) {
        uint64_t wait = seconds(retry_ns);
        if (!add_number(turn, "retry-after", wait == 0 ? 1 : wait)) {
            return false;
        }
    }
    return !turn->worker->config->x_ratelimit_headers || add_x_fields(turn);
}

static bool names_problem(struct slice range)
{
    static const char type[] = "application/problem+json";
    size_t at = 0;
    size_t size = sizeof(type) - 1;
    while (at < range.size && (range.data[at] == ' ' || range.data[at] == '\t')) {
        at++;
    }
    if (range.size - at < size) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        uint8_t byte = range.data[at + i];
        byte = byte >= 'A' && byte <= 'Z' ? (uint8_t)(byte | 0x20) : byte;
        if (byte != (uint8_t)type[i]) {
            return false;
        }
    }
    uint8_t next = at + size < range.size ? range.data[at + size] : ' ';
    if (next != ' ' && next != '\t' && next != ';') {
        return false;
    }
    /* q=0, q=0.0 …: named in order not to get it. */
    for (size_t i = at + size; i + 2 < range.size; i++) {
        if ((range.data[i] | 0x20) == 'q' && range.data[i + 1] == '=' && range.data[i + 2] == '0') {
            size_t digit = i + 3;
            while (digit < range.size && (range.data[digit] == '.' || range.data[digit] == '0')) {
                digit++;
            }
            return digit < range.size && range.data[digit] >= '1' && range.data[digit] <= '9';
        }
    }
    return true;
}

static bool accept_names_problem(struct slice value)
{
    while (value.size > 0) {
        const uint8_t *comma = memchr(value.data, ',', value.size);
        size_t size = comma == NULL ? value.size : (size_t)(comma - value.data);
        if (names_problem(slice_make(value.data, size))) {
            return true;
        }
        size_t used = comma == NULL ? size : size + 1;
        value = slice_make(value.data + used, value.size - used);
    }
    return false;
}

bool http_headers_accepts_problem(const struct http_request *request)
{
    for (uint32_t i = 0; i < request->header_count; i++) {
        if (slice_equal_text(request->headers[i].name, "accept") &&
            accept_names_problem(request->headers[i].value)) {
            return true;
        }
    }
    return false;
}
