#include "wire/http1_head.h"

/* The bytes of a token (RFC 9110 5.6.2), each as its lower case; 0: not one. */
static const uint8_t token_lower[256] = {
    ['!'] = '!', ['#'] = '#', ['$'] = '$', ['%'] = '%', ['&'] = '&', ['\''] = '\'',
    ['*'] = '*', ['+'] = '+', ['-'] = '-', ['.'] = '.', ['^'] = '^', ['_'] = '_',
    ['`'] = '`', ['|'] = '|', ['~'] = '~', ['0'] = '0', ['1'] = '1', ['2'] = '2',
    ['3'] = '3', ['4'] = '4', ['5'] = '5', ['6'] = '6', ['7'] = '7', ['8'] = '8',
    ['9'] = '9', ['a'] = 'a', ['b'] = 'b', ['c'] = 'c', ['d'] = 'd', ['e'] = 'e',
    ['f'] = 'f', ['g'] = 'g', ['h'] = 'h', ['i'] = 'i', ['j'] = 'j', ['k'] = 'k',
    ['l'] = 'l', ['m'] = 'm', ['n'] = 'n', ['o'] = 'o', ['p'] = 'p', ['q'] = 'q',
    ['r'] = 'r', ['s'] = 's', ['t'] = 't', ['u'] = 'u', ['v'] = 'v', ['w'] = 'w',
    ['x'] = 'x', ['y'] = 'y', ['z'] = 'z', ['A'] = 'a', ['B'] = 'b', ['C'] = 'c',
    ['D'] = 'd', ['E'] = 'e', ['F'] = 'f', ['G'] = 'g', ['H'] = 'h', ['I'] = 'i',
    ['J'] = 'j', ['K'] = 'k', ['L'] = 'l', ['M'] = 'm', ['N'] = 'n', ['O'] = 'o',
    ['P'] = 'p', ['Q'] = 'q', ['R'] = 'r', ['S'] = 's', ['T'] = 't', ['U'] = 'u',
    ['V'] = 'v', ['W'] = 'w', ['X'] = 'x', ['Y'] = 'y', ['Z'] = 'z',
};

static enum http1_head_result bad(struct http1_head *head, int status, const char *detail)
{
    head->status = status;
    head->detail = detail;
    return HTTP1_HEAD_BAD;
}

static bool is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\t';
}

static bool equal_folded(struct slice text, const char *lower)
{
    size_t size = strlen(lower);
    if (text.size != size) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        uint8_t byte = text.data[i];
        if ((byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte) != (uint8_t)lower[i]) {
            return false;
        }
    }
    return true;
}

/* No control byte but the tab: eight bytes at a time; those that may hold one are looked at singly.
 * (The usual test for "a byte below n": x - n borrows into the top bit where x had none.) */
static bool is_clean(struct slice text)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    const uint64_t tops = UINT64_C(0x8080808080808080);
    size_t at = 0;
    for (; at + 8 <= text.size; at += 8) {
        uint64_t word;
        memcpy(&word, text.data + at, 8);
        uint64_t rubbed = word ^ (ones * 0x7F);
        uint64_t low = (word - ones * 0x20) & ~word & tops;
        uint64_t del = (rubbed - ones) & ~rubbed & tops;
        if ((low | del) != 0) {
            break;
        }
    }
    for (; at < text.size; at++) {
        uint8_t byte = text.data[at];
        if ((byte < 0x20 && byte != '\t') || byte == 0x7F) {
            return false;
        }
    }
    return true;
}

bool http1_head_field(struct slice line, uint8_t *name, struct http_header *out)
{
    size_t at = 0;
    while (at < line.size && token_lower[line.data[at]] != 0) {
        name[at] = token_lower[line.data[at]];
        at++;
    }
    if (at == 0 || at == line.size || line.data[at] != ':') {
        return false;
    }
    out->name = slice_make(name, at);
    size_t end = line.size;
    for (at++; at < end && is_blank(line.data[at]); at++) {
    }
    while (end > at && is_blank(line.data[end - 1])) {
        end--;
    }
    out->value = slice_make(line.data + at, end - at);
    return is_clean(out->value);
}

