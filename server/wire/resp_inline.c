#include "wire/resp_inline.h"

static const char unbalanced[] = "unbalanced quotes in request";

static bool is_blank(uint8_t byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r') || byte == '\0';
}

static int hex_digit(uint8_t byte)
{
    if (byte >= '0' && byte <= '9') {
        return byte - '0';
    }
    uint8_t lower = byte | 0x20;
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

static uint8_t escaped(uint8_t byte)
{
    switch (byte) {
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    case 'b':
        return '\b';
    case 'a':
        return '\a';
    default:
        return byte;
    }
}

/* Reads what stands behind a backslash in double quotes at *at. */
static uint8_t read_escape(struct slice line, size_t *at)
{
    const uint8_t *byte = line.data + *at;
    if (byte[0] == 'x' && line.size - *at > 2 && hex_digit(byte[1]) >= 0 &&
        hex_digit(byte[2]) >= 0) {
        *at += 3;
        return (uint8_t)(hex_digit(byte[1]) * 16 + hex_digit(byte[2]));
    }
    *at += 1;
    return escaped(byte[0]);
}

/* Reads a quoted part whose opening quote is at *at; appends it to out. False: it does not end, or
 * not at the end of a word. */
static bool read_quoted(struct slice line, size_t *at, uint8_t *out, size_t *size)
{
    uint8_t quote = line.data[(*at)++];
    while (*at < line.size && line.data[*at] != quote) {
        uint8_t byte = line.data[(*at)++];
        if (byte == '\\' && *at < line.size && quote == '"') {
            byte = read_escape(line, at);
        } else if (byte == '\\' && *at < line.size && line.data[*at] == '\'') {
            byte = line.data[(*at)++];
        }
        out[(*size)++] = byte;
    }
    if (*at == line.size) {
        return false;
    }
    *at += 1;
    return *at == line.size || is_blank(line.data[*at]);
}

/* A word with quotes somewhere: written out into `out`, which has room for the rest of the line. */
static bool read_word(struct slice line, size_t *at, uint8_t *out, size_t *size)
{
    *size = 0;
    while (*at < line.size && !is_blank(line.data[*at])) {
        uint8_t byte = line.data[*at];
        if (byte == '"' || byte == '\'') {
            return read_quoted(line, at, out, size);
        }
        out[(*size)++] = byte;
        *at += 1;
    }
    return true;
}

const char *resp_inline_split(struct slice line, struct arena *arena,
                              struct resp_command *command)
{
    bool quoted = line.size > 0 && (memchr(line.data, '"', line.size) != NULL ||
                                    memchr(line.data, '\'', line.size) != NULL);
    uint8_t *out = quoted ? arena_alloc(arena, line.size) : NULL;
    if (quoted && out == NULL) {
        return "no memory for the request";
    }
    command->count = 0;
    for (size_t at = 0;;) {
        while (at < line.size && is_blank(line.data[at])) {
            at++;
        }
        if (at == line.size) {
            return NULL;
        }
        if (command->count == LIMITS_RESP_ARGUMENTS_MAX) {
            return "too many arguments, a command has at most 64";
        }
        struct slice *word = &command->arguments[command->count++];
        size_t start = at;
        if (quoted) {
            if (!read_word(line, &at, out, &word->size)) {
                return unbalanced;
            }
            word->data = out;
            out += word->size;
            continue;
        }
        while (at < line.size && !is_blank(line.data[at])) {
            at++;
        }
        *word = slice_make(line.data + start, at - start);
    }
}
