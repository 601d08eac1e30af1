/* Small texts, read strictly and written exactly: what one function here writes, another reads. */
#include "base/text.h"

#include "base/clock.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <time.h>

/* Words longer than this are nobody's misspelling. */
#define NEAREST_WORD_BYTES 64
#define NEAREST_DISTANCE 2
#define NS_PER_S ((uint64_t)CLOCK_NS_PER_S)

struct unit {
    const char *name;
    uint64_t ns;
};

/* Falling, as a duration must name them. */
static const struct unit units[] = {
    {"w", UINT64_C(7) * 86400 * 1000000000},
    {"d", UINT64_C(86400) * 1000000000},
    {"h", UINT64_C(3600) * 1000000000},
    {"m", UINT64_C(60) * 1000000000},
    {"s", UINT64_C(1000000000)},
    {"ms", UINT64_C(1000000)},
    {"us", UINT64_C(1000)},
    {"ns", UINT64_C(1)},
};
#define UNIT_COUNT (sizeof(units) / sizeof(units[0]))

static bool is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

static bool is_letter(uint8_t byte)
{
    return (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
}

/* A wrong character after the digits has to win over their being too many: "9999x" is no number. */
static enum status parse_digits(struct slice text, bool grouped, uint64_t *out)
{
    uint64_t value = 0;
    bool too_large = false;
    if (text.size == 0 || (text.size > 1 && text.data[0] == '0')) {
        return STATUS_INVALID;
    }
    for (size_t i = 0; i < text.size; i++) {
        uint8_t byte = text.data[i];
        if (grouped && byte == '_' && i > 0 && i + 1 < text.size && text.data[i - 1] != '_') {
            continue;
        }
        if (!is_digit(byte)) {
            return STATUS_INVALID;
        }
        too_large |= __builtin_mul_overflow(value, UINT64_C(10), &value);
        too_large |= __builtin_add_overflow(value, (uint64_t)(byte - '0'), &value);
    }
    if (too_large) {
        return STATUS_TOO_LARGE;
    }
    *out = value;
    return STATUS_OK;
}

enum status text_parse_u64(struct slice text, uint64_t *out)
{
    return parse_digits(text, false, out);
}

enum status text_parse_grouped_u64(struct slice text, uint64_t *out)
{
    return parse_digits(text, true, out);
}

/* The index of the unit called so, or UNIT_COUNT. */
static size_t find_unit(struct slice name)
{
    size_t i = 0;
    while (i < UNIT_COUNT && !slice_equal_text(name, units[i].name)) {
        i++;
    }
    return i;
}

/* Why a piece of a duration does not begin with a whole number. */
static const char *why_no_number(struct slice text)
{
    if (text.data[0] == '-' || text.data[0] == '+') {
        return "must have no sign";
    }
    return "must be whole numbers with units, such as 10s or 1h30m";
}

/* One <number><unit> at the front of *text, which moves past it; *unit is the unit's index. */
static enum status take_piece(struct slice *text, uint64_t *number, size_t *unit, const char **why)
{
    size_t digits = 0;
    while (digits < text->size && (is_digit(text->data[digits]) || text->data[digits] == '_')) {
        digits++;
    }
    size_t end = digits;
    while (end < text->size && is_letter(text->data[end])) {
        end++;
    }
    if (digits == 0) {
        *why = why_no_number(*text);
        return STATUS_INVALID;
    }
    if (end == digits && end < text->size && (text->data[end] == '.' || text->data[end] == ',')) {
        *why = "has a fraction; use a smaller unit: 1h30m, not 1.5h";
        return STATUS_INVALID;
    }
    if (end == digits) {
        *why = "needs a unit, such as 10s";
        return STATUS_INVALID;
    }
    enum status status = text_parse_grouped_u64(slice_make(text->data, digits), number);
    if (status != STATUS_OK) {
        *why = status == STATUS_TOO_LARGE ? "is longer than 292 years"
                                          : "has a number that is not written plainly, such as 10";
        return status;
    }
    *unit = find_unit(slice_make(text->data + digits, end - digits));
    if (*unit == UNIT_COUNT) {
        *why = "has an unknown unit; the units are w d h m s ms us ns";
        return STATUS_INVALID;
    }
    *text = slice_make(text->data + end, text->size - end);
    return STATUS_OK;
}

enum status text_parse_duration_ns(struct slice text, int64_t *out, const char **why)
{
    uint64_t total = 0;
    size_t next_unit = 0; /* the largest that may still come */
    if (text.size == 0) {
        *why = "is empty; expected a duration such as 10s";
        return STATUS_INVALID;
    }
    while (text.size > 0) {
        uint64_t number;
        size_t unit;
        enum status status = take_piece(&text, &number, &unit, why);
        if (status != STATUS_OK) {
            return status;
        }
        if (unit < next_unit) {
            *why = unit + 1 == next_unit ? "names a unit twice" : "units must fall, as in 1h30m";
            return STATUS_INVALID;
        }
        next_unit = unit + 1;
        uint64_t ns;
        if (__builtin_mul_overflow(number, units[unit].ns, &ns) ||
            __builtin_add_overflow(total, ns, &total) || total > (uint64_t)INT64_MAX) {
            *why = "is longer than 292 years";
            return STATUS_TOO_LARGE;
        }
    }
    *out = (int64_t)total;
    return STATUS_OK;
}

/* Appends the minus of a negative number and returns its size without one. */
static uint64_t append_sign(struct buf *out, int64_t ns)
{
    if (ns >= 0) {
        return (uint64_t)ns;
    }
    buf_append_byte(out, '-');
    return -(uint64_t)ns;
}

/* ".25" for a quarter of a second; nothing for 0. */
static void append_decimals(struct buf *out, uint64_t ns)
{
    int width = 9;
    while (ns > 0 && ns % 10 == 0) {
        ns /= 10;
        width--;
    }
    if (ns > 0) {
        buf_printf(out, ".%0*" PRIu64, width, ns);
    }
}

void text_append_seconds(struct buf *out, int64_t ns)
{
    uint64_t size = append_sign(out, ns);
    buf_printf(out, "%" PRIu64, size / NS_PER_S);
    append_decimals(out, size % NS_PER_S);
    buf_append_byte(out, 's');
}

void text_append_duration(struct buf *out, int64_t ns)
{
    if (ns == 0) {
        buf_append_text(out, "0s");
        return;
    }
    uint64_t size = append_sign(out, ns);
    for (size_t i = 0; i < UNIT_COUNT; i++) {
        if (size >= units[i].ns) {
            buf_printf(out, "%" PRIu64 "%s", size / units[i].ns, units[i].name);
            size %= units[i].ns;
        }
    }
}

enum status text_parse_size(struct slice text, uint64_t *out)
{
    static const char *const suffixes[] = {"KiB", "MiB", "GiB", "TiB"};
    uint64_t unit = 1;
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        size_t size = strlen(suffixes[i]);
        if (text.size > size && memcmp(text.data + text.size - size, suffixes[i], size) == 0) {
            unit = UINT64_C(1) << (10 * (i + 1));
            text.size -= size;
            break;
        }
    }
    uint64_t number;
    enum status status = text_parse_u64(text, &number);
    if (status == STATUS_OK && __builtin_mul_overflow(number, unit, &number)) {
        status = STATUS_TOO_LARGE;
    }
    if (status == STATUS_OK) {
        *out = number;
    }
    return status;
}

