/* Servers escape what a client sent: Apache as \" \\ \n \xHH, nginx as \xHH. The bytes are taken
 * back to what the client sent, since those are what a limiter would have met. */
#include "traffic_log.h"

#include "base/text.h"
#include "traffic_fields.h"

/* The fields of a line as they stand there, quotes and escapes included. */
struct fields {
    struct slice address;
    struct slice user;
    struct slice time;
    struct slice request;
    struct slice agent; /* data NULL: none */
};

void traffic_log_init(struct traffic_log *log, const struct traffic_options *options,
                      bool combined)
{
    *log = (struct traffic_log){.combined = combined,
                                .key = options->key,
                                .route = options->route,
                                .has_cost = options->has_cost,
                                .cost = options->cost};
    buf_init(&log->request, 0);
    buf_init(&log->joined, 0);
    buf_init(&log->agent, 0);
}

void traffic_log_deinit(struct traffic_log *log)
{
    buf_deinit(&log->request);
    buf_deinit(&log->joined);
    buf_deinit(&log->agent);
}

/* Everything up to `stop`; *rest goes on behind it. */
static bool take_until(struct slice *rest, const char *stop, struct slice *out)
{
    size_t size = strlen(stop);
    const uint8_t *end = rest->size > 0 ? memmem(rest->data, rest->size, stop, size) : NULL;
    if (end == NULL) {
        return false;
    }
    *out = slice_make(rest->data, (size_t)(end - rest->data));
    size_t used = out->size + size;
    *rest = slice_make(rest->data + used, rest->size - used);
    return true;
}

/* The text of a quoted field, escapes and all; *rest goes on behind the closing quote. */
static bool take_quoted(struct slice *rest, struct slice *out)
{
    if (rest->size == 0 || rest->data[0] != '"') {
        return false;
    }
    for (size_t i = 1; i < rest->size; i++) {
        if (rest->data[i] == '\\') {
            i++;
        } else if (rest->data[i] == '"') {
            *out = slice_make(rest->data + 1, i - 1);
            *rest = slice_make(rest->data + i + 1, rest->size - i - 1);
            return true;
        }
    }
    return false;
}

/* A blank and then digits or a lone "-". */
static bool skip_number(struct slice *rest)
{
    size_t at = 1;
    if (rest->size < 2 || rest->data[0] != ' ') {
        return false;
    }
    if (rest->data[1] == '-') {
        at = 2;
    } else {
        while (at < rest->size && rest->data[at] >= '0' && rest->data[at] <= '9') {
            at++;
        }
    }
    if (at == 1 || (at < rest->size && rest->data[at] != ' ')) {
        return false;
    }
    *rest = slice_make(rest->data + at, rest->size - at);
    return true;
}

static bool skip_blank(struct slice *rest)
{
    if (rest->size == 0 || rest->data[0] != ' ') {
        return false;
    }
    *rest = slice_make(rest->data + 1, rest->size - 1);
    return true;
}

static bool is_missing(struct slice text)
{
    return text.size == 0 || slice_equal_text(text, "-");
}

static bool split_fields(struct slice line, bool combined, struct fields *out, const char **why)
{
    struct slice rest = line;
    struct slice skipped;
    *out = (struct fields){.agent = {.data = NULL}};
    if (!take_until(&rest, " ", &out->address) || out->address.size == 0 ||
        !take_until(&rest, " ", &skipped) || !take_until(&rest, " [", &out->user)) {
        *why = "not a line of an access log, expected address, identity, user, [time]";
        return false;
    }
    if (!take_until(&rest, "] ", &out->time)) {
        *why = "the time does not end, expected [17/May/2015:10:05:03 +0000]";
        return false;
    }
    if (!take_quoted(&rest, &out->request)) {
        *why = "no request in quotes behind the time, expected \"METHOD path HTTP/version\"";
        return false;
    }
    if (!skip_number(&rest) || !skip_number(&rest)) {
        *why = "no status and size behind the request, expected two numbers";
        return false;
    }
    if (combined && (!skip_blank(&rest) || !take_quoted(&rest, &skipped) || !skip_blank(&rest) ||
                     !take_quoted(&rest, &out->agent))) {
        *why = "no referrer and user agent in quotes behind the size, expected both (combined)";
        return false;
    }
    return true;
}

