#include "wire/json_scan.h"

static bool json_scan_break(struct json_in *in, const char *expected)
{
    if (in->broken == NULL) {
        in->broken = expected;
    }
    return false;
}

uint8_t json_scan_peek(struct json_in *in)
{
    while (in->at < in->text.size) {
        uint8_t byte = in->text.data[in->at];
        if (byte != ' ' && byte != '\t' && byte != '\n' && byte != '\r') {
            return byte;
        }
        in->at++;
    }
    return 0;
}

bool json_scan_take(struct json_in *in, uint8_t byte)
{
    if (json_scan_peek(in) != byte || in->at == in->text.size) {
        return false;
    }
    in->at++;
    return true;
}

bool json_scan_expect(struct json_in *in, uint8_t byte, const char *what)
{
    return json_scan_take(in, byte) || json_scan_break(in, what);
}

/* The value of four hexadecimal digits at `at`, or -1. */
static int32_t hex4(const struct json_in *in, size_t at)
{
    int32_t value = 0;
    if (in->text.size - at < 4) {
        return -1;
    }
    for (size_t i = 0; i < 4; i++) {
        uint8_t byte = in->text.data[at + i];
        int32_t digit;
        if (byte >= '0' && byte <= '9') {
            digit = byte - '0';
        } else if ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'f') {
            digit = (byte | 0x20) - 'a' + 10;
        } else {
            return -1;
        }
        value = value * 16 + digit;
    }
    return value;
}

static size_t put_utf8(uint8_t *to, uint32_t code)
{
    if (code < 0x80) {
        to[0] = (uint8_t)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (uint8_t)(0xC0 | code >> 6);
        to[1] = (uint8_t)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        to[0] = (uint8_t)(0xE0 | code >> 12);
        to[1] = (uint8_t)(0x80 | (code >> 6 & 0x3F));
        to[2] = (uint8_t)(0x80 | (code & 0x3F));
        return 3;
    }
    to[0] = (uint8_t)(0xF0 | code >> 18);
    to[1] = (uint8_t)(0x80 | (code >> 12 & 0x3F));
    to[2] = (uint8_t)(0x80 | (code >> 6 & 0x3F));
    to[3] = (uint8_t)(0x80 | (code & 0x3F));
    return 4;
}

/* \uXXXX, in->at behind the u; a surrogate needs its other half. */
static bool scan_unicode(struct json_in *in, uint32_t *code)
{
    int32_t first = hex4(in, in->at);
    if (first < 0) {
        return json_scan_break(in, "four hexadecimal digits");
    }
    in->at += 4;
    *code = (uint32_t)first;
    if (first < 0xD800 || first > 0xDFFF) {
        return true;
    }
    const uint8_t *next = in->text.data + in->at;
    bool pair = first < 0xDC00 && in->text.size - in->at >= 6 && next[0] == '\\' && next[1] == 'u';
    int32_t second = pair ? hex4(in, in->at + 2) : -1;
    if (second < 0xDC00 || second > 0xDFFF) {
        return json_scan_break(in, "the other half of a surrogate pair");
    }
    in->at += 6;
    *code = 0x10000 + (((uint32_t)first - 0xD800) << 10) + ((uint32_t)second - 0xDC00);
    return true;
}

/* in->at behind the backslash. */
static bool scan_escape(struct json_in *in, uint32_t *code)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char values[] = "\"\\/\b\f\n\r\t";
    uint8_t byte = in->at < in->text.size ? in->text.data[in->at] : 0;
    const char *letter = byte == 0 ? NULL : strchr(letters, byte);
    if (letter != NULL) {
        in->at++;
        *code = (uint8_t)values[letter - letters];
        return true;
    }
    if (byte != 'u') {
        return json_scan_break(in, "an escape that JSON knows");
    }
    in->at++;
    return scan_unicode(in, code);
}

/* A string whose first escape stands at in->at; `from` is where its text begins. What is written
 * is never longer than what was read. */
static bool scan_escaped(struct json_in *in, size_t from, struct slice *out)
{
    const uint8_t *close = in->text.data + in->at;
    const uint8_t *end = in->text.data + in->text.size;
    while (close < end && *close != '"') {
        close += *close == '\\' ? 2 : 1;
    }
    if (close >= end) {
        in->at = in->text.size;
        return json_scan_break(in, "the end of a string");
    }
    uint8_t *begin = arena_alloc(in->arena, (size_t)(close - in->text.data) - from + 1);
    if (begin == NULL) {
        return json_scan_break(in, "less text: there is no memory for it");
    }
    size_t size = in->at - from;
    memcpy(begin, in->text.data + from, size);
    for (uint8_t byte; (byte = in->text.data[in->at]) != '"'; ) {
        uint32_t code;
        if (byte < 0x20) {
            return json_scan_break(in, "no control character in a string");
        }
        in->at++;
        if (byte != '\\') {
            begin[size++] = byte;
        } else if (scan_escape(in, &code)) {
            size += put_utf8(begin + size, code);
        } else {
            return false;
        }
    }
    in->at++;
    *out = slice_make(begin, size);
    return true;
}

