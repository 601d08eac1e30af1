/* --help: usage, options in two columns, examples; nothing is wider than a terminal of 100. */
#include "base/options.h"

#define WIDTH 100u
#define LABEL_COLUMN 2u
/* The second column begins behind the longest label, but not further right than this. */
#define TEXT_COLUMN_LAST 34u

/* Appends running text from `column` on, where the cursor stands; later lines are indented to it.
 * A newline in the text breaks a line. */
static void append_wrapped(struct buf *out, struct slice text, size_t column)
{
    size_t at = column;
    size_t i = 0;
    while (i < text.size) {
        size_t end = i;
        while (end < text.size && text.data[end] != ' ' && text.data[end] != '\n') {
            end++;
        }
        bool first = at == column;
        if (!first && at + 1 + (end - i) > WIDTH) {
            buf_printf(out, "\n%*s", (int)column, "");
            at = column;
        } else if (!first && end > i) {
            buf_append_byte(out, ' ');
            at++;
        }
        buf_append(out, text.data + i, end - i);
        at += end - i;
        if (end < text.size && text.data[end] == '\n') {
            buf_printf(out, "\n%*s", (int)column, "");
            at = column;
        }
        i = end + 1;
    }
    buf_append_byte(out, '\n');
}

static size_t label_size(const struct options_spec *spec)
{
    size_t size = 2 + strlen(spec->name);
    return spec->argument == NULL ? size : size + 1 + strlen(spec->argument);
}

/* Moves from behind a label to the second column, on a new line if the label reaches into it. */
static void move_to_text(struct buf *out, size_t size, size_t column)
{
    size_t at = LABEL_COLUMN + size;
    if (at + 2 > column) {
        buf_append_byte(out, '\n');
        at = 0;
    }
    buf_printf(out, "%*s", (int)(column - at), "");
}

static void append_options(const struct options_command *command, struct buf *out)
{
    size_t longest = 0;
    for (uint32_t i = 0; i < command->spec_count; i++) {
        size_t size = label_size(&command->specs[i]);
        longest = size > longest ? size : longest;
    }
    size_t column = LABEL_COLUMN + longest + 2;
    column = column < TEXT_COLUMN_LAST ? column : TEXT_COLUMN_LAST;
    struct buf text;
    buf_init(&text, 0);
    for (uint32_t i = 0; i < command->spec_count; i++) {
        const struct options_spec *spec = &command->specs[i];
        bool flag = spec->argument == NULL;
        buf_printf(out, "  --%s%s%s", spec->name, flag ? "" : " ", flag ? "" : spec->argument);
        move_to_text(out, label_size(spec), column);
        buf_clear(&text);
        options_append_help(spec, &text);
        append_wrapped(out, buf_slice(&text), column);
    }
    out->failed |= text.failed;
    buf_deinit(&text);
}

static void append_examples(const char *const *examples, struct buf *out)
{
    for (; examples != NULL && *examples != NULL; examples++) {
        const char *tab = strchr(*examples, '\t');
        size_t size = tab == NULL ? strlen(*examples) : (size_t)(tab - *examples);
        buf_append_text(out, "  ");
        buf_append(out, *examples, size);
        buf_append_byte(out, '\n');
        if (tab != NULL) {
            buf_append_text(out, "      ");
            append_wrapped(out, slice_text(tab + 1), 6);
        }
    }
}

void options_help(const struct options_command *command, struct buf *out)
{
    bool sub = command->name != NULL;
    bool words = command->arguments != NULL && command->arguments[0] != '\0';
    buf_printf(out, "Usage: %s%s%s%s%s\n\n", command->program, sub ? " " : "",
               sub ? command->name : "", words ? " " : "", words ? command->arguments : "");
    append_wrapped(out, slice_text(command->summary), 0);
    if (command->spec_count > 0) {
        buf_append_text(out, "\nOptions:\n");
        append_options(command, out);
    }
    if (command->examples != NULL && command->examples[0] != NULL) {
        buf_append_text(out, "\nExamples:\n");
        append_examples(command->examples, out);
    }
}
