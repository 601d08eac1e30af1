/* Recorded traffic in its four formats: what is read, what is told apart, what is complained of. */
#include "traffic.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <unistd.h>

/* The items of a text, one line each, and the complaints. */
struct reading {
    struct buf items;
    struct buf complaints;
    struct buf message;
    uint64_t count;
    uint64_t unreadable;
    bool opened;
    enum traffic_format format;
};

static const char *text_of(struct buf *buf)
{
    if (buf->size == 0 || buf->data[buf->start + buf->size - 1] != 0) {
        buf_append_byte(buf, 0);
    }
    return (const char *)buf->data + buf->start;
}

static void append_item(struct buf *out, const struct traffic_item *item)
{
    const struct request *request = &item->request;
    buf_printf(out, "%llu %lld %s ", (unsigned long long)item->line, (long long)item->t_ns,
               traffic_op_name(item->op));
    buf_append_slice(out, request->key);
    buf_append_text(out, "|");
    buf_append_slice(out, request->route);
    if (request->cost_invalid) {
        buf_append_text(out, "|cost?");
    } else if (request->has_cost) {
        buf_printf(out, "|%llu", (unsigned long long)request->cost);
    }
    for (uint32_t i = 0; i < request->attribute_count && i < LIMITS_ATTRIBUTES_MAX; i++) {
        buf_append_text(out, "|");
        buf_append_slice(out, request->attributes[i].name);
        buf_append_text(out, "=");
        buf_append_slice(out, request->attributes[i].value);
    }
    buf_append_text(out, "\n");
}

static void reading_init(struct reading *reading, const char *text, size_t size,
                         struct traffic_options options)
{
    char path[] = "/tmp/traffic-test-XXXXXX";
    char *complaints = NULL;
    size_t complaints_size = 0;
    int fd = mkstemp(path);
    cr_assert(fd >= 0);
    cr_assert_eq(write(fd, text, size), (ssize_t)size);
    cr_assert_eq(close(fd), 0);
    *reading = (struct reading){.count = 0};
    buf_init(&reading->items, 0);
    buf_init(&reading->complaints, 0);
    buf_init(&reading->message, 0);
    options.path = path;
    options.complaints = open_memstream(&complaints, &complaints_size);
    struct traffic *traffic = traffic_open(&options, &reading->message);
    reading->opened = traffic != NULL;
    struct traffic_item item;
    while (traffic != NULL && traffic_next(traffic, &item, &reading->message) == TRAFFIC_ITEM) {
        append_item(&reading->items, &item);
        reading->count++;
    }
    if (traffic != NULL) {
        reading->unreadable = traffic_unreadable(traffic);
        reading->format = traffic_format_used(traffic);
    }
    traffic_close(&traffic);
    (void)fclose(options.complaints);
    buf_append(&reading->complaints, complaints, complaints_size);
    free(complaints);
    (void)unlink(path);
}

static void reading_deinit(struct reading *reading)
{
    buf_deinit(&reading->items);
    buf_deinit(&reading->complaints);
    buf_deinit(&reading->message);
}

/* `text` gives these items, in this format, and so many unreadable lines. */
static void expect(const char *text, struct traffic_options options, enum traffic_format format,
                   const char *items, uint64_t unreadable)
{
    struct reading reading;
    reading_init(&reading, text, strlen(text), options);
    cr_expect(reading.opened, "%s: %s", text, text_of(&reading.message));
    cr_expect_eq(reading.format, format, "%s: read as %s", text,
                 traffic_format_name(reading.format));
    cr_expect_str_eq(text_of(&reading.items), items);
    cr_expect_eq(reading.unreadable, unreadable, "%s: %s", text, text_of(&reading.complaints));
    reading_deinit(&reading);
}