/* Takes a number of exactly `width` digits, then the byte `after` unless that is 0. */
static bool take_field(struct slice *text, size_t width, char after, int64_t *out)
{
    size_t size = width + (after != '\0');
    if (text->size < size || (after != '\0' && text->data[width] != (uint8_t)after)) {
        return false;
    }
    *out = 0;
    for (size_t i = 0; i < width; i++) {
        if (!is_digit(text->data[i])) {
            return false;
        }
        *out = *out * 10 + (text->data[i] - '0');
    }
    *text = slice_make(text->data + size, text->size - size);
    return true;
}

/* Takes ".123" if it is there: one to nine digits. */
static bool take_decimals(struct slice *text, int64_t *ns)
{
    *ns = 0;
    if (text->size == 0 || text->data[0] != '.') {
        return true;
    }
    size_t end = 1;
    int64_t weight = CLOCK_NS_PER_S;
    for (; end < text->size && is_digit(text->data[end]); end++) {
        weight /= 10;
        *ns += weight * (text->data[end] - '0');
    }
    *text = slice_make(text->data + end, text->size - end);
    return end > 1 && end <= 10;
}

/* Takes "Z" or "+01:00", which has to be the end. */
static bool take_zone(struct slice *text, int64_t *offset_s)
{
    *offset_s = 0;
    if (text->size == 1) {
        return (text->data[0] | 0x20) == 'z';
    }
    if (text->size != 6 || (text->data[0] != '+' && text->data[0] != '-')) {
        return false;
    }
    int64_t sign = text->data[0] == '-' ? -1 : 1;
    int64_t hours, minutes;
    *text = slice_make(text->data + 1, text->size - 1);
    if (!take_field(text, 2, ':', &hours) || !take_field(text, 2, '\0', &minutes)) {
        return false;
    }
    *offset_s = sign * (hours * 3600 + minutes * 60);
    return hours <= 23 && minutes <= 59;
}

