/* Parsing is libc's getopt_long; this file builds its table, keeps the order of what it finds and
 * turns its bare '?' into a sentence. */
#include "base/options.h"

#include "base/text.h"

#include <getopt.h>
#include <stdlib.h>

/* How much of a bad word an error sentence repeats. */
#define WORD_BYTES 80u
/* getopt's answers: a word that is no option, a missing argument, anything else wrong; and what
 * this file gives it as the value of the first option of the table. */
#define FOUND_ARGUMENT 1
#define FOUND_MISSING ':'
#define FOUND_UNKNOWN '?'
#define FOUND_FIRST 256

static struct option *make_table(const struct options_command *command)
{
    struct option *table = calloc(command->spec_count + 1, sizeof(*table));
    for (uint32_t i = 0; table != NULL && i < command->spec_count; i++) {
        const struct options_spec *spec = &command->specs[i];
        table[i] = (struct option){
            .name = spec->name,
            .has_arg = spec->argument == NULL ? no_argument : required_argument,
            .val = FOUND_FIRST + (int)i,
        };
    }
    return table;
}

/* The option called exactly so, or the only one that begins so, or NULL. */
static const struct options_spec *find_spec(const struct options_command *command,
                                            struct slice name, uint32_t *alike)
{
    const struct options_spec *found = NULL;
    *alike = 0;
    for (uint32_t i = 0; i < command->spec_count; i++) {
        const struct options_spec *spec = &command->specs[i];
        if (slice_equal_text(name, spec->name)) {
            *alike = 1;
            return spec;
        }
        if (strncmp(spec->name, (const char *)name.data, name.size) == 0) {
            *alike += 1;
            found = spec;
        }
    }
    return *alike == 1 ? found : NULL;
}

static void explain_ambiguous(const struct options_command *command, struct slice name,
                              struct buf *message)
{
    const char *separator = " could be --";
    buf_append_text(message, "option \"--");
    text_append_escaped(message, name, WORD_BYTES);
    buf_append_byte(message, '"');
    for (uint32_t i = 0; i < command->spec_count; i++) {
        if (strncmp(command->specs[i].name, (const char *)name.data, name.size) == 0) {
            buf_printf(message, "%s%s", separator, command->specs[i].name);
            separator = " or --";
        }
    }
}

static void explain_unknown(const struct options_command *command, const char *dashes,
                            struct slice name, struct buf *message)
{
    buf_printf(message, "unknown option \"%s", dashes);
    text_append_escaped(message, name, WORD_BYTES);
    buf_append_byte(message, '"');
    const char **words = calloc(command->spec_count + 1, sizeof(*words));
    if (words == NULL) {
        return;
    }
    for (uint32_t i = 0; i < command->spec_count; i++) {
        words[i] = command->specs[i].name;
    }
    const char *nearest = text_nearest(name, words);
    /* There are no one-letter options, but -h surely meant the word that begins so. */
    for (uint32_t i = 0; nearest == NULL && name.size == 1 && i < command->spec_count; i++) {
        nearest = words[i][0] == (char)name.data[0] ? words[i] : NULL;
    }
    if (nearest != NULL) {
        buf_printf(message, "; did you mean --%s?", nearest);
    }
    free(words);
}

static void explain_missing(const struct options_spec *spec, struct buf *message)
{
    buf_printf(message, "option --%s needs a value: --%s %s", spec->name, spec->name,
               spec->argument);
}

/* What is wrong with `word`, an option that getopt refused (and not for a missing argument). */
static void explain_refused(const struct options_command *command, const char *word,
                            struct buf *message)
{
    if (word[0] != '-' || word[1] != '-') {
        explain_unknown(command, "-", slice_text(word + 1), message);
        return;
    }
    const char *equals = strchr(word, '=');
    struct slice name = slice_text(word + 2);
    if (equals != NULL) {
        name.size = (size_t)(equals - word) - 2;
    }
    uint32_t alike;
    const struct options_spec *spec = find_spec(command, name, &alike);
    if (spec != NULL) {
        buf_printf(message, "option --%s takes no value, but was given \"", spec->name);
        text_append_escaped(message, slice_text(equals == NULL ? "" : equals + 1), WORD_BYTES);
        buf_append_byte(message, '"');
    } else if (alike > 1 && name.size > 0) {
        explain_ambiguous(command, name, message);
    } else {
        explain_unknown(command, "--", name, message);
    }
}