/* A line that cannot be read, and a phrase of the complaint; the line after it still is. */
static void expect_complaint(const char *line, const char *phrase)
{
    struct reading reading;
    char text[4096];
    int size = snprintf(text, sizeof(text), "{\"t_ns\":1}\n%s\n{\"t_ns\":3}\n", line);
    reading_init(&reading, text, (size_t)size, (struct traffic_options){.path = NULL});
    const char *complaints = text_of(&reading.complaints);
    cr_expect_eq(reading.count, 2, "%s: %s", line, text_of(&reading.items));
    cr_expect_eq(reading.unreadable, 1, "%s", line);
    cr_expect_not_null(strstr(complaints, ":2: "), "%s: %s", line, complaints);
    cr_expect_not_null(strstr(complaints, phrase), "%s: %s", line, complaints);
    cr_expect_not_null(strstr(complaints, "expected") ? complaints : strstr(complaints, "mean"),
                       "%s: %s", line, complaints);
    reading_deinit(&reading);
}

Test(traffic_json, reads_every_member)
{
    expect("{\"t_ns\":1767225600000000001,\"key\":\"a\",\"route\":\"GET /\",\"cost\":3,"
           "\"attributes\":{\"ip\":\"192.0.2.1\",\"plan\":\"\"}}\n"
           "{\"time\":\"2026-01-01T01:00:00.123456789+01:00\",\"op\":\"refund\",\"key\":\"b\"}\n"
           "{\"t_ns\":-5,\"op\":\"reset\",\"key_base64\":\"Yg==\",\"route\":\"r\"}\r\n"
           "\n"
           "{\"t_ns\":\"7\",\"op\":\"reload\",\"limits_file\":\"x.yaml\"}",
           (struct traffic_options){.path = NULL}, TRAFFIC_NDJSON,
           "1 1767225600000000001 allow a|GET /|3|ip=192.0.2.1|plan=\n"
           "2 1767225600123456789 refund b|\n"
           "3 -5 reset b|r\n"
           "5 7 reload |\n",
           0);
}

Test(traffic_json, costs_are_exact_or_an_error_of_the_request)
{
    expect("{\"t_ns\":1767225600000000000,\"cost\":9223372036854775807}\n"
           "{\"t_ns\":1767225600000000000,\"cost\":\"9223372036854775807\"}\n"
           "{\"t_ns\":1767225600000000000,\"cost\":9223372036854775808}\n"
           "{\"t_ns\":1767225600000000000,\"cost\":99999999999999999999999999}\n"
           "{\"t_ns\":1767225600000000000,\"cost\":-1}\n"
           "{\"t_ns\":1767225600000000000,\"cost\":1.5}\n"
           "{\"t_ns\":1767225600000000000,\"cost\":1e3}\n"
           "{\"t_ns\":1767225600000000000,\"cost\":1e999}\n"
           "{\"t_ns\":1767225600000000000,\"cost\":\"-1\"}\n"
           "{\"t_ns\":1767225600000000000,\"cost\":\"9223372036854775808\"}\n"
           "{\"t_ns\":1767225600000000000,\"key\":\"99999999999999999999\",\"cost\":0}\n",
           (struct traffic_options){.path = NULL}, TRAFFIC_NDJSON,
           "1 1767225600000000000 allow ||9223372036854775807\n"
           "2 1767225600000000000 allow ||9223372036854775807\n"
           "3 1767225600000000000 allow ||cost?\n"
           "4 1767225600000000000 allow ||cost?\n"
           "5 1767225600000000000 allow ||cost?\n"
           "6 1767225600000000000 allow ||cost?\n"
           "7 1767225600000000000 allow ||cost?\n"
           "8 1767225600000000000 allow ||cost?\n"
           "9 1767225600000000000 allow ||cost?\n"
           "10 1767225600000000000 allow ||cost?\n"
           "11 1767225600000000000 allow 99999999999999999999||0\n",
           0);
}

Test(traffic_json, keys_hold_any_byte)
{
    static const char text[] = "{\"t_ns\":1,\"key\":\"a\\u0000b\"}\n{\"t_ns\":2,\"key_base64\":"
                               "\"//4=\"}\n";
    static const char items[] = "1 1 allow a\0b|\n2 2 allow \xFF\xFE|\n";
    struct reading reading;
    reading_init(&reading, text, sizeof(text) - 1, (struct traffic_options){.path = NULL});
    cr_assert_eq(reading.items.size, sizeof(items) - 1);
    cr_expect_arr_eq(reading.items.data + reading.items.start, items, sizeof(items) - 1);
    reading_deinit(&reading);
}

