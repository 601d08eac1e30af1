/* One table of options a command: parses the command line, prints --help, the man page and the
 * completion script. GNU long options; parsing itself is libc's getopt_long. */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include "base/buf.h"

struct options_spec {
    const char *name;     /* without the dashes: "listen" */
    const char *argument; /* "PROTOCOL=ADDRESS"; NULL: a flag */
    const char *fallback; /* the default as shown; NULL: none */
    const char *help;     /* one or two sentences */
    const char *choices;  /* "local|all|none" for completion; NULL: free */
    bool repeatable;
    bool file;            /* completes file names */
};

struct options_command {
    const char *program;        /* "sluice" */
    const char *name;           /* "ask"; NULL: the program itself */
    const char *arguments;      /* "KEY ROUTE [OPTION]..." */
    const char *summary;        /* one line */
    const char *description;    /* paragraphs, for the man page */
    const char *const *examples; /* "command line\twhat it does", NULL-terminated */
    const struct options_spec *specs;
    uint32_t spec_count;
};

/* One option met, in order of the command line. */
struct options_value {
    const struct options_spec *spec;
    const char *text; /* NULL: a flag */
};

struct options_parsed {
    struct options_value *values;
    uint32_t count;
    char **arguments; /* what is no option, in order */
    uint32_t argument_count;
};

/* Splits argv (argv[0] is skipped). On STATUS_INVALID *message holds one sentence with the bad
 * word, and the nearest option where one is near. */
STATUS_CHECKED enum status options_parse(const struct options_command *command, int argc,
                                         char **argv, struct options_parsed *out,
                                         struct buf *message);
void options_parsed_deinit(struct options_parsed *parsed);

/* The last value of an option, or NULL. */
const char *options_last(const struct options_parsed *parsed, const char *name);
bool options_has(const struct options_parsed *parsed, const char *name);

/* An option's help, choices and default, as sentences. */
void options_append_help(const struct options_spec *spec, struct buf *out);

void options_help(const struct options_command *command, struct buf *out);
/* `commands`: all of a program, the first being the program itself. */
void options_man(const struct options_command *const *commands, uint32_t count,
                 const char *version, struct buf *out);
void options_bash_completion(const struct options_command *const *commands, uint32_t count,
                             struct buf *out);

#endif