/* The bytes that a target may have: all that is printed, but no blank. */
static bool is_target(struct slice target)
{
    for (size_t i = 0; i < target.size; i++) {
        if (target.data[i] <= 0x20 || target.data[i] >= 0x7F) {
            return false;
        }
    }
    return target.size > 0;
}

static enum http1_head_result read_version(struct http1_head *head, struct slice version)
{
    bool digits = version.size == 8 && memcmp(version.data, "HTTP/", 5) == 0 &&
                  version.data[5] >= '0' && version.data[5] <= '9' && version.data[6] == '.' &&
                  version.data[7] >= '0' && version.data[7] <= '9';
    if (!digits) {
        return bad(head, 400, "a request line must end in HTTP/1.1");
    }
    if (version.data[5] != '1' || version.data[7] > '1') {
        return bad(head, 505, "only HTTP/1.0 and HTTP/1.1 are spoken in this form");
    }
    head->minor_0 = version.data[7] == '0';
    return HTTP1_HEAD_OK;
}

/* "/path?query", "*", or "http://host/path?query" as a proxy asks. */
static enum http1_head_result read_target(struct http1_head *head, struct slice target)
{
    if (!is_target(target)) {
        return bad(head, 400, "the request target has a byte that none may have");
    }
    if (target.data[0] != '/' && !slice_equal_text(target, "*")) {
        size_t scheme = target.size > 8 && equal_folded(slice_make(target.data, 8), "https://") ? 8
                        : target.size > 7 && equal_folded(slice_make(target.data, 7), "http://")
                            ? 7
                            : 0;
        if (scheme == 0) {
            return bad(head, 400, "the request target must begin with a slash");
        }
        const uint8_t *slash = memchr(target.data + scheme, '/', target.size - scheme);
        size_t skip = slash == NULL ? target.size : (size_t)(slash - target.data);
        target = slash == NULL ? slice_text("/")
                               : slice_make(target.data + skip, target.size - skip);
    }
    const uint8_t *mark = memchr(target.data, '?', target.size);
    size_t path = mark == NULL ? target.size : (size_t)(mark - target.data);
    head->request.path = slice_make(target.data, path);
    head->request.query =
        mark == NULL ? slice_make(NULL, 0) : slice_make(mark + 1, target.size - path - 1);
    return HTTP1_HEAD_OK;
}

static enum http1_head_result read_request_line(struct http1_head *head, struct slice line)
{
    size_t at = 0;
    while (at < line.size && token_lower[line.data[at]] != 0) {
        at++;
    }
    if (at == 0 || at == line.size || line.data[at] != ' ') {
        return bad(head, 400, "a request begins with METHOD TARGET HTTP/1.1");
    }
    head->request.method = slice_make(line.data, at);
    struct slice rest = slice_make(line.data + at + 1, line.size - at - 1);
    const uint8_t *blank = rest.size == 0 ? NULL : memchr(rest.data, ' ', rest.size);
    if (blank == NULL) {
        return bad(head, 400, "a request line has a method, a target and HTTP/1.1");
    }
    size_t target = (size_t)(blank - rest.data);
    enum http1_head_result result =
        read_version(head, slice_make(blank + 1, rest.size - target - 1));
    return result == HTTP1_HEAD_OK ? read_target(head, slice_make(rest.data, target)) : result;
}

static enum http1_head_result read_length(struct http1_head *head, struct slice value)
{
    if (head->has_length) {
        return bad(head, 400, "Content-Length is given twice");
    }
    uint64_t length = 0;
    for (size_t i = 0; i < value.size; i++) {
        if (value.data[i] < '0' || value.data[i] > '9') {
            return bad(head, 400, "Content-Length must be digits");
        }
        uint64_t digit = (uint64_t)(value.data[i] - '0');
        length = length > UINT64_MAX / 16 ? length : length * 10 + digit;
    }
    if (value.size == 0) {
        return bad(head, 400, "Content-Length must be digits");
    }
    head->has_length = true;
    head->content_length = length;
    return HTTP1_HEAD_OK;
}