Test(traffic_json, complains_of_what_it_cannot_read)
{
    expect_complaint("nonsense", "not valid JSON");
    expect_complaint("[1]", "the line is an array");
    expect_complaint("{\"t_ns\":1", "not valid JSON");
    expect_complaint("{\"t_ns\":1} x", "not valid JSON");
    expect_complaint("{\"t_ns\":1,\"t_ns\":2}", "duplicate");
    expect_complaint("{\"key\":\"a\"}", "no time");
    expect_complaint("{\"t_ns\":1.5}", "t_ns is a fraction");
    expect_complaint("{\"t_ns\":9223372036854775808}", "t_ns is a fraction or does not fit");
    expect_complaint("{\"t_ns\":null}", "t_ns is null");
    expect_complaint("{\"t_ns\":\"1x\"}", "t_ns is \"1x\"");
    expect_complaint("{\"t_ns\":1,\"time\":\"2026-01-01T00:00:00Z\"}", "both t_ns and time");
    expect_complaint("{\"time\":\"2026-01-01T00:00:00\"}", "RFC 3339");
    expect_complaint("{\"time\":\"2026-02-30T00:00:00Z\"}", "RFC 3339");
    expect_complaint("{\"t_ns\":1,\"kye\":\"a\"}", "did you mean \"key\"");
    expect_complaint("{\"t_ns\":1,\"key\":5}", "key is a number");
    expect_complaint("{\"t_ns\":1,\"key\":\"a\",\"key_base64\":\"YQ==\"}", "key_base64");
    expect_complaint("{\"t_ns\":1,\"key_base64\":\"YR==\"}", "padded base64");
    expect_complaint("{\"t_ns\":1,\"key_base64\":\"YQ\"}", "padded base64");
    expect_complaint("{\"t_ns\":1,\"cost\":\"many\"}", "cost is \"many\"");
    expect_complaint("{\"t_ns\":1,\"cost\":true}", "cost is a boolean");
    expect_complaint("{\"t_ns\":1,\"attributes\":[]}", "attributes is an array");
    expect_complaint("{\"t_ns\":1,\"attributes\":{\"a\":1}}", "an attribute's value is a number");
    expect_complaint("{\"t_ns\":1,\"op\":\"alow\"}", "did you mean \"allow\"");
    expect_complaint("{\"t_ns\":1,\"op\":\"delete\"}", "op is \"delete\"");
    expect_complaint("{\"t_ns\":1,\"op\":\"reload\"}", "no limits");
    expect_complaint("{\"t_ns\":1,\"op\":\"reload\",\"limits\":\"\",\"limits_file\":\"x\"}",
                     "two sources");
    expect_complaint("{\"t_ns\":1,\"limits\":\"\"}", "limits beside op allow");
    expect_complaint("{\"t_ns\":1,\"key\":\"\xFF\"}", "not valid JSON");
    expect_complaint("{\"t_ns\":1,\"x\\u001b[31m\\n\":1}", "\\x1b[31m\\n");
}

Test(traffic_json, counts_attributes_past_the_maximum)
{
    char text[2048] = "{\"t_ns\":1,\"attributes\":{";
    for (int i = 0; i < LIMITS_ATTRIBUTES_MAX + 4; i++) {
        size_t used = strlen(text);
        (void)snprintf(text + used, sizeof(text) - used, "%s\"a%d\":\"\"", i > 0 ? "," : "", i);
    }
    strcat(text, "}}\n");
    char path[] = "/tmp/traffic-test-XXXXXX";
    int fd = mkstemp(path);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    cr_assert_eq(close(fd), 0);
    struct buf message;
    buf_init(&message, 0);
    struct traffic_options options = {.path = path};
    struct traffic *traffic = traffic_open(&options, &message);
    struct traffic_item item;
    cr_assert_eq(traffic_next(traffic, &item, &message), TRAFFIC_ITEM);
    cr_expect_eq(item.request.attribute_count, LIMITS_ATTRIBUTES_MAX + 4);
    cr_expect_eq(traffic_next(traffic, &item, &message), TRAFFIC_END);
    traffic_close(&traffic);
    (void)unlink(path);
}