bool traffic_log_detect(struct slice line, bool *combined)
{
    struct fields fields;
    const char *why;
    *combined = split_fields(line, true, &fields, &why);
    return *combined || split_fields(line, false, &fields, &why);
}

static bool two_digits(const uint8_t *text)
{
    return text[0] >= '0' && text[0] <= '9' && text[1] >= '0' && text[1] <= '9';
}

/* 01 … 12, or 0. */
static int month_number(const uint8_t *name)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    for (int i = 0; i < 12; i++) {
        if (memcmp(months + (size_t)i * 3, name, 3) == 0) {
            return i + 1;
        }
    }
    return 0;
}

/* 17/May/2015:10:05:03 +0000, with or without decimals, rewritten as RFC 3339. */
static bool parse_time(struct slice text, int64_t *out)
{
    char iso[64];
    const uint8_t *t = text.data;
    size_t zone = text.size - 6; /* " +0000" */
    if (text.size < 26 || text.size > 36 || !two_digits(t) || t[2] != '/' || t[6] != '/' ||
        !two_digits(t + 7) || !two_digits(t + 9) || t[11] != ':' || t[zone] != ' ') {
        return false;
    }
    int month = month_number(t + 3);
    int size = snprintf(iso, sizeof(iso), "%.4s-%02d-%.2sT%.*s%.3s:%.2s", (const char *)t + 7,
                        month, (const char *)t, (int)(zone - 12), (const char *)t + 12,
                        (const char *)t + zone + 1, (const char *)t + zone + 4);
    return month > 0 && size > 0 && (size_t)size < sizeof(iso) &&
           text_parse_time_ns(slice_make(iso, (size_t)size), out) == STATUS_OK;
}

static int hex_value(uint8_t byte)
{
    if (byte >= '0' && byte <= '9') {
        return byte - '0';
    }
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* The byte that the escape at text[at] (behind its backslash) stands for; *at goes on behind it.
 * What is no escape stays as it is, backslash included. */
static void unescape_one(struct slice text, size_t *at, struct buf *out)
{
    static const char letters[] = "ntrbvf";
    static const char values[] = "\n\t\r\b\v\f";
    uint8_t byte = text.data[*at];
    const char *letter = byte == 0 ? NULL : strchr(letters, byte);
    if (byte == 'x' && *at + 2 < text.size && hex_value(text.data[*at + 1]) >= 0 &&
        hex_value(text.data[*at + 2]) >= 0) {
        int value = hex_value(text.data[*at + 1]) * 16 + hex_value(text.data[*at + 2]);
        buf_append_byte(out, (uint8_t)value);
        *at += 3;
        return;
    }
    if (letter != NULL) {
        buf_append_byte(out, (uint8_t)values[letter - letters]);
    } else {
        if (byte != '"' && byte != '\\') {
            buf_append_byte(out, '\\');
        }
        buf_append_byte(out, byte);
    }
    *at += 1;
}

static struct slice unescape(struct buf *out, struct slice text)
{
    if (memchr(text.data, '\\', text.size) == NULL) {
        return text;
    }
    size_t at = 0;
    while (at < text.size) {
        if (text.data[at] == '\\' && at + 1 < text.size) {
            at++;
            unescape_one(text, &at, out);
        } else {
            buf_append_byte(out, text.data[at++]);
        }
    }
    return buf_slice(out);
}

static bool is_method(struct slice text)
{
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i];
        bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '_';
        if (!letter) {
            return false;
        }
    }
    return text.size > 0 && text.size <= 32;
}

