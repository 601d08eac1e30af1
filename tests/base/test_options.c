#include "base/options.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const struct options_spec specs[] = {
    {.name = "limits", .argument = "FILE", .file = true, .help = "The limits file."},
    {.name = "listen", .argument = "PROTOCOL=ADDRESS", .repeatable = true,
     .help = "Where to listen."},
    {.name = "max-counters", .argument = "N", .help = "A bound."},
    {.name = "max-memory", .argument = "SIZE", .help = "Another bound."},
    {.name = "when-full", .argument = "WHAT", .choices = "refuse|evict", .fallback = "refuse",
     .help = "What happens at the bound."},
    {.name = "shadow-all", .help = "Every limit is a shadow."},
    {.name = "help", .help = "Show this help and exit."},
};
static const char *const examples[] = {
    "sluiced --limits limits.yaml\tserves the limits of 'limits.yaml'", NULL};
static const struct options_command daemon_command = {
    .program = "sluiced",
    .arguments = "--limits FILE [OPTION]...",
    .summary = "answers who may call what, and how often",
    .description = "First -- paragraph.\n\n.Second begins with a dot, has a \\ and 'quotes'\u2026",
    .examples = examples,
    .specs = specs,
    .spec_count = sizeof(specs) / sizeof(specs[0]),
};

/* Splits the words behind the program's name, NULL-terminated. */
static enum status parse(char **words, struct options_parsed *out, struct buf *message)
{
    int count = 0;
    while (words[count] != NULL) {
        count++;
    }
    buf_init(message, 0);
    return options_parse(&daemon_command, count, words, out, message);
}
#define WORDS(...) ((char *[]){"sluiced", __VA_ARGS__, NULL})

static void expect_message(char **words, const char *expected)
{
    struct options_parsed parsed;
    struct buf message;
    cr_expect_eq(parse(words, &parsed, &message), STATUS_INVALID, "%s", expected);
    cr_expect(slice_equal_text(buf_slice(&message), expected), "got %.*s, expected %s",
              (int)message.size, (const char *)message.data, expected);
    cr_expect_null(parsed.values);
    buf_deinit(&message);
}

static void expect_order(void)
{
    struct options_parsed parsed;
    struct buf message;
    char **words = WORDS("one", "--limits", "a.yaml", "two", "--listen=http=:80", "--shadow-all",
                         "-", "--listen", "-x", "--", "--limits", "--");
    static const char *const names[] = {"limits", "listen", "shadow-all", "listen"};
    static const char *const texts[] = {"a.yaml", "http=:80", NULL, "-x"};
    static const char *const arguments[] = {"one", "two", "-", "--limits", "--"};
    cr_assert_eq(parse(words, &parsed, &message), STATUS_OK);
    cr_assert_eq(parsed.count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        cr_expect_str_eq(parsed.values[i].spec->name, names[i]);
        cr_expect(texts[i] == NULL ? parsed.values[i].text == NULL
                                   : strcmp(parsed.values[i].text, texts[i]) == 0);
    }
    cr_assert_eq(parsed.argument_count, 5);
    for (uint32_t i = 0; i < 5; i++) {
        cr_expect_str_eq(parsed.arguments[i], arguments[i]);
    }
    options_parsed_deinit(&parsed);
    buf_deinit(&message);
}

Test(options, options_and_arguments_mix)
{
    expect_order();
}

Test(options, the_environment_does_not_change_the_order)
{
    cr_assert_eq(setenv("POSIXLY_CORRECT", "1", 1), 0);
    expect_order();
}

Test(options, one_line_after_another)
{
    for (int i = 0; i < 3; i++) {
        expect_order();
        expect_message(WORDS("--nonsense"), "unknown option \"--nonsense\"");
    }
}

Test(options, the_last_value_wins)
{
    struct options_parsed parsed;
    struct buf message;
    cr_assert_eq(parse(WORDS("--max-counters", "1", "--max-counters=2"), &parsed, &message),
                 STATUS_OK);
    cr_expect_str_eq(options_last(&parsed, "max-counters"), "2");
    cr_expect_null(options_last(&parsed, "limits"));
    cr_expect(options_has(&parsed, "max-counters"));
    cr_expect_not(options_has(&parsed, "shadow-all"));
    options_parsed_deinit(&parsed);
    cr_expect_not(options_has(&parsed, "max-counters"));
    buf_deinit(&message);
}

Test(options, values_may_be_empty_negative_or_look_like_options)
{
    struct options_parsed parsed;
    struct buf message;
    char **words = WORDS("--limits=", "--max-counters", "-5", "--max-memory", "--help", "--sha");
    cr_assert_eq(parse(words, &parsed, &message), STATUS_OK);
    cr_expect_str_eq(options_last(&parsed, "limits"), "");
    cr_expect_str_eq(options_last(&parsed, "max-counters"), "-5");
    cr_expect_str_eq(options_last(&parsed, "max-memory"), "--help");
    cr_expect_not(options_has(&parsed, "help"));
    cr_expect(options_has(&parsed, "shadow-all"), "an unambiguous beginning will do");
    options_parsed_deinit(&parsed);
    buf_deinit(&message);
}