static enum http1_head_result read_encoding(struct http1_head *head, struct slice value)
{
    if (head->encodings++ > 0) {
        return bad(head, 400, "Transfer-Encoding is given twice");
    }
    if (!equal_folded(value, "chunked")) {
        return bad(head, 501, "the only transfer coding taken is chunked");
    }
    head->chunked = true;
    return HTTP1_HEAD_OK;
}

static enum http1_head_result read_host(struct http1_head *head, struct slice value)
{
    static const bool never[128] = {
        ['"'] = true, ['<'] = true, ['>'] = true, ['\\'] = true, ['^'] = true, ['`'] = true,
        ['{'] = true, ['|'] = true, ['}'] = true, ['/'] = true,  ['?'] = true, ['#'] = true,
        ['@'] = true, [','] = true,
    };
    if (head->hosts++ > 0) {
        return bad(head, 400, "Host is given twice");
    }
    for (size_t i = 0; i < value.size; i++) {
        uint8_t byte = value.data[i];
        if (byte <= 0x20 || byte >= 0x7F || never[byte]) {
            return bad(head, 400, "Host has a byte that no host has");
        }
    }
    return HTTP1_HEAD_OK;
}

static enum http1_head_result read_connection(struct http1_head *head, struct slice value)
{
    while (value.size > 0) {
        const uint8_t *comma = memchr(value.data, ',', value.size);
        size_t size = comma == NULL ? value.size : (size_t)(comma - value.data);
        size_t used = comma == NULL ? size : size + 1;
        struct slice word = slice_make(value.data, size);
        while (word.size > 0 && is_blank(word.data[0])) {
            word = slice_make(word.data + 1, word.size - 1);
        }
        while (word.size > 0 && is_blank(word.data[word.size - 1])) {
            word.size--;
        }
        head->close = head->close || equal_folded(word, "close");
        head->keep_alive = head->keep_alive || equal_folded(word, "keep-alive");
        value = slice_make(value.data + used, value.size - used);
    }
    return HTTP1_HEAD_OK;
}

static enum http1_head_result read_expect(struct http1_head *head, struct slice value)
{
    if (head->minor_0) {
        return HTTP1_HEAD_OK;
    }
    if (!equal_folded(value, "100-continue")) {
        return bad(head, 417, "the only expectation met is 100-continue");
    }
    head->expect_continue = true;
    return HTTP1_HEAD_OK;
}

/* The fields that decide where a request ends and what becomes of its connection. */
static enum http1_head_result read_known(struct http1_head *head, const struct http_header *field)
{
    switch (field->name.size) {
    case sizeof("host") - 1:
        return slice_equal_text(field->name, "host") ? read_host(head, field->value)
                                                     : HTTP1_HEAD_OK;
    case sizeof("expect") - 1:
        return slice_equal_text(field->name, "expect") ? read_expect(head, field->value)
                                                       : HTTP1_HEAD_OK;
    case sizeof("connection") - 1:
        return slice_equal_text(field->name, "connection") ? read_connection(head, field->value)
                                                           : HTTP1_HEAD_OK;
    case sizeof("content-length") - 1:
        return slice_equal_text(field->name, "content-length") ? read_length(head, field->value)
                                                               : HTTP1_HEAD_OK;
    case sizeof("transfer-encoding") - 1:
        return slice_equal_text(field->name, "transfer-encoding")
                   ? read_encoding(head, field->value)
                   : HTTP1_HEAD_OK;
    default:
        return HTTP1_HEAD_OK;
    }
}