/* Cuts " HTTP/1.1" off the end; a request of HTTP/0.9 has none. */
static struct slice without_version(struct slice text)
{
    const uint8_t *blank = text.size > 0 ? memrchr(text.data, ' ', text.size) : NULL;
    if (blank == NULL) {
        return text;
    }
    size_t before = (size_t)(blank - text.data);
    bool version = text.size - before > 5 && memcmp(blank + 1, "HTTP/", 5) == 0;
    return version ? slice_make(text.data, before) : text;
}

/* The path of a target, without query: "/a" of "/a?b", of "http://host/a". */
static struct slice target_path(struct slice target)
{
    const uint8_t *scheme = memmem(target.data, target.size, "://", 3);
    const uint8_t *query = memchr(target.data, '?', target.size);
    if (query != NULL) {
        target.size = (size_t)(query - target.data);
    }
    if (target.data[0] == '/' || scheme == NULL || (query != NULL && query < scheme)) {
        return target;
    }
    size_t host = (size_t)(scheme - target.data) + 3;
    const uint8_t *slash = memchr(target.data + host, '/', target.size - host);
    return slash == NULL ? slice_text("/")
                         : slice_make(slash, target.size - (size_t)(slash - target.data));
}

/* `text` is unescaped. False: it is no request. */
static bool parse_request(struct traffic_log *log, struct slice text, struct slice *route)
{
    struct slice rest = text;
    struct slice method;
    if (!take_until(&rest, " ", &method) || !is_method(method)) {
        return false;
    }
    struct slice target = without_version(rest);
    bool version_alone = target.size > 5 && memcmp(target.data, "HTTP/", 5) == 0;
    if (target.size == 0 || target.data[0] == ' ' || version_alone) {
        return false;
    }
    struct slice path = target_path(target);
    if (log->route == TRAFFIC_PATH) {
        *route = path;
        return path.size > 0;
    }
    if (path.data == method.data + method.size + 1) { /* they stand side by side already */
        *route = slice_make(method.data, method.size + 1 + path.size);
        return path.size > 0;
    }
    /* An absolute target: method and path are put together. */
    buf_clear(&log->joined);
    buf_append_slice(&log->joined, method);
    buf_append_byte(&log->joined, ' ');
    buf_append_slice(&log->joined, path);
    *route = buf_slice(&log->joined);
    return path.size > 0 && !log->joined.failed;
}

bool traffic_log_parse(struct traffic_log *log, struct slice line, struct traffic_item *item,
                       struct buf *why)
{
    struct fields fields;
    const char *fault;
    buf_clear(&log->request);
    buf_clear(&log->agent);
    if (!split_fields(line, log->combined, &fields, &fault)) {
        buf_append_text(why, fault);
        return false;
    }
    if (!parse_time(fields.time, &item->t_ns)) {
        buf_append_text(why, "time is ");
        traffic_fields_quote(why, fields.time);
        buf_append_text(why, ", expected such as 17/May/2015:10:05:03 +0000");
        return false;
    }
    struct request *request = &item->request;
    struct slice text = unescape(&log->request, fields.request);
    if (!parse_request(log, text, &request->route)) {
        buf_append_text(why, "request is ");
        traffic_fields_quote(why, text);
        buf_append_text(why, ", expected METHOD path HTTP/version");
        return false;
    }
    struct slice agent = log->combined ? unescape(&log->agent, fields.agent) : fields.agent;
    struct slice keys[] = {fields.address, fields.user, agent};
    request->key = keys[log->key];
    if (log->key != TRAFFIC_ADDRESS && is_missing(request->key)) {
        request->key.size = 0; /* the server's word for "none"; a request without a key */
    }
    request->has_cost = log->has_cost;
    request->cost = log->cost;
    traffic_fields_attribute(request, slice_text("ip"), fields.address);
    if (!is_missing(fields.user)) {
        traffic_fields_attribute(request, slice_text("user"), fields.user);
    }
    return true;
}