Test(options, nothing_at_all)
{
    struct options_parsed parsed;
    struct buf message;
    buf_init(&message, 0);
    cr_assert_eq(parse((char *[]){"sluiced", NULL}, &parsed, &message), STATUS_OK);
    cr_expect_eq(parsed.count + parsed.argument_count, 0);
    options_parsed_deinit(&parsed);
    cr_assert_eq(options_parse(&daemon_command, 0, (char *[]){NULL}, &parsed, &message), STATUS_OK);
    options_parsed_deinit(&parsed);
    buf_deinit(&message);
}

Test(options, what_is_wrong_is_said)
{
    expect_message(WORDS("--limit-file", "x"), "unknown option \"--limit-file\"");
    expect_message(WORDS("--limts", "x"), "unknown option \"--limts\"; did you mean --limits?");
    expect_message(WORDS("--lisen=x"), "unknown option \"--lisen\"; did you mean --listen?");
    expect_message(WORDS("a", "--max", "1"),
                   "option \"--max\" could be --max-counters or --max-memory");
    expect_message(WORDS("--limits"), "option --limits needs a value: --limits FILE");
    expect_message(WORDS("--shadow-all=yes"),
                   "option --shadow-all takes no value, but was given \"yes\"");
    expect_message(WORDS("-h"), "unknown option \"-h\"; did you mean --help?");
    expect_message(WORDS("-z"), "unknown option \"-z\"");
    expect_message(WORDS("-help"), "unknown option \"-help\"; did you mean --help?");
    expect_message(WORDS("--=x"), "unknown option \"--\"");
    expect_message(WORDS("--a\nb\x1b"), "unknown option \"--a\\nb\\x1b\"");
}

Test(options, help)
{
    static const char expected[] =
        "Usage: sluiced --limits FILE [OPTION]...\n"
        "\n"
        "answers who may call what, and how often\n"
        "\n"
        "Options:\n"
        "  --limits FILE              The limits file.\n"
        "  --listen PROTOCOL=ADDRESS  Where to listen. May be given more than once.\n"
        "  --max-counters N           A bound.\n"
        "  --max-memory SIZE          Another bound.\n"
        "  --when-full WHAT           What happens at the bound. One of refuse or evict. Default: "
        "refuse.\n"
        "  --shadow-all               Every limit is a shadow.\n"
        "  --help                     Show this help and exit.\n"
        "\n"
        "Examples:\n"
        "  sluiced --limits limits.yaml\n"
        "      serves the limits of 'limits.yaml'\n";
    struct buf out;
    buf_init(&out, 0);
    options_help(&daemon_command, &out);
    cr_expect(slice_equal_text(buf_slice(&out), expected), "%.*s", (int)out.size,
              (const char *)out.data);
    buf_deinit(&out);
}

static const struct options_spec wide_specs[] = {
    {.name = "an-option-whose-name-is-far-too-long", .argument = "VALUE",
     .help = "Text that has to go on at the second column, on a line of its own, and which is so "
             "long that it wraps more than once: one two three four five six seven eight nine ten "
             "eleven twelve thirteen fourteen."},
    {.name = "path", .argument = "WHAT", .choices = "path|method path|m", .help = "Short."},
};
static const struct options_command ask_command = {
    .program = "sluice", .name = "ask", .arguments = "KEY ROUTE", .summary = "asks once",
    .specs = wide_specs, .spec_count = 2};

Test(options, help_wraps_at_a_hundred_columns_and_aligns)
{
    struct buf out;
    buf_init(&out, 0);
    options_help(&ask_command, &out);
    buf_append_byte(&out, '\0');
    char *text = (char *)out.data;
    cr_expect_eq(strncmp(text, "Usage: sluice ask KEY ROUTE\n\nasks once\n", 39), 0);
    int wide = 0;
    int aligned = 0;
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        cr_expect_leq(strlen(line), 100, "%s", line);
        wide += strlen(line) > 90;
        aligned += strspn(line, " ") == 34;
    }
    cr_expect_geq(wide, 2, "lines are filled");
    cr_expect_geq(aligned, 4);
    buf_deinit(&out);
}

static const struct options_command tool_command = {
    .program = "sluice", .arguments = "COMMAND [OPTION]...", .summary = "asks a daemon",
    .description = "Text.", .specs = &specs[6], .spec_count = 1};
static const struct options_command serve_command = {
    .program = "sluice", .name = "serve", .arguments = "[OPTION]...", .summary = "serves",
    .specs = specs, .spec_count = sizeof(specs) / sizeof(specs[0])};
