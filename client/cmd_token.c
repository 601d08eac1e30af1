#include "cmd.h"

#include "base/hash.h"
#include "base/limits.h"

#include <stdio.h>
#include <string.h>

#define TOKEN_RANDOM_BYTES 32
#define RIGHTS_BYTES 32

static const struct options_spec specs[] = {
    {.name = "right",
     .argument = "RIGHT",
     .fallback = "ask",
     .choices = "ask|refund|admin",
     .repeatable = true,
     .help = "What it is good for: ask; refund, which is also reset; admin: metrics, reloads, "
             "snapshots."},
    {.name = "token-file",
     .argument = "FILE",
     .file = true,
     .help = "Make the line for the token that is this file's first line, instead of a new one."},
    CMD_HELP_SPEC,
};

static const char *const examples[] = {
    "sluice token gateway\ta new token, and its line for sluiced --tokens",
    "sluice token console --right admin --right refund\tone that may do more",
    NULL,
};

const struct options_command cmd_token_options = {
    .program = "sluice",
    .name = "token",
    .arguments = "NAME [OPTION]...",
    .summary = "makes a token and its line for sluiced --tokens",
    .description = "Prints \"token: \" and a new secret of 256 random bits, which goes to the "
                   "peer, "
                   "and \"line: \" and what goes into the file of tokens, which holds no "
                   "secret.\n\n"
                   "Exit codes: 0 done, 1 failed, 2 used wrongly.",
    .examples = examples,
    .specs = specs,
    .spec_count = sizeof specs / sizeof specs[0],
};

static void append_hex(struct buf *out, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        buf_printf(out, "%02x", bytes[i]);
    }
}

/* As the daemon reads it. */
static bool is_name(const char *name)
{
    size_t size = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.");
    return size > 0 && size <= LIMITS_TOKEN_NAME_BYTES_MAX && name[size] == '\0';
}

/* False: a sentence is on stderr. */
static bool read_rights(const struct options_parsed *parsed, struct buf *out)
{
    static const char *const known[] = {"ask", "refund", "admin"};
    bool given = options_has(parsed, "right");
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
        bool wanted = !given && k == 0;
        for (uint32_t i = 0; i < parsed->count; i++) {
            wanted = wanted || (strcmp(parsed->values[i].spec->name, "right") == 0 &&
                                strcmp(parsed->values[i].text, known[k]) == 0);
        }
        if (wanted) {
            buf_printf(out, " %s", known[k]);
        }
    }
    for (uint32_t i = 0; i < parsed->count; i++) {
        const char *text = parsed->values[i].text;
        if (strcmp(parsed->values[i].spec->name, "right") == 0 && strcmp(text, known[0]) != 0 &&
            strcmp(text, known[1]) != 0 && strcmp(text, known[2]) != 0) {
            (void)cmd_misused(&cmd_token_options, "--right %s: expected ask, refund or admin",
                              text);
            return false;
        }
    }
    return true;
}

static bool read_token(const char *path, char *token, size_t size)
{
    FILE *file = fopen(path, "re");
    bool read = file != NULL && fgets(token, (int)size, file) != NULL;
    if (file != NULL) {
        (void)fclose(file);
    }
    if (read) {
        token[strcspn(token, "\r\n")] = '\0';
    }
    if (!read || token[0] == '\0') {
        (void)cmd_failed(&cmd_token_options, "--token-file %s: expected a token in its first line",
                         path);
        return false;
    }
    return true;
}

static int print(const char *name, const struct options_parsed *parsed, const struct buf *rights)
{
    const char *path = options_last(parsed, "token-file");
    char token[LIMITS_TOKEN_BYTES_MAX + 1] = "";
    uint8_t random[TOKEN_RANDOM_BYTES];
    uint8_t hash[HASH_SECRET_BYTES];
    struct buf out;
    buf_init(&out, 0);
    if (path == NULL) {
        hash_random(random, sizeof random);
        append_hex(&out, random, sizeof random);
        memcpy(token, out.data + out.start, out.size);
        buf_clear(&out);
        buf_printf(&out, "token: %s\n", token);
    } else if (!read_token(path, token, sizeof token)) {
        buf_deinit(&out);
        return CMD_FAILED;
    }
    hash_secret(token, strlen(token), hash);
    buf_printf(&out, "line: %s: ", name);
    append_hex(&out, hash, sizeof hash);
    buf_append_slice(&out, buf_slice(rights));
    buf_append_byte(&out, '\n');
    int code = cmd_write(&cmd_token_options, &out);
    buf_deinit(&out);
    return code;
}

int cmd_token(int argc, char **argv)
{
    struct options_parsed parsed;
    struct buf rights;
    int code;
    if (!cmd_parse(&cmd_token_options, argc, argv, &parsed, &code)) {
        return code;
    }
    buf_init(&rights, 0);
    if (parsed.argument_count != 1 || !is_name(parsed.arguments[0])) {
        code = cmd_misused(&cmd_token_options, "expected a NAME of 1 to 64 letters, digits, '-', "
                                               "'_' and '.'");
    } else if (!read_rights(&parsed, &rights)) {
        code = CMD_USAGE;
    } else {
        code = print(parsed.arguments[0], &parsed, &rights);
    }
    buf_deinit(&rights);
    options_parsed_deinit(&parsed);
    return code;
}