Test(traffic_csv, reads_quotes_and_empty_cells)
{
    expect("t_ns,op,key,route,cost,attribute.ip\n"
           "1,,a,\"GET \"\"x\"\", y\",3,192.0.2.1\n"
           "2,refund,b,r,,\"\"\n"
           "3,,c,r,,\n"
           "4,,c,r,-1,\n",
           (struct traffic_options){.path = NULL}, TRAFFIC_CSV,
           "2 1 allow a|GET \"x\", y|3|ip=192.0.2.1\n"
           "3 2 refund b|r|ip=\n"
           "4 3 allow c|r\n"
           "5 4 allow c|r|cost?\n",
           0);
}

Test(traffic_csv, skips_records_it_cannot_read)
{
    expect("\xEF\xBB\xBFkey,time,key_base64\r\n"
           "a,2026-01-01T00:00:00Z,\r\n"
           "a,b\r\n"
           "a,2026-01-01T00:00:00Z,,\r\n"
           "\"a,2026-01-01T00:00:00Z,\r\n"
           "\"a\"b,2026-01-01T00:00:00Z,\r\n"
           "a,2026-01-01T00:00:00Z,YQ==\r\n"
           ",,\r\n"
           ",2026-01-01T00:00:00Z,YQ==\r\n",
           (struct traffic_options){.path = NULL}, TRAFFIC_CSV,
           "2 1767225600000000000 allow a|\n9 1767225600000000000 allow a|\n", 6);
}

static void expect_not_opened(const char *text, struct traffic_options options, const char *phrase)
{
    struct reading reading;
    reading_init(&reading, text, strlen(text), options);
    cr_expect_not(reading.opened, "%s", text);
    cr_expect_not_null(strstr(text_of(&reading.message), phrase), "%s: %s", text,
                       text_of(&reading.message));
    reading_deinit(&reading);
}

Test(traffic_csv, refuses_a_bad_header)
{
    expect_not_opened("t_ns,kee\n1,a\n", (struct traffic_options){.path = NULL},
                      "did you mean \"key\"");
    expect_not_opened("t_ns,key,key\n", (struct traffic_options){.path = NULL}, "comes twice");
    expect_not_opened("t_ns,time\n", (struct traffic_options){.path = NULL},
                      "both or neither of t_ns and time");
    expect_not_opened("key,route\na,b\n", (struct traffic_options){.format = TRAFFIC_CSV},
                      "both or neither of t_ns and time");
}

Test(traffic_open, says_what_is_wrong)
{
    expect_not_opened("hello\nworld\n", (struct traffic_options){.path = NULL}, "--format");
    struct buf message;
    buf_init(&message, 0);
    struct traffic_options options = {.path = "/nonexistent/traffic"};
    cr_expect_null(traffic_open(&options, &message));
    cr_expect_not_null(strstr(text_of(&message), "/nonexistent/traffic: cannot be opened"));
    buf_deinit(&message);
}

Test(traffic_open, an_unreadable_first_line_does_not_hide_the_format)
{
    expect("nonsense\n{\"t_ns\":1}\n", (struct traffic_options){.path = NULL}, TRAFFIC_NDJSON,
           "2 1 allow |\n", 1);
    expect("", (struct traffic_options){.path = NULL}, TRAFFIC_NDJSON, "", 0);
    expect("\n \n", (struct traffic_options){.path = NULL}, TRAFFIC_NDJSON, "", 0);
}

#define LOG_LINE(address, user, second, request) \
    address " - " user " [17/May/2015:10:05:" second " +0000] \"" request "\" 200 5"

Test(traffic_log, sorts_by_time_and_keeps_the_order_of_equals)
{
    expect(LOG_LINE("192.0.2.1", "-", "03", "GET /c?x=1 HTTP/1.1") "\n"
           LOG_LINE("192.0.2.2", "frank", "01", "POST /a HTTP/1.0") "\n"
           LOG_LINE("192.0.2.3", "-", "03", "GET /d HTTP/1.1") "\n"
           LOG_LINE("192.0.2.4", "-", "02", "GET /b") "\n",
           (struct traffic_options){.path = NULL}, TRAFFIC_COMMON,
           "2 1431857101000000000 allow 192.0.2.2|POST /a|ip=192.0.2.2|user=frank\n"
           "4 1431857102000000000 allow 192.0.2.4|GET /b|ip=192.0.2.4\n"
           "1 1431857103000000000 allow 192.0.2.1|GET /c|ip=192.0.2.1\n"
           "3 1431857103000000000 allow 192.0.2.3|GET /d|ip=192.0.2.3\n",
           0);
}