bool json_scan_string(struct json_in *in, struct slice *out)
{
    if (!json_scan_expect(in, '"', "a string")) {
        return false;
    }
    const uint8_t *data = in->text.data;
    size_t from = in->at;
    size_t at = from;
    while (at < in->text.size && data[at] != '"' && data[at] != '\\' && data[at] >= 0x20) {
        at++;
    }
    in->at = at;
    if (at == in->text.size) {
        return json_scan_break(in, "the end of a string");
    }
    if (data[at] == '"') {
        *out = slice_make(data + from, at - from);
        in->at++;
        return true;
    }
    if (data[at] == '\\') {
        return scan_escaped(in, from, out);
    }
    return json_scan_break(in, "no control character in a string");
}

static bool is_digit(const struct json_in *in)
{
    return in->at < in->text.size && in->text.data[in->at] >= '0' && in->text.data[in->at] <= '9';
}

static bool take_raw(struct json_in *in, uint8_t byte)
{
    bool taken = in->at < in->text.size && in->text.data[in->at] == byte;
    in->at += taken;
    return taken;
}

static bool scan_digits(struct json_in *in)
{
    if (!is_digit(in)) {
        return json_scan_break(in, "a digit");
    }
    while (is_digit(in)) {
        in->at++;
    }
    return true;
}

bool json_scan_number(struct json_in *in, struct slice *out)
{
    (void)json_scan_peek(in);
    size_t from = in->at;
    (void)take_raw(in, '-');
    if (!take_raw(in, '0') && !scan_digits(in)) {
        return false;
    }
    if (take_raw(in, '.') && !scan_digits(in)) {
        return false;
    }
    if (take_raw(in, 'e') || take_raw(in, 'E')) {
        bool sign = take_raw(in, '+') || take_raw(in, '-');
        (void)sign;
        if (!scan_digits(in)) {
            return false;
        }
    }
    *out = slice_make(in->text.data + from, in->at - from);
    return true;
}

bool json_scan_word(struct json_in *in, const char *word)
{
    size_t size = strlen(word);
    (void)json_scan_peek(in);
    if (in->text.size - in->at < size || memcmp(in->text.data + in->at, word, size) != 0) {
        return false;
    }
    in->at += size;
    return true;
}

static bool skip_scalar(struct json_in *in)
{
    struct slice ignored;
    uint8_t byte = json_scan_peek(in);
    if (byte == '"') {
        return json_scan_string(in, &ignored);
    }
    if (byte == '-' || (byte >= '0' && byte <= '9')) {
        return json_scan_number(in, &ignored);
    }
    return json_scan_word(in, "true") || json_scan_word(in, "false") ||
           json_scan_word(in, "null") || json_scan_break(in, "a value");
}

/* After a value inside `depth` brackets: closes what ends here. False: broken, or another member
 * begins (*more). */
static void skip_closings(struct json_in *in, const uint8_t *closers, unsigned *depth)
{
    while (*depth > 0 && json_scan_take(in, closers[*depth - 1])) {
        (*depth)--;
    }
}

static bool skip_name(struct json_in *in)
{
    struct slice ignored;
    return json_scan_string(in, &ignored) && json_scan_expect(in, ':', "a colon");
}

/* Opens as many brackets as stand here; *scalar: a value that is no bracket comes next. */
static bool skip_openings(struct json_in *in, uint8_t *closers, unsigned *depth, bool *scalar)
{
    *scalar = false;
    for (;;) {
        bool object = json_scan_take(in, '{');
        if (!object && !json_scan_take(in, '[')) {
            *scalar = true;
            return true;
        }
        if (*depth == LIMITS_JSON_DEPTH_MAX) {
            return json_scan_break(in, "less depth");
        }
        closers[(*depth)++] = object ? '}' : ']';
        if (json_scan_take(in, closers[*depth - 1])) {
            (*depth)--;
            return true;
        }
        if (object && !skip_name(in)) {
            return false;
        }
    }
}

bool json_scan_skip(struct json_in *in)
{
    uint8_t closers[LIMITS_JSON_DEPTH_MAX];
    unsigned depth = 0;
    for (;;) {
        bool scalar;
        if (!skip_openings(in, closers, &depth, &scalar) || (scalar && !skip_scalar(in))) {
            return false;
        }
        skip_closings(in, closers, &depth);
        if (depth == 0) {
            return true;
        }
        if (!json_scan_expect(in, ',', "a comma or a closing bracket") ||
            (closers[depth - 1] == '}' && !skip_name(in))) {
            return false;
        }
    }
}
