#include "wire/access_file.h"

#include <stdlib.h>

struct access_file {
    struct slice rest;
    const char *path;
    uint32_t line;
    struct access_table *table;
    struct buf *why;
};

static bool access_file_fail(struct access_file *file, const char *what)
{
    buf_printf(file->why, "%s:%u: %s", file->path, file->line, what);
    return false;
}

static bool is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

static struct slice trim(struct slice text)
{
    while (text.size > 0 && is_blank(text.data[0])) {
        text = slice_make(text.data + 1, text.size - 1);
    }
    while (text.size > 0 && is_blank(text.data[text.size - 1])) {
        text.size--;
    }
    return text;
}

/* Cuts the front of `text` off at the first byte for which `ends` holds. */
static struct slice cut(struct slice *text, bool (*ends)(uint8_t byte))
{
    size_t size = 0;
    while (size < text->size && !ends(text->data[size])) {
        size++;
    }
    struct slice front = slice_make(text->data, size);
    *text = slice_make(text->data + size, text->size - size);
    return front;
}

static bool is_separator(uint8_t byte)
{
    return is_blank(byte) || byte == ',';
}

static bool is_colon(uint8_t byte)
{
    return byte == ':';
}

static bool is_name(struct slice name)
{
    if (name.size == 0 || name.size > LIMITS_TOKEN_NAME_BYTES_MAX) {
        return false;
    }
    for (size_t i = 0; i < name.size; i++) {
        uint8_t byte = name.data[i];
        bool letter = (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
        if (!letter && !(byte >= '0' && byte <= '9') && byte != '-' && byte != '_' &&
            byte != '.') {
            return false;
        }
    }
    return true;
}

static int hex_digit(uint8_t byte)
{
    if (byte >= '0' && byte <= '9') {
        return byte - '0';
    }
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

static bool read_hash(struct slice text, uint8_t hash[HASH_SECRET_BYTES])
{
    if (text.size != (size_t)2 * HASH_SECRET_BYTES) {
        return false;
    }
    for (size_t i = 0; i < HASH_SECRET_BYTES; i++) {
        int high = hex_digit(text.data[2 * i]);
        int low = hex_digit(text.data[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        hash[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static unsigned read_right(struct slice word)
{
    return slice_equal_text(word, "ask")      ? ACCESS_ASK
           : slice_equal_text(word, "refund") ? ACCESS_REFUND
           : slice_equal_text(word, "admin")  ? ACCESS_ADMIN
                                              : 0;
}

/* Blanks or commas stand between the words. */
static struct slice next_word(struct slice *rest)
{
    while (rest->size > 0 && is_separator(rest->data[0])) {
        *rest = slice_make(rest->data + 1, rest->size - 1);
    }
    return cut(rest, is_separator);
}

static bool read_rights(struct access_file *file, struct slice rest, unsigned *rights)
{
    *rights = 0;
    for (struct slice word = next_word(&rest); word.size > 0; word = next_word(&rest)) {
        unsigned right = read_right(word);
        if (right == 0) {
            return access_file_fail(file, "a right is one of ask, refund and admin");
        }
        *rights |= right;
    }
    return *rights != 0 ||
           access_file_fail(file, "expected rights behind the hash: ask, refund, admin");
}

/* Neither the name nor the token was there before. */
static bool is_new(struct access_file *file, const struct access_token *token)
{
    for (uint32_t i = 0; i < file->table->count; i++) {
        const struct access_token *other = &file->table->tokens[i];
        if (other->name_size == token->name_size &&
            memcmp(other->name, token->name, token->name_size) == 0) {
            return access_file_fail(file, "a name stands here twice");
        }
        if (hash_secret_equal(other->hash, token->hash)) {
            return access_file_fail(file, "a token stands here twice");
        }
    }
    return true;
}

static bool read_line(struct access_file *file, struct slice line)
{
    struct access_token token = {0};
    struct slice name = trim(cut(&line, is_colon));
    if (line.size == 0) {
        return access_file_fail(file, "expected NAME: HASH RIGHT...");
    }
    line = slice_make(line.data + 1, line.size - 1);
    if (!is_name(name)) {
        return access_file_fail(file, "a name has 1 to 64 letters, digits, '-', '_' and '.'");
    }
    memcpy(token.name, name.data, name.size);
    token.name_size = (uint8_t)name.size;
    if (!read_hash(next_word(&line), token.hash)) {
        return access_file_fail(file, "expected the SHA-256 of the token: 64 hexadecimal digits");
    }
    if (!read_rights(file, line, &token.rights) || !is_new(file, &token)) {
        return false;
    }
    file->table->tokens[file->table->count++] = token;
    return true;
}

static struct slice next_line(struct access_file *file)
{
    struct slice *rest = &file->rest;
    const uint8_t *end = memchr(rest->data, '\n', rest->size);
    size_t size = end == NULL ? rest->size : (size_t)(end - rest->data);
    struct slice line = slice_make(rest->data, size);
    size += end != NULL;
    *rest = slice_make(rest->data + size, rest->size - size);
    file->line++;
    return line;
}

static uint32_t count_lines(struct slice text)
{
    uint32_t count = 1;
    for (size_t i = 0; i < text.size; i++) {
        count += text.data[i] == '\n';
    }
    return count < LIMITS_TOKENS_MAX ? count : LIMITS_TOKENS_MAX;
}

struct access_table *access_file_parse(struct slice text, const char *path, struct buf *why)
{
    struct access_file file = {.rest = text, .path = path, .why = why};
    size_t room = count_lines(text);
    bool good = true;
    file.table = calloc(1, sizeof(*file.table) + room * sizeof(file.table->tokens[0]));
    if (file.table == NULL) {
        buf_printf(why, "%s: out of memory", path);
        return NULL;
    }
    while (good && file.rest.size > 0) {
        struct slice line = trim(next_line(&file));
        if (line.size == 0 || line.data[0] == '#') {
            continue;
        }
        good = file.table->count < room || access_file_fail(&file, "at most 1024 tokens");
        static_assert(LIMITS_TOKENS_MAX == 1024, "what the message says");
        good = good && read_line(&file, line);
    }
    if (!good) {
        free(file.table);
        return NULL;
    }
    return file.table;
}
