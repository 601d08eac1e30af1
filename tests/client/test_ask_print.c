#include "ask_print.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const struct sluice_answer plain = {
    .allowed = true,
    .decided = true,
    .reason = SLUICE_REASON_UNDER_LIMIT,
    .limit = 5,
    .remaining = 4,
    .retry_after_ns = SLUICE_ABSENT,
    .reset_after_ns = 0,
    .delay_ns = SLUICE_ABSENT,
    .limit_name = {"login", 5},
    .lease_id = {"", 0},
};

static void expect(void (*print)(struct buf *, const struct sluice_answer *),
                   const struct sluice_answer *answer, const char *want)
{
    struct buf out;
    buf_init(&out, 0);
    print(&out, answer);
    buf_append_byte(&out, '\0');
    cr_expect_str_eq((const char *)buf_slice(&out).data, want);
    buf_deinit(&out);
}

Test(ask_print, an_allowed_answer)
{
    expect(ask_print_text, &plain,
           "allowed\nlimit: 5\nremaining: 4\nreset_after: 0s\nlimit_name: login\n"
           "reason: UNDER_LIMIT\n");
    expect(ask_print_json, &plain,
           "{\"allowed\":true,\"limit\":5,\"remaining\":4,\"reset_after_ms\":0,"
           "\"limit_name\":\"login\",\"reason\":\"UNDER_LIMIT\"}\n");
}

Test(ask_print, a_refusal)
{
    struct sluice_answer answer = plain;
    answer.allowed = false;
    answer.reason = SLUICE_REASON_OVER_LIMIT;
    answer.remaining = 0;
    answer.retry_after_ns = 6200000000;
    answer.reset_after_ns = 10000000001;
    answer.delay_ns = 1;
    expect(ask_print_text, &answer,
           "refused: OVER_LIMIT\nlimit: 5\nremaining: 0\nretry_after: 6.2s\n"
           "reset_after: 10.000000001s\ndelay: 0.000000001s\nlimit_name: login\n"
           "reason: OVER_LIMIT\n");
    expect(ask_print_json, &answer,
           "{\"allowed\":false,\"limit\":5,\"remaining\":0,\"retry_after_ms\":6200,"
           "\"reset_after_ms\":10001,\"delay_ms\":1,\"limit_name\":\"login\","
           "\"reason\":\"OVER_LIMIT\"}\n");
}

Test(ask_print, never_is_null)
{
    struct sluice_answer answer = plain;
    answer.allowed = false;
    answer.reason = SLUICE_REASON_BLOCKED;
    answer.limit = answer.remaining = 0;
    answer.reset_after_ns = SLUICE_ABSENT;
    answer.delay_ns = 0;
    answer.limit_name = (struct sluice_bytes){"", 0};
    expect(ask_print_json, &answer,
           "{\"allowed\":false,\"limit\":0,\"remaining\":0,\"retry_after_ms\":null,"
           "\"reason\":\"BLOCKED\"}\n");
    answer.retry_after_ns = INT64_MAX;
    expect(ask_print_json, &answer,
           "{\"allowed\":false,\"limit\":0,\"remaining\":0,\"retry_after_ms\":9223372036855,"
           "\"reason\":\"BLOCKED\"}\n");
}

Test(ask_print, rows)
{
    const struct sluice_row rows[] = {
        {.limit_name = {"a", 1}, .algorithm = {"fixed_window", 12}, .limit = 3, .remaining = 0,
         .retry_after_ns = 1, .reset_after_ns = 2000000000, .delay_ns = 0,
         .window_ns = 60000000000, .allowed = false, .shadow = true},
        {.limit_name = {"x\n\"y", 4}, .algorithm = {"leaky_bucket", 12}, .limit = 9,
         .remaining = 9, .retry_after_ns = SLUICE_ABSENT, .reset_after_ns = SLUICE_ABSENT,
         .delay_ns = 1500000000, .window_ns = SLUICE_ABSENT, .allowed = true},
    };
    struct sluice_answer answer = plain;
    answer.rows = rows;
    answer.row_count = 2;
    expect(ask_print_text, &answer,
           "allowed\nlimit: 5\nremaining: 4\nreset_after: 0s\nlimit_name: login\n"
           "reason: UNDER_LIMIT\n"
           "details: limit_name=a allowed=false limit=3 remaining=0 retry_after=0.000000001s "
           "reset_after=2s delay=0s shadow=true window=60s algorithm=fixed_window\n"
           "details: limit_name=x\\n\\\"y allowed=true limit=9 remaining=9 delay=1.5s "
           "shadow=false algorithm=leaky_bucket\n");
    expect(ask_print_json, &answer,
           "{\"allowed\":true,\"limit\":5,\"remaining\":4,\"reset_after_ms\":0,"
           "\"limit_name\":\"login\",\"reason\":\"UNDER_LIMIT\",\"details\":["
           "{\"limit_name\":\"a\",\"allowed\":false,\"limit\":3,\"remaining\":0,"
           "\"retry_after_ms\":1,\"reset_after_ms\":2000,\"shadow\":true,\"window_ms\":60000,"
           "\"algorithm\":\"fixed_window\"},"
           "{\"limit_name\":\"x\\n\\\"y\",\"allowed\":true,\"limit\":9,\"remaining\":9,"
           "\"delay_ms\":1500,\"shadow\":false,\"algorithm\":\"leaky_bucket\"}]}\n");
}