/* Days from 1 January 1970 to a date of the Gregorian calendar; false if there is no such date. */
static bool days_of_date(int64_t year, int64_t month, int64_t day, int64_t *days)
{
    static const int64_t before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (year < 1 || month < 1 || month > 12) {
        return false;
    }
    int64_t length = before[month] - before[month - 1] + (leap && month == 2);
    int64_t past = year - 1;
    *days = past * 365 + past / 4 - past / 100 + past / 400 - 719162 + before[month - 1] +
            (leap && month > 2) + day - 1;
    return day >= 1 && day <= length;
}

enum status text_parse_time_ns(struct slice text, int64_t *out)
{
    int64_t year, month, day, hour, minute, second, decimals, offset_s, days;
    if (!take_field(&text, 4, '-', &year) || !take_field(&text, 2, '-', &month) ||
        !take_field(&text, 2, '\0', &day) || text.size == 0 || (text.data[0] | 0x20) != 't') {
        return STATUS_INVALID;
    }
    text = slice_make(text.data + 1, text.size - 1);
    if (!take_field(&text, 2, ':', &hour) || !take_field(&text, 2, ':', &minute) ||
        !take_field(&text, 2, '\0', &second) || !take_decimals(&text, &decimals) ||
        !take_zone(&text, &offset_s) || !days_of_date(year, month, day, &days) || hour > 23 ||
        minute > 59 || second > 60) {
        return STATUS_INVALID;
    }
    int64_t at_s = days * 86400 + hour * 3600 + minute * 60 + second - offset_s;
    if (second == 60) {
        /* A leap second ends a UTC day; it is as long gone as it has begun. */
        if (at_s % 86400 != 0) {
            return STATUS_INVALID;
        }
        decimals = 0;
    }
    /* Before 1970 the seconds alone may lie below what the decimals bring back into range. */
    if (at_s < 0 && decimals > 0) {
        at_s++;
        decimals -= CLOCK_NS_PER_S;
    }
    if (__builtin_mul_overflow(at_s, CLOCK_NS_PER_S, out) ||
        __builtin_add_overflow(*out, decimals, out)) {
        *out = at_s < 0 ? INT64_MIN : INT64_MAX;
        return STATUS_TOO_LARGE;
    }
    return STATUS_OK;
}

void text_append_time(struct buf *out, int64_t ns)
{
    int64_t decimals = ns % CLOCK_NS_PER_S;
    time_t at_s = ns / CLOCK_NS_PER_S;
    if (decimals < 0) {
        decimals += CLOCK_NS_PER_S;
        at_s--;
    }
    struct tm at;
    (void)gmtime_r(&at_s, &at);
    buf_printf(out, "%04d-%02d-%02dT%02d:%02d:%02d", at.tm_year + 1900, at.tm_mon + 1, at.tm_mday,
               at.tm_hour, at.tm_min, at.tm_sec);
    append_decimals(out, (uint64_t)decimals);
    buf_append_byte(out, 'Z');
}

static char short_escape(uint32_t code)
{
    switch (code) {
    case '\n':
        return 'n';
    case '\r':
        return 'r';
    case '\t':
        return 't';
    case '"':
    case '\\':
        return (char)code;
    default:
        return '\0';
    }
}

