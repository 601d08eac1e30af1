/* The man page, in the macros of man(7). Text of ours never reaches roff unescaped: its control
 * lines begin with a dot or an apostrophe, its escapes with a backslash, and hyphens and quotes
 * would be typeset as others, which cannot be copied into a shell. */
#include "base/options.h"

#include "base/utf8.h"

#include <ctype.h>

/* How roff spells an ASCII character that it would change; NULL: as it is. */
static const char *roff_spelling(uint8_t byte)
{
    switch (byte) {
    case '\\':
        return "\\e";
    case '-':
        return "\\-";
    case '\'':
        return "\\(aq";
    case '`':
        return "\\(ga";
    case '^':
        return "\\(ha";
    case '~':
        return "\\(ti";
    default:
        return NULL;
    }
}

static void append_character(struct buf *out, struct slice text, size_t size)
{
    uint8_t byte = text.data[0];
    const char *spelling = roff_spelling(byte);
    if (spelling != NULL) {
        buf_append_text(out, spelling);
    } else if (size > 1) {
        buf_printf(out, "\\[u%04X]", utf8_code_point(slice_make(text.data, size)));
    } else {
        buf_append_byte(out, byte);
    }
}

/* Appends running text; an empty line in it begins a paragraph. */
static void append_roff(struct buf *out, struct slice text)
{
    bool line_start = true;
    while (text.size > 0) {
        size_t size = utf8_sequence(text);
        size = size == 0 ? 1 : size;
        if (text.size > 1 && text.data[0] == '\n' && text.data[1] == '\n') {
            buf_append_text(out, "\n.PP\n");
            size = 2;
            line_start = true;
        } else {
            if (line_start && text.data[0] == '.') {
                buf_append_text(out, "\\&");
            }
            append_character(out, text, size);
            line_start = text.data[0] == '\n';
        }
        text = slice_make(text.data + size, text.size - size);
    }
}

static void append_roff_text(struct buf *out, const char *text)
{
    append_roff(out, slice_text(text));
}

static void append_usage(const struct options_command *command, struct buf *out)
{
    buf_append_text(out, "\\fB");
    append_roff_text(out, command->program);
    if (command->name != NULL) {
        buf_append_byte(out, ' ');
        append_roff_text(out, command->name);
    }
    buf_append_text(out, "\\fR");
    if (command->arguments != NULL && command->arguments[0] != '\0') {
        buf_append_byte(out, ' ');
        append_roff_text(out, command->arguments);
    }
    buf_append_byte(out, '\n');
}

static void append_options(const struct options_command *command, struct buf *out)
{
    struct buf text;
    buf_init(&text, 0);
    for (uint32_t i = 0; i < command->spec_count; i++) {
        const struct options_spec *spec = &command->specs[i];
        buf_append_text(out, ".TP\n\\fB\\-\\-");
        append_roff_text(out, spec->name);
        buf_append_text(out, "\\fR");
        if (spec->argument != NULL) {
            buf_append_text(out, " \\fI");
            append_roff_text(out, spec->argument);
            buf_append_text(out, "\\fR");
        }
        buf_append_byte(out, '\n');
        buf_clear(&text);
        options_append_help(spec, &text);
        append_roff(out, buf_slice(&text));
        buf_append_byte(out, '\n');
    }
    out->failed |= text.failed;
    buf_deinit(&text);
}

static void append_examples(const struct options_command *command, struct buf *out)
{
    const char *const *example = command->examples;
    for (; example != NULL && *example != NULL; example++) {
        const char *tab = strchr(*example, '\t');
        size_t size = tab == NULL ? strlen(*example) : (size_t)(tab - *example);
        buf_append_text(out, ".TP\n\\fB");
        append_roff(out, slice_make(*example, size));
        buf_append_text(out, "\\fR\n");
        append_roff_text(out, tab == NULL ? "" : tab + 1);
        buf_append_byte(out, '\n');
    }
}

static void append_command(const struct options_command *command, struct buf *out)
{
    buf_append_text(out, ".SS ");
    append_usage(command, out);
    append_roff_text(out, command->summary);
    buf_append_byte(out, '\n');
    if (command->description != NULL) {
        buf_append_text(out, ".PP\n");
        append_roff_text(out, command->description);
        buf_append_byte(out, '\n');
    }
    append_options(command, out);
}

/* The meanings are the same in every program here; only `ask` has an answer to give besides. */
static void append_exit_status(const struct options_command *const *commands, uint32_t count,
                               struct buf *out)
{
    buf_append_text(out, ".SH EXIT STATUS\n"
                         ".TP\n0\nDone.\n"
                         ".TP\n1\nFailed; a line on standard error says why.\n"
                         ".TP\n2\nUsed wrongly: an unknown option, a missing or bad value.\n");
    for (uint32_t i = 1; i < count; i++) {
        if (strcmp(commands[i]->name, "ask") == 0) {
            buf_append_text(out, ".TP\n3\n\\fBask\\fR: the request was refused.\n");
        }
    }
}

static void append_title(const char *program, const char *version, struct buf *out)
{
    buf_append_text(out, ".TH ");
    for (const char *at = program; *at != '\0'; at++) {
        buf_append_byte(out, (uint8_t)toupper((unsigned char)*at));
    }
    buf_append_text(out, " 1 \"\" \"");
    append_roff_text(out, program);
    buf_append_byte(out, ' ');
    append_roff_text(out, version);
    buf_append_text(out, "\" \"Sluice\"\n.nh\n.ad l\n");
}

void options_man(const struct options_command *const *commands, uint32_t count,
                 const char *version, struct buf *out)
{
    const struct options_command *program = commands[0];
    append_title(program->program, version, out);
    buf_append_text(out, ".SH NAME\n");
    append_roff_text(out, program->program);
    buf_append_text(out, " \\- ");
    append_roff_text(out, program->summary);
    buf_append_text(out, "\n.SH SYNOPSIS\n");
    for (uint32_t i = 0; i < count; i++) {
        buf_append_text(out, i == 0 ? "" : ".br\n");
        append_usage(commands[i], out);
    }
    if (program->description != NULL) {
        buf_append_text(out, ".SH DESCRIPTION\n");
        append_roff_text(out, program->description);
        buf_append_byte(out, '\n');
    }
    buf_append_text(out, ".SH OPTIONS\n");
    append_options(program, out);
    if (count > 1) {
        buf_append_text(out, ".SH COMMANDS\n");
    }
    for (uint32_t i = 1; i < count; i++) {
        append_command(commands[i], out);
    }
    buf_append_text(out, ".SH EXAMPLES\n");
    for (uint32_t i = 0; i < count; i++) {
        append_examples(commands[i], out);
    }
    append_exit_status(commands, count, out);
}
