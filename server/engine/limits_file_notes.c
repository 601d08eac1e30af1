#include "engine/limits_file_notes.h"

#include "base/text.h"

#define LIMITS_FILE_NOTES_SHOWN_BYTES 80u /* of a text in the file */

void limits_file_notes_init(struct limits_file_notes *notes, const char *const *names)
{
    *notes = (struct limits_file_notes){.names = names};
}

static void limits_file_notes_clear(struct limits_file_note_list *list)
{
    for (uint32_t i = 0; i < list->kept_count; i++) {
        buf_deinit(&list->kept[i].text);
    }
    list->kept_count = 0;
}

void limits_file_notes_deinit(struct limits_file_notes *notes)
{
    limits_file_notes_clear(&notes->errors);
    limits_file_notes_clear(&notes->warnings);
    for (uint32_t i = 0; i < LIMITS_FILE_NOTES_QUOTES; i++) {
        buf_deinit(&notes->quotes[i]);
    }
}

static bool limits_file_notes_before(struct limits_file_place a, struct limits_file_place b)
{
    if (a.file != b.file) {
        return a.file < b.file;
    }
    if (a.line != b.line) {
        return a.line < b.line;
    }
    return a.column < b.column;
}

static bool limits_file_notes_fits(const struct limits_file_note_list *list,
                                   struct limits_file_place place)
{
    return list->kept_count < LIMITS_FILE_ERRORS_MAX ||
           limits_file_notes_before(place, list->kept[list->kept_count - 1].place);
}

bool limits_file_notes_keeps(const struct limits_file_notes *notes, struct limits_file_place place)
{
    return limits_file_notes_fits(&notes->errors, place);
}

/* Makes room for a note in its order; the last one gives way. NULL: it comes after all kept. */
static struct limits_file_note *limits_file_notes_insert(struct limits_file_note_list *list,
                                                         struct limits_file_place place)
{
    list->count++;
    if (!limits_file_notes_fits(list, place)) {
        return NULL;
    }
    if (list->kept_count == LIMITS_FILE_ERRORS_MAX) {
        buf_deinit(&list->kept[--list->kept_count].text);
    }
    uint32_t at = list->kept_count++;
    for (; at > 0 && limits_file_notes_before(place, list->kept[at - 1].place); at--) {
        list->kept[at] = list->kept[at - 1];
    }
    list->kept[at].place = place;
    buf_init(&list->kept[at].text, 0);
    return &list->kept[at];
}

static void limits_file_notes_append_subject(const struct limits_file_subject *subject,
                                             struct buf *out)
{
    if (subject->what == NULL) {
        return;
    }
    buf_printf(out, "%s \"", subject->what);
    text_append_escaped(out, subject->name, LIMITS_FILE_NOTES_SHOWN_BYTES);
    buf_append_text(out, "\": ");
    if (subject->part == NULL) {
        return;
    }
    buf_append_text(out, subject->part);
    if (subject->part_name.data != NULL) {
        buf_append_text(out, " \"");
        text_append_escaped(out, subject->part_name, LIMITS_FILE_NOTES_SHOWN_BYTES);
        buf_append_byte(out, '"');
    }
    buf_append_text(out, ": ");
}

static void limits_file_notes_add(struct limits_file_notes *notes,
                                  struct limits_file_note_list *list,
                                  struct limits_file_place place, const char *format, va_list args)
    __attribute__((format(printf, 4, 0)));

static void limits_file_notes_add(struct limits_file_notes *notes,
                                  struct limits_file_note_list *list,
                                  struct limits_file_place place, const char *format, va_list args)
{
    struct limits_file_note *note = limits_file_notes_insert(list, place);
    if (note == NULL) {
        return;
    }
    limits_file_notes_append_subject(&notes->subject, &note->text);
    buf_vprintf(&note->text, format, args);
    notes->failed = notes->failed || note->text.failed;
}

void limits_file_notes_error(struct limits_file_notes *notes, struct limits_file_place place,
                             const char *format, ...)
{
    va_list args;
    va_start(args, format);
    limits_file_notes_add(notes, &notes->errors, place, format, args);
    va_end(args);
}

void limits_file_notes_warning(struct limits_file_notes *notes, struct limits_file_place place,
                               const char *format, ...)
{
    va_list args;
    va_start(args, format);
    limits_file_notes_add(notes, &notes->warnings, place, format, args);
    va_end(args);
}

const char *limits_file_notes_quote(struct limits_file_notes *notes, struct slice text)
{
    struct buf *quote = &notes->quotes[notes->next_quote++ % LIMITS_FILE_NOTES_QUOTES];
    buf_clear(quote);
    buf_append_byte(quote, '"');
    text_append_escaped(quote, text, LIMITS_FILE_NOTES_SHOWN_BYTES);
    buf_append(quote, "\"", 2);
    if (quote->failed) {
        notes->failed = true;
        return "\"\"";
    }
    return (const char *)buf_slice(quote).data;
}

static void limits_file_notes_print(const struct limits_file_notes *notes,
                                    const struct limits_file_note_list *list, const char *prefix,
                                    struct buf *out)
{
    for (uint32_t i = 0; i < list->kept_count; i++) {
        const struct limits_file_note *note = &list->kept[i];
        buf_append_text(out, notes->names[note->place.file]);
        if (note->place.line > 0) {
            buf_printf(out, ":%u:%u", note->place.line, note->place.column);
        }
        buf_printf(out, ": %s", prefix);
        buf_append_slice(out, buf_slice(&note->text));
        buf_append_byte(out, '\n');
    }
    if (list->count > list->kept_count) {
        buf_printf(out, "and %u more\n", list->count - list->kept_count);
    }
}

void limits_file_notes_print_errors(const struct limits_file_notes *notes, struct buf *out)
{
    limits_file_notes_print(notes, &notes->errors, "", out);
}

void limits_file_notes_print_warnings(const struct limits_file_notes *notes, struct buf *out)
{
    limits_file_notes_print(notes, &notes->warnings, "warning: ", out);
}
