#include "config_file.h"

#include "base/text.h"
#include "config_options.h"

#include <errno.h>
#include <stdio.h>
#include <yaml.h>

/* What may stand next. */
enum config_file_expect {
    CONFIG_FILE_MAPPING,
    CONFIG_FILE_KEY,
    CONFIG_FILE_VALUE,
    CONFIG_FILE_ITEM,
    CONFIG_FILE_DONE
};

struct config_file {
    const char *path;
    struct arena *arena;
    struct config_file_value *first;
    struct config_file_value **last;
    const struct options_spec *option; /* whose value is being read */
    enum config_file_expect expect;
    struct buf *why;
};

static enum status config_file_complain(struct config_file *file, const yaml_mark_t *at,
                                        const char *what)
{
    buf_printf(file->why, "%s:%zu:%zu: %s", file->path, at->line + 1, at->column + 1, what);
    return STATUS_INVALID;
}

static enum status config_file_add(struct config_file *file, const yaml_event_t *event)
{
    struct slice text =
        slice_make(event->data.scalar.value, event->data.scalar.length);
    struct config_file_value *value = arena_zalloc(file->arena, sizeof(*value));
    struct buf where;
    buf_init(&where, 0);
    buf_printf(&where, "%s:%zu", file->path, event->start_mark.line + 1);
    if (value != NULL) {
        value->name = file->option->name;
        value->text = arena_copy(file->arena, text);
        value->where = arena_copy(file->arena, buf_slice(&where));
    }
    bool good = !where.failed && value != NULL && value->text != NULL && value->where != NULL;
    buf_deinit(&where);
    if (!good) {
        return STATUS_NO_MEMORY;
    }
    if (strlen(value->text) != text.size) {
        return config_file_complain(file, &event->start_mark, "a value with a NUL in it");
    }
    *file->last = value;
    file->last = &value->next;
    return STATUS_OK;
}

static enum status config_file_key(struct config_file *file, const yaml_event_t *event)
{
    struct slice name = slice_make(event->data.scalar.value, event->data.scalar.length);
    file->option = config_options_find(name);
    if (file->option == NULL) {
        buf_printf(file->why, "%s:%zu:%zu: unknown option \"", file->path,
                   event->start_mark.line + 1, event->start_mark.column + 1);
        text_append_escaped(file->why, name, 64);
        buf_append_text(file->why, "\"");
        return STATUS_INVALID;
    }
    for (const struct config_file_value *value = file->first; value != NULL;
         value = value->next) {
        if (strcmp(value->name, file->option->name) == 0) {
            return config_file_complain(file, &event->start_mark, "this option stands twice");
        }
    }
    file->expect = CONFIG_FILE_VALUE;
    return STATUS_OK;
}

static enum status config_file_scalar(struct config_file *file, const yaml_event_t *event)
{
    switch (file->expect) {
    case CONFIG_FILE_KEY:
        return config_file_key(file, event);
    case CONFIG_FILE_VALUE:
        file->expect = CONFIG_FILE_KEY;
        return config_file_add(file, event);
    case CONFIG_FILE_ITEM:
        return config_file_add(file, event);
    case CONFIG_FILE_MAPPING:
    case CONFIG_FILE_DONE:
        break;
    }
    return config_file_complain(file, &event->start_mark, "expected options, as `name: value`");
}

/* One step of the file's shape: a mapping of scalars and lists of scalars. */
static enum status config_file_event(struct config_file *file, const yaml_event_t *event)
{
    const yaml_mark_t *at = &event->start_mark;
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return config_file_scalar(file, event);
    case YAML_MAPPING_START_EVENT:
        if (file->expect != CONFIG_FILE_MAPPING) {
            return config_file_complain(file, at, "expected a value or a list of values");
        }
        file->expect = CONFIG_FILE_KEY;
        return STATUS_OK;
    case YAML_MAPPING_END_EVENT:
        file->expect = CONFIG_FILE_DONE;
        return STATUS_OK;
    case YAML_SEQUENCE_START_EVENT:
        if (file->expect != CONFIG_FILE_VALUE || !file->option->repeatable) {
            return config_file_complain(file, at, "a list is for options that may be repeated");
        }
        file->expect = CONFIG_FILE_ITEM;
        return STATUS_OK;
    case YAML_SEQUENCE_END_EVENT:
        file->expect = CONFIG_FILE_KEY;
        return STATUS_OK;
    case YAML_ALIAS_EVENT:
        return config_file_complain(file, at, "aliases are not for options");
    case YAML_DOCUMENT_START_EVENT:
        return file->expect == CONFIG_FILE_DONE
                   ? config_file_complain(file, at, "one document is enough")
                   : STATUS_OK;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        return STATUS_OK;
    }
    return STATUS_OK;
}

static enum status config_file_parse(struct config_file *file, yaml_parser_t *parser)
{
    enum status status = STATUS_OK;
    bool done = false;
    while (status == STATUS_OK && !done) {
        yaml_event_t event;
        if (yaml_parser_parse(parser, &event) == 0) {
            return config_file_complain(file, &parser->problem_mark,
                                        parser->problem == NULL ? "no YAML" : parser->problem);
        }
        status = config_file_event(file, &event);
        done = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    return status;
}

enum status config_file_read(const char *path, struct arena *arena,
                             struct config_file_value **out, struct buf *why)
{
    struct config_file file = {.path = path, .arena = arena, .why = why};
    yaml_parser_t parser;
    file.last = &file.first;
    FILE *stream = fopen(path, "re");
    if (stream == NULL) {
        buf_printf(why, "%s: %s", path, strerror(errno));
        return STATUS_IO;
    }
    if (yaml_parser_initialize(&parser) == 0) {
        (void)fclose(stream);
        return STATUS_NO_MEMORY;
    }
    yaml_parser_set_input_file(&parser, stream);
    enum status status = config_file_parse(&file, &parser);
    yaml_parser_delete(&parser);
    (void)fclose(stream);
    *out = file.first;
    return status;
}
