/* What is to be said about a limits file: errors and warnings with their places. They may come in
 * any order; the first LIMITS_FILE_ERRORS_MAX of each in file order are kept, the rest counted, so
 * that a file of nothing but errors costs no memory. */
#ifndef ENGINE_LIMITS_FILE_NOTES_H
#define ENGINE_LIMITS_FILE_NOTES_H

#include "base/buf.h"
#include "base/limits.h"

struct limits_file_place {
    uint32_t file;   /* index into names */
    uint32_t line;   /* 0: the file as a whole */
    uint32_t column;
};

struct limits_file_note {
    struct limits_file_place place;
    struct buf text;
};

struct limits_file_note_list {
    struct limits_file_note kept[LIMITS_FILE_ERRORS_MAX]; /* in file order */
    uint32_t kept_count;
    uint32_t count;
};

/* What the notes are about: `limit "a": plan "free": `. Written out only when there is one. */
struct limits_file_subject {
    const char *what; /* NULL: nothing to name */
    struct slice name;
    const char *part; /* NULL: no part of it */
    struct slice part_name;
};

#define LIMITS_FILE_NOTES_QUOTES 4u

struct limits_file_notes {
    const char *const *names; /* of the files, borrowed */
    struct limits_file_note_list errors;
    struct limits_file_note_list warnings;
    struct limits_file_subject subject;
    struct buf quotes[LIMITS_FILE_NOTES_QUOTES];
    uint32_t next_quote;
    bool failed; /* out of memory: something could not be said */
};

void limits_file_notes_init(struct limits_file_notes *notes, const char *const *names);
void limits_file_notes_deinit(struct limits_file_notes *notes);

/* Would an error here be kept? For messages that are costly to make. */
bool limits_file_notes_keeps(const struct limits_file_notes *notes,
                             struct limits_file_place place);
void limits_file_notes_error(struct limits_file_notes *notes, struct limits_file_place place,
                             const char *format, ...) __attribute__((format(printf, 3, 4)));
void limits_file_notes_warning(struct limits_file_notes *notes, struct limits_file_place place,
                               const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Text of the file for a message: escaped, quoted, cut when long. Good for the next few calls. */
const char *limits_file_notes_quote(struct limits_file_notes *notes, struct slice text);

/* Appends the errors, or the warnings, one line each. */
void limits_file_notes_print_errors(const struct limits_file_notes *notes, struct buf *out);
void limits_file_notes_print_warnings(const struct limits_file_notes *notes, struct buf *out);

#endif