static enum http1_head_result finish(struct http1_head *head)
{
    head->request.headers = head->headers;
    if (head->chunked && head->has_length) {
        return bad(head, 400, "Content-Length and Transfer-Encoding exclude each other");
    }
    if (head->chunked && head->minor_0) {
        return bad(head, 400, "HTTP/1.0 has no Transfer-Encoding");
    }
    if (head->hosts == 0 && !head->minor_0) {
        return bad(head, 400, "HTTP/1.1 asks for a Host field");
    }
    head->request.has_body = head->chunked || head->has_length;
    head->close = head->close || (head->minor_0 && !head->keep_alive);
    return HTTP1_HEAD_OK;
}

/* Takes the line that begins at `from`. */
static enum http1_head_result next_line(struct http1_head *head, struct slice in, size_t from,
                                        struct slice *line)
{
    size_t most = in.size < LIMITS_HTTP_HEAD_BYTES_MAX ? in.size : LIMITS_HTTP_HEAD_BYTES_MAX;
    const uint8_t *end = from < most ? memchr(in.data + from, '\n', most - from) : NULL;
    if (end == NULL) {
        return most == LIMITS_HTTP_HEAD_BYTES_MAX
                   ? bad(head, 431, "the head of a request has at most 8192 bytes")
                   : HTTP1_HEAD_MORE;
    }
    size_t size = (size_t)(end - in.data) - from;
    if (size == 0 || in.data[from + size - 1] != '\r') {
        return bad(head, 400, "a line must end in CR LF");
    }
    *line = slice_make(in.data + from, size - 1);
    return HTTP1_HEAD_OK;
}

/* What does not begin like a method is no HTTP, however much of it follows. */
static enum http1_head_result begins_well(struct http1_head *head, struct slice in)
{
    size_t at = 0;
    while (at < in.size && token_lower[in.data[at]] != 0) {
        at++;
    }
    bool good = at == in.size || (at > 0 && in.data[at] == ' ');
    return good ? HTTP1_HEAD_OK : bad(head, 400, "a request begins with METHOD TARGET HTTP/1.1");
}

static enum http1_head_result read_field(struct http1_head *head, struct slice line, size_t at)
{
    if (head->request.header_count == LIMITS_HTTP_HEADERS_MAX) {
        return bad(head, 431, "a request has at most 64 header fields");
    }
    struct http_header *field = &head->headers[head->request.header_count];
    if (!http1_head_field(line, head->names + at, field)) {
        return bad(head, 400, "a header field must be NAME: VALUE, on one line, without a blank "
                              "before the colon or a control byte");
    }
    head->request.header_count++;
    return read_known(head, field);
}

static void reset(struct http1_head *head)
{
    head->request = (struct http_request){.body = {NULL, 0}};
    head->minor_0 = false;
    head->close = false;
    head->keep_alive = false;
    head->chunked = false;
    head->has_length = false;
    head->content_length = 0;
    head->expect_continue = false;
    head->hosts = 0;
    head->encodings = 0;
}

enum http1_head_result http1_head_read(struct http1_head *head, struct slice in)
{
    static_assert(LIMITS_HTTP_HEAD_BYTES_MAX == 8192 && LIMITS_HTTP_HEADERS_MAX == 64,
                  "what the sentences say");
    struct slice line;
    reset(head);
    enum http1_head_result result = begins_well(head, in);
    if (result == HTTP1_HEAD_OK) {
        result = next_line(head, in, 0, &line);
    }
    if (result == HTTP1_HEAD_OK) {
        result = read_request_line(head, line);
    }
    size_t at = result == HTTP1_HEAD_OK ? line.size + 2 : 0;
    while (result == HTTP1_HEAD_OK) {
        result = next_line(head, in, at, &line);
        if (result == HTTP1_HEAD_OK && line.size == 0) {
            head->size = at + 2;
            return finish(head);
        }
        if (result == HTTP1_HEAD_OK) {
            result = read_field(head, line, at);
            at += line.size + 2;
        }
    }
    return result;
}
