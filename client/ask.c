#include "ask.h"

#include "ask_print.h"
#include "base/limits.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SERVER "native://127.0.0.1:7070"
#define DEFAULT_TIMEOUT_MS 5000u
#define NS_PER_MS INT64_C(1000000)
#define TIMEOUT_NS_MAX (INT64_C(3600000) * NS_PER_MS) /* an hour */

const char *ask_server(const struct options_parsed *parsed)
{
    const char *server = options_last(parsed, "server");
    if (server == NULL) {
        server = getenv("SLUICE_SERVER");
    }
    return server == NULL || server[0] == '\0' ? DEFAULT_SERVER : server;
}

bool ask_parse_attribute(const char *text, struct sluice_attribute *attribute)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text) {
        return false;
    }
    attribute->name = (struct sluice_bytes){text, (size_t)(equals - text)};
    attribute->value = (struct sluice_bytes){equals + 1, strlen(equals + 1)};
    return true;
}

bool ask_parse_cost(const struct options_command *command, const char *text, uint64_t *cost)
{
    if (text_parse_u64(slice_text(text), cost) == STATUS_OK && *cost <= LIMITS_COST_MAX) {
        return true;
    }
    (void)cmd_misused(command, "--cost %s: expected a whole number from 0 to %llu", text,
                      (unsigned long long)LIMITS_COST_MAX);
    return false;
}

uint32_t ask_timeout_ms(const struct options_command *command,
                        const struct options_parsed *parsed)
{
    const char *text = options_last(parsed, "timeout");
    const char *why = "must be from 1ms to 1h";
    int64_t ns;
    if (text == NULL) {
        return DEFAULT_TIMEOUT_MS;
    }
    if (text_parse_duration_ns(slice_text(text), &ns, &why) == STATUS_OK && ns > 0 &&
        ns <= TIMEOUT_NS_MAX) {
        return (uint32_t)((ns + NS_PER_MS - 1) / NS_PER_MS);
    }
    (void)cmd_misused(command, "--timeout %s: %s", text, why);
    return 0;
}

/* The first line of a file. */
static bool read_token(const struct options_command *command, const char *path,
                       char room[ASK_TOKEN_BYTES])
{
    FILE *file = fopen(path, "re");
    bool read = file != NULL && fgets(room, ASK_TOKEN_BYTES, file) != NULL;
    if (file != NULL) {
        (void)fclose(file);
    }
    if (read) {
        room[strcspn(room, "\r\n")] = '\0';
    }
    if (!read || room[0] == '\0') {
        (void)cmd_misused(command, "--token-file %s: expected a token in its first line", path);
    }
    return read && room[0] != '\0';
}

bool ask_secure(const struct options_command *command, const struct options_parsed *parsed,
                struct sluice_options *options, char room[ASK_TOKEN_BYTES])
{
    const char *path = options_last(parsed, "token-file");
    const char *token = getenv("SLUICE_TOKEN");
    options->token = token == NULL || token[0] == '\0' ? NULL : token;
    options->ca_cert = options_last(parsed, "cacert");
    options->cert = options_last(parsed, "cert");
    options->key = options_last(parsed, "key");
    if ((options->cert == NULL) != (options->key == NULL)) {
        (void)cmd_misused(command, "--cert and --key go together");
        return false;
    }
    if (path == NULL) {
        return true;
    }
    options->token = room;
    return read_token(command, path, room);
}

static bool read_attributes(struct ask *ask)
{
    ask->attributes = calloc(ask->parsed.count + 1, sizeof *ask->attributes);
    if (ask->attributes == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < ask->parsed.count; i++) {
        const struct options_value *value = &ask->parsed.values[i];
        if (strcmp(value->spec->name, "attribute") != 0) {
            continue;
        }
        if (!ask_parse_attribute(value->text, &ask->attributes[ask->question.attribute_count])) {
            (void)cmd_misused(ask->command, "--attribute %s: expected NAME=VALUE", value->text);
            return false;
        }
        ask->question.attribute_count++;
    }
    ask->question.attributes = ask->attributes;
    return true;
}

static bool read_question(struct ask *ask)
{
    const struct options_parsed *parsed = &ask->parsed;
    if (parsed->argument_count != 2) {
        (void)cmd_misused(ask->command, "expected KEY and ROUTE, got %u argument%s",
                          parsed->argument_count, parsed->argument_count == 1 ? "" : "s");
        return false;
    }
    ask->question.key =
        (struct sluice_bytes){parsed->arguments[0], strlen(parsed->arguments[0])};
    ask->question.route =
        (struct sluice_bytes){parsed->arguments[1], strlen(parsed->arguments[1])};
    ask->question.details = options_has(parsed, "details");
    const char *cost = options_last(parsed, "cost");
    ask->question.has_cost = cost != NULL;
    if (cost != NULL && !ask_parse_cost(ask->command, cost, &ask->question.cost)) {
        return false;
    }
    return read_attributes(ask);
}

static bool open_client(struct ask *ask)
{
    char why[512] = "";
    char token[ASK_TOKEN_BYTES];
    struct sluice_options options = {
        .timeout_ms = ask_timeout_ms(ask->command, &ask->parsed),
        .on_error = SLUICE_ON_ERROR_DENY,
        .why = why,
        .why_size = sizeof why,
    };
    if (options.timeout_ms == 0 ||
        !ask_secure(ask->command, &ask->parsed, &options, token)) {
        return false;
    }
    enum sluice_status status = sluice_open(ask_server(&ask->parsed), &options, &ask->client);
    if (status != SLUICE_OK) {
        (void)cmd_misused(ask->command, "--server: %s",
                          why[0] == '\0' ? sluice_status_text(status) : why);
    }
    return status == SLUICE_OK;
}

bool ask_init(struct ask *ask, const struct options_command *command, int argc, char **argv,
              int *exit_code)
{
    *ask = (struct ask){.command = command};
    if (!cmd_parse(command, argc, argv, &ask->parsed, exit_code)) {
        return false;
    }
    ask->json = options_has(&ask->parsed, "json");
    if (!read_question(ask) || !open_client(ask)) {
        ask_deinit(ask);
        *exit_code = CMD_USAGE;
        return false;
    }
    return true;
}

void ask_deinit(struct ask *ask)
{
    sluice_close(&ask->client);
    free(ask->attributes);
    ask->attributes = NULL;
    options_parsed_deinit(&ask->parsed);
}

int ask_show(const struct ask *ask, const struct sluice_answer *answer)
{
    struct buf out;
    buf_init(&out, 0);
    if (ask->json) {
        ask_print_json(&out, answer);
    } else {
        ask_print_text(&out, answer);
    }
    int code = cmd_write(ask->command, &out);
    buf_deinit(&out);
    return code;
}

int ask_complain(const struct options_command *command, const struct sluice_error *error)
{
    struct buf text;
    buf_init(&text, 0);
    if (error->status == SLUICE_ERROR) {
        buf_append_text(&text, sluice_code_text(error->code));
        buf_append_text(&text, ": ");
        if (error->field.size > 0) {
            text_append_escaped(&text, slice_make(error->field.data, error->field.size), 200);
            buf_append_text(&text, ": ");
        }
    }
    text_append_escaped(&text, slice_make(error->message.data, error->message.size), 1000);
    struct slice said = buf_slice(&text);
    int code = cmd_failed(command, "%.*s", (int)said.size, (const char *)said.data);
    buf_deinit(&text);
    return code;
}