Test(traffic_log, key_route_and_cost_as_asked)
{
    static const char text[] =
        LOG_LINE("192.0.2.1", "a b", "01", "GET http://h/p\\x20q?x HTTP/1.1")
        " \"-\" \"curl \\\"8\\\"\"\n";
    expect(text, (struct traffic_options){.key = TRAFFIC_USER_AGENT}, TRAFFIC_COMBINED,
           "1 1431857101000000000 allow curl \"8\"|GET /p q|ip=192.0.2.1|user=a b\n", 0);
    expect(text,
           (struct traffic_options){
               .key = TRAFFIC_USER, .route = TRAFFIC_PATH, .has_cost = true, .cost = 2},
           TRAFFIC_COMBINED, "1 1431857101000000000 allow a b|/p q|2|ip=192.0.2.1|user=a b\n", 0);
    expect_not_opened(LOG_LINE("192.0.2.1", "-", "01", "GET / HTTP/1.1") "\n",
                      (struct traffic_options){.key = TRAFFIC_USER_AGENT}, "no user agent");
}

Test(traffic_log, skips_garbage)
{
    expect(LOG_LINE("192.0.2.1", "-", "01", "\\x16\\x03\\x01") "\n"
           LOG_LINE("192.0.2.1", "-", "01", "-") "\n"
           LOG_LINE("192.0.2.1", "-", "01", "GET  HTTP/1.1") "\n"
           LOG_LINE("192.0.2.1", "-", "61", "GET / HTTP/1.1") "\n"
           "192.0.2.1 - - [17/Mai/2015:10:05:01 +0000] \"GET / HTTP/1.1\" 200 5\n"
           "192.0.2.1 - - [17/May/2015:10:05:01] \"GET / HTTP/1.1\" 200 5\n"
           "192.0.2.1 - - [17/May/2015:10:05:01 +0000] \"GET / HTTP/1.1\n"
           "192.0.2.1 - - [17/May/2015:10:05:01 +0000] \"GET / HTTP/1.1\" x 5\n"
           LOG_LINE("192.0.2.1", "-", "02", "GET /ok HTTP/1.1") "\n",
           (struct traffic_options){.path = NULL}, TRAFFIC_COMMON,
           "9 1431857102000000000 allow 192.0.2.1|GET /ok|ip=192.0.2.1\n", 8);
}

Test(traffic_log, zones_and_leap_seconds)
{
    expect("192.0.2.1 - - [17/May/2015:12:05:01 +0200] \"GET / HTTP/1.1\" 200 5\n"
           "192.0.2.1 - - [17/May/2015:10:05:01.250 +0000] \"GET / HTTP/1.1\" 304 -\n",
           (struct traffic_options){.path = NULL}, TRAFFIC_COMMON,
           "1 1431857101000000000 allow 192.0.2.1|GET /|ip=192.0.2.1\n"
           "2 1431857101250000000 allow 192.0.2.1|GET /|ip=192.0.2.1\n",
           0);
}

Test(traffic_lines, long_lines_and_chunk_edges)
{
    size_t size = (size_t)3 * 1024 * 1024;
    char *text = malloc(size + 64);
    struct buf whole;
    buf_init(&whole, 0);
    memset(text, 'x', size);
    for (int i = 0; i < 20000; i++) {
        buf_printf(&whole, "{\"t_ns\":%d,\"key\":\"k%d\"}\n", i, i);
    }
    buf_append_text(&whole, "{\"t_ns\":20000,\"key\":\"");
    buf_append(&whole, text, size);
    buf_append_text(&whole, "\"}\n{\"t_ns\":20001}");
    struct reading reading;
    reading_init(&reading, (const char *)whole.data + whole.start, whole.size,
                 (struct traffic_options){.path = NULL});
    cr_expect_eq(reading.count, 20002);
    cr_expect_eq(reading.unreadable, 0);
    reading_deinit(&reading);
    buf_deinit(&whole);
    free(text);
}