static const struct options_command *const tool[] = {&tool_command, &ask_command, &serve_command};

Test(options, man_page)
{
    static const char expected[] =
        ".TH SLUICED 1 \"\" \"sluiced 0.1.0\" \"Sluice\"\n"
        ".nh\n"
        ".ad l\n"
        ".SH NAME\n"
        "sluiced \\- answers who may call what, and how often\n"
        ".SH SYNOPSIS\n"
        "\\fBsluiced\\fR \\-\\-limits FILE [OPTION]...\n"
        ".SH DESCRIPTION\n"
        "First \\-\\- paragraph.\n"
        ".PP\n"
        "\\&.Second begins with a dot, has a \\e and \\(aqquotes\\(aq\\[u2026]\n"
        ".SH OPTIONS\n"
        ".TP\n"
        "\\fB\\-\\-limits\\fR \\fIFILE\\fR\n"
        "The limits file.\n";
    static const char last[] =
        ".TP\n2\nUsed wrongly: an unknown option, a missing or bad value.\n";
    const struct options_command *const commands[] = {&daemon_command};
    struct buf out;
    buf_init(&out, 0);
    options_man(commands, 1, "0.1.0", &out);
    buf_append_byte(&out, '\0');
    const char *text = (const char *)out.data;
    cr_expect_eq(strncmp(text, expected, strlen(expected)), 0, "%s", text);
    cr_expect_str_eq(text + strlen(text) - strlen(last), last);
    buf_deinit(&out);
}

/* Writes `out` to a new temporary file and returns its name in `path`. */
static void store(const struct buf *out, char *path)
{
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, out->data, out->size), (ssize_t)out->size);
    (void)close(fd);
}

static void read_command(const char *command, char *text, size_t room)
{
    FILE *pipe = popen(command, "r");
    cr_assert_not_null(pipe);
    size_t size = fread(text, 1, room - 1, pipe);
    text[size] = '\0';
    (void)pclose(pipe);
}

Test(options, groff_has_nothing_to_say_against_the_man_page)
{
    if (system("command -v groff >/dev/null") != 0) {
        cr_skip_test("groff is not installed");
    }
    char path[] = "/tmp/sluice-man-XXXXXX";
    char command[200];
    char text[20000];
    struct buf out;
    buf_init(&out, 0);
    options_man(tool, 3, "0.1.0", &out);
    store(&out, path);
    (void)snprintf(command, sizeof(command), "groff -man -Tutf8 -ww %s 2>&1 >/dev/null", path);
    read_command(command, text, sizeof(text));
    cr_expect_str_eq(text, "");
    (void)snprintf(command, sizeof(command), "groff -man -Tascii -P-cbou %s 2>/dev/null", path);
    read_command(command, text, sizeof(text));
    cr_expect_not_null(strstr(text, "--max-counters N"), "%s", text);
    cr_expect_not_null(strstr(text, "ask: the request was refused"), "%s", text);
    (void)unlink(path);
    buf_deinit(&out);
}

/* What the script answers when the last of the words on the line is completed. */
static void expect_completion(const char *words, const char *expected)
{
    char path[] = "/tmp/sluice-completion-XXXXXX";
    char command[600];
    char text[1000];
    struct buf out;
    buf_init(&out, 0);
    options_bash_completion(tool, 3, &out);
    store(&out, path);
    (void)snprintf(command, sizeof(command),
                   "bash -c 'source %s; compopt() { echo \"$@\"; }; COMP_WORDS=(sluice %s); "
                   "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _sluice; "
                   "echo -n \"${COMPREPLY[@]}\"' 2>&1",
                   path, words);
    read_command(command, text, sizeof(text));
    cr_expect_str_eq(text, expected, "%s: got %s, expected %s", words, text, expected);
    (void)unlink(path);
    buf_deinit(&out);
}

Test(options, bash_completion)
{
    if (system("command -v bash >/dev/null") != 0) {
        cr_skip_test("bash is not installed");
    }
    expect_completion("\"\"", "ask serve");
    expect_completion("s", "serve");
    expect_completion("--", "--help");
    expect_completion("serve --max", "--max-counters --max-memory");
    expect_completion("serve --when-full \"\"", "refuse evict");
    expect_completion("serve --when-full e", "evict");
    expect_completion("serve --when-full =", "refuse evict");
    expect_completion("serve --when-full = r", "refuse");
    expect_completion("serve --limits \"\"", "-o default\n");
    expect_completion("serve --max-memory \"\"", "");
    expect_completion("ask --when-full", "");
    expect_completion("ask --path \"\"", "path method\\ path m");
    expect_completion("ask --path me", "method\\ path");
    expect_completion("ask \"\"", "-o default\n");
}