/* How many bytes at the front need no thought: printable ASCII but quote and backslash. */
static size_t plain_run(struct slice text)
{
    size_t size = 0;
    while (size < text.size && text.data[size] >= 0x20 && text.data[size] < 0x7F &&
           text.data[size] != '"' && text.data[size] != '\\') {
        size++;
    }
    return size;
}

static void append_json_character(struct buf *out, struct slice sequence)
{
    uint32_t code = utf8_code_point(sequence);
    char letter = short_escape(code);
    if (letter != '\0') {
        buf_append_byte(out, '\\');
        buf_append_byte(out, (uint8_t)letter);
    } else if (utf8_is_deceptive(code) && code <= 0xFFFF) {
        buf_printf(out, "\\u%04x", code);
    } else if (utf8_is_deceptive(code)) {
        code -= 0x10000;
        buf_printf(out, "\\u%04x\\u%04x", 0xD800 + (code >> 10), 0xDC00 + (code & 0x3FF));
    } else {
        buf_append_slice(out, sequence);
    }
}

void text_append_json_string(struct buf *out, struct slice text)
{
    buf_append_byte(out, '"');
    while (text.size > 0) {
        size_t size = plain_run(text);
        if (size > 0) {
            buf_append(out, text.data, size);
        } else {
            size = utf8_sequence(text);
            if (size > 0) {
                append_json_character(out, slice_make(text.data, size));
            } else {
                buf_append_text(out, "\xEF\xBF\xBD"); /* U+FFFD */
                size = 1;
            }
        }
        text = slice_make(text.data + size, text.size - size);
    }
    buf_append_byte(out, '"');
}

/* Appends one character, or one byte that begins none; returns how many bytes that were. */
static size_t append_escaped_character(struct buf *out, struct slice text)
{
    size_t size = utf8_sequence(text);
    if (size == 0) {
        buf_printf(out, "\\x%02x", text.data[0]);
        return 1;
    }
    uint32_t code = utf8_code_point(slice_make(text.data, size));
    char letter = short_escape(code);
    if (letter != '\0') {
        buf_append_byte(out, '\\');
        buf_append_byte(out, (uint8_t)letter);
    } else if (utf8_is_deceptive(code)) {
        for (size_t i = 0; i < size; i++) {
            buf_printf(out, "\\x%02x", text.data[i]);
        }
    } else {
        buf_append(out, text.data, size);
    }
    return size;
}

void text_append_escaped(struct buf *out, struct slice text, size_t max_bytes)
{
    size_t done = 0;
    while (done < text.size) {
        struct slice rest = slice_make(text.data + done, text.size - done);
        size_t size = utf8_sequence(rest);
        if (done + (size == 0 ? 1 : size) > max_bytes) {
            buf_append_text(out, "...");
            return;
        }
        done += append_escaped_character(out, rest);
    }
}

/* Levenshtein's distance by one row of the table; both words at most NEAREST_WORD_BYTES. */
static size_t edit_distance(struct slice a, struct slice b)
{
    size_t row[NEAREST_WORD_BYTES + 1];
    for (size_t j = 0; j <= b.size; j++) {
        row[j] = j;
    }
    for (size_t i = 0; i < a.size; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < b.size; j++) {
            size_t replaced = diagonal + (a.data[i] != b.data[j]);
            size_t shorter = (row[j] < row[j + 1] ? row[j] : row[j + 1]) + 1;
            diagonal = row[j + 1];
            row[j + 1] = replaced < shorter ? replaced : shorter;
        }
    }
    return row[b.size];
}

const char *text_nearest(struct slice text, const char *const *words)
{
    const char *nearest = NULL;
    size_t least = NEAREST_DISTANCE + 1;
    if (text.size > NEAREST_WORD_BYTES) {
        return NULL;
    }
    for (; *words != NULL; words++) {
        struct slice word = slice_text(*words);
        if (word.size > NEAREST_WORD_BYTES) {
            continue;
        }
        size_t distance = edit_distance(text, word);
        if (distance < least && distance < word.size) {
            least = distance;
            nearest = *words;
        }
    }
    return nearest;
}
