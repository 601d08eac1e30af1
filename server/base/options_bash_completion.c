/* The completion script: one bash function that needs no library of helpers.
 *
 *   which command stands on the line -> what the word before the cursor asks for (a choice, a file,
 *   anything) -> else names of options, of commands, or files */
#include "base/options.h"

/* A shell function's name from a program's: "sluice-x" -> "_sluice_x". */
static void append_function_name(const char *program, struct buf *out)
{
    buf_append_byte(out, '_');
    for (; *program != '\0'; program++) {
        buf_append_byte(out, *program == '-' ? '_' : (uint8_t)*program);
    }
}

/* The choices as one $'…' word, a line each. A blank in a choice has to arrive on the user's line
 * behind a backslash, after two rounds of the shell's own unquoting. */
static void append_choice_words(const char *choices, struct buf *out)
{
    for (; *choices != '\0'; choices++) {
        if (*choices == '|') {
            buf_append_text(out, "\\n");
        } else if (*choices == ' ') {
            buf_append_text(out, "\\\\\\\\\\\\ ");
        } else {
            buf_append_byte(out, (uint8_t)*choices);
        }
    }
}

/* One arm of the inner case: what an option's value completes to. */
static void append_value(const struct options_spec *spec, struct buf *out)
{
    buf_printf(out, "        --%s)\n", spec->name);
    if (spec->choices != NULL) {
        buf_append_text(out, "            local IFS=$'\\n'\n"
                             "            COMPREPLY=($(compgen -W $'");
        append_choice_words(spec->choices, out);
        buf_append_text(out, "' -- \"$cur\"))\n");
    } else if (spec->file) {
        buf_append_text(out, "            compopt -o default\n");
    }
    buf_append_text(out, "            return ;;\n");
}

/* One arm of the outer case: a command's values and the names of its options. */
static void append_command(const struct options_command *command, struct buf *out)
{
    buf_printf(out, "    %s)\n", command->name == NULL ? "''" : command->name);
    buf_append_text(out, "        case $prev in\n");
    for (uint32_t i = 0; i < command->spec_count; i++) {
        if (command->specs[i].argument != NULL) {
            append_value(&command->specs[i], out);
        }
    }
    buf_append_text(out, "        esac\n        options=\"");
    for (uint32_t i = 0; i < command->spec_count; i++) {
        buf_printf(out, "%s--%s", i == 0 ? "" : " ", command->specs[i].name);
    }
    buf_append_text(out, "\" ;;\n");
}

static void append_command_names(const struct options_command *const *commands, uint32_t count,
                                 const char *separator, struct buf *out)
{
    for (uint32_t i = 1; i < count; i++) {
        buf_printf(out, "%s%s", i == 1 ? "" : separator, commands[i]->name);
    }
}

void options_bash_completion(const struct options_command *const *commands, uint32_t count,
                             struct buf *out)
{
    const char *program = commands[0]->program;
    buf_printf(out, "# bash completion for %s\n", program);
    append_function_name(program, out);
    buf_append_text(out, "()\n{\n"
                         "    local cur=${COMP_WORDS[COMP_CWORD]}\n"
                         "    local prev=${COMP_WORDS[COMP_CWORD-1]}\n"
                         "    local command= options= i\n"
                         "    COMPREPLY=()\n"
                         "    # \"--name=value\" arrives as three words.\n"
                         "    if [[ $cur == = ]]; then\n"
                         "        cur=\n"
                         "    elif [[ $prev == = && $COMP_CWORD -gt 1 ]]; then\n"
                         "        prev=${COMP_WORDS[COMP_CWORD-2]}\n"
                         "    fi\n");
    if (count > 1) {
        buf_append_text(out, "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
                             "        case ${COMP_WORDS[i]} in\n        ");
        append_command_names(commands, count, "|", out);
        buf_append_text(out, ")\n            command=${COMP_WORDS[i]}\n            break ;;\n"
                             "        esac\n    done\n");
    }
    buf_append_text(out, "    case $command in\n");
    for (uint32_t i = 0; i < count; i++) {
        append_command(commands[i], out);
    }
    buf_append_text(out, "    esac\n    if [[ $cur == -* ]]; then\n"
                         "        COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n");
    if (count > 1) {
        buf_append_text(out, "    elif [[ -z $command ]]; then\n"
                             "        COMPREPLY=($(compgen -W \"");
        append_command_names(commands, count, " ", out);
        buf_append_text(out, "\" -- \"$cur\"))\n");
    }
    buf_append_text(out, "    else\n        compopt -o default\n    fi\n}\ncomplete -F ");
    append_function_name(program, out);
    buf_printf(out, " %s\n", program);
}