/* Takes one answer of getopt. `word` is what it looked at. */
static enum status take_found(const struct options_command *command, int found, const char *word,
                              struct options_parsed *out, struct buf *message)
{
    if (found == FOUND_ARGUMENT) {
        out->arguments[out->argument_count++] = optarg;
        return STATUS_OK;
    }
    if (found == FOUND_MISSING && optopt >= FOUND_FIRST) {
        explain_missing(&command->specs[optopt - FOUND_FIRST], message);
        return STATUS_INVALID;
    }
    if (found < FOUND_FIRST) {
        explain_refused(command, word, message);
        return STATUS_INVALID;
    }
    const struct options_spec *spec = &command->specs[found - FOUND_FIRST];
    out->values[out->count++] = (struct options_value){.spec = spec, .text = optarg};
    return STATUS_OK;
}

static enum status parse_all(const struct options_command *command, const struct option *table,
                             int argc, char **argv, struct options_parsed *out,
                             struct buf *message)
{
    /* '-': words that are no options come in their place, whatever POSIXLY_CORRECT says. ':': a
     * missing argument is told apart. 0: getopt forgets any command line before this one. */
    optind = 0;
    opterr = 0;
    for (;;) {
        int at = optind == 0 ? 1 : optind;
        int found = getopt_long(argc, argv, "-:", table, NULL);
        if (found == -1) {
            break;
        }
        enum status status = take_found(command, found, argv[at], out, message);
        if (status != STATUS_OK) {
            return status;
        }
    }
    while (optind < argc) { /* what stands behind "--" */
        out->arguments[out->argument_count++] = argv[optind++];
    }
    return STATUS_OK;
}

enum status options_parse(const struct options_command *command, int argc, char **argv,
                          struct options_parsed *out, struct buf *message)
{
    size_t room = argc > 0 ? (size_t)argc : 1;
    struct option *table = make_table(command);
    *out = (struct options_parsed){
        .values = calloc(room, sizeof(*out->values)),
        .arguments = calloc(room, sizeof(*out->arguments)),
    };
    enum status status = STATUS_NO_MEMORY;
    if (table != NULL && out->values != NULL && out->arguments != NULL) {
        status = parse_all(command, table, argc, argv, out, message);
    } else {
        buf_append_text(message, status_text(status));
    }
    free(table);
    if (status != STATUS_OK) {
        options_parsed_deinit(out);
    }
    return status;
}

void options_parsed_deinit(struct options_parsed *parsed)
{
    free(parsed->values);
    free(parsed->arguments);
    *parsed = (struct options_parsed){0};
}

static const struct options_value *last_value(const struct options_parsed *parsed,
                                              const char *name)
{
    for (uint32_t i = parsed->count; i > 0; i--) {
        if (strcmp(parsed->values[i - 1].spec->name, name) == 0) {
            return &parsed->values[i - 1];
        }
    }
    return NULL;
}

const char *options_last(const struct options_parsed *parsed, const char *name)
{
    const struct options_value *value = last_value(parsed, name);
    return value == NULL ? NULL : value->text;
}

bool options_has(const struct options_parsed *parsed, const char *name)
{
    return last_value(parsed, name) != NULL;
}

/* "local|all|none" -> "local, all or none". */
static void append_choices(const char *choices, struct buf *out)
{
    for (const char *at = choices;;) {
        size_t size = strcspn(at, "|");
        buf_append(out, at, size);
        at += size;
        if (*at == '\0') {
            return;
        }
        at++;
        buf_append_text(out, strchr(at, '|') == NULL ? " or " : ", ");
    }
}

void options_append_help(const struct options_spec *spec, struct buf *out)
{
    buf_append_text(out, spec->help);
    if (spec->choices != NULL) {
        buf_append_text(out, " One of ");
        append_choices(spec->choices, out);
        buf_append_byte(out, '.');
    }
    if (spec->repeatable) {
        buf_append_text(out, " May be given more than once.");
    }
    if (spec->fallback != NULL) {
        buf_printf(out, " Default: %s.", spec->fallback);
    }
}
