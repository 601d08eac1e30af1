/* Answers come from the descriptors of our .proto files, which the build embeds as one
 * google.protobuf.FileDescriptorSet. It is small and rarely asked for, so it is searched as it
 * stands: no index, no state. Both versions of the protocol have the same messages. */
#include "wire/grpc_reflection.h"

#include "base/text.h"
#include "base/utf8.h"
#include "wire/access.h"
#include "wire/pb_fields.h"

#include <sluice/descriptors.h>

#define GRPC_REFLECTION_FILES 64u /* one bit each */

/* Field numbers of ServerReflectionRequest. */
enum {
    REFLECTION_HOST = 1,
    REFLECTION_FILE = 3,
    REFLECTION_SYMBOL = 4,
    REFLECTION_EXTENSION = 5,
    REFLECTION_EXTENSIONS = 6,
    REFLECTION_SERVICES = 7
};

/* What a descriptor describes. */
enum reflection_level {
    REFLECTION_NOTHING, /* it has no name */
    REFLECTION_LEAF,    /* a field, a method, an enum's value */
    REFLECTION_IN_FILE,
    REFLECTION_IN_MESSAGE,
    REFLECTION_IN_ENUM,
    REFLECTION_IN_SERVICE
};

/* What stands in field `number` of a descriptor (google/protobuf/descriptor.proto). */
static enum reflection_level reflection_child(enum reflection_level level, uint32_t number)
{
    switch (level) {
    case REFLECTION_IN_FILE:
        return number == 4   ? REFLECTION_IN_MESSAGE
               : number == 5 ? REFLECTION_IN_ENUM
               : number == 6 ? REFLECTION_IN_SERVICE
                             : REFLECTION_NOTHING;
    case REFLECTION_IN_MESSAGE:
        return number == 2 || number == 8 ? REFLECTION_LEAF
               : number == 3              ? REFLECTION_IN_MESSAGE
               : number == 4              ? REFLECTION_IN_ENUM
                                          : REFLECTION_NOTHING;
    case REFLECTION_IN_ENUM:
    case REFLECTION_IN_SERVICE:
        return number == 2 ? REFLECTION_LEAF : REFLECTION_NOTHING;
    case REFLECTION_NOTHING:
    case REFLECTION_LEAF:
        break;
    }
    return REFLECTION_NOTHING;
}

static struct slice reflection_text(struct slice descriptor, uint32_t number)
{
    struct slice text;
    (void)pb_fields_bytes(descriptor, number, &text);
    return text;
}

/* Takes "name." off the front of *path. */
static bool reflection_enter(struct slice *path, struct slice name)
{
    if (path->size <= name.size || memcmp(path->data, name.data, name.size) != 0 ||
        path->data[name.size] != '.') {
        return false;
    }
    *path = slice_make(path->data + name.size + 1, path->size - name.size - 1);
    return true;
}

/* Does the descriptor have what `path` names? Our own files nest a few levels. */
static bool reflection_has(struct slice descriptor, enum reflection_level level,
                           struct slice path)
{
    struct pb_field field;
    while (pb_fields_next(&descriptor, &field) == PB_FIELDS_ONE) {
        enum reflection_level inner = reflection_child(level, field.number);
        struct slice rest = path;
        if (inner == REFLECTION_NOTHING) {
            continue;
        }
        struct slice name = reflection_text(field.bytes, 1);
        if (slice_equal(path, name) ||
            (reflection_enter(&rest, name) && reflection_has(field.bytes, inner, rest))) {
            return true;
        }
        /* An enum's values are named beside it, not in it. */
        if (inner == REFLECTION_IN_ENUM && reflection_has(field.bytes, inner, path)) {
            return true;
        }
    }
    return false;
}

static bool reflection_file_has(struct slice file, struct slice symbol)
{
    struct slice package = reflection_text(file, 2);
    return (package.size == 0 || reflection_enter(&symbol, package)) &&
           reflection_has(file, REFLECTION_IN_FILE, symbol);
}

/* Takes the next file off the front of the set. */
static bool reflection_next_file(struct slice *set, struct slice *file)
{
    struct pb_field field;
    if (pb_fields_next(set, &field) != PB_FIELDS_ONE) {
        return false;
    }
    *file = field.bytes;
    return true;
}

static struct slice reflection_set(void)
{
    return slice_make(sluice_descriptors, sluice_descriptors_size);
}

/* Number and bytes of the file that is called `name`, or that has `symbol`. */
static bool reflection_find(struct slice name, struct slice symbol, unsigned *index,
                            struct slice *file)
{
    struct slice set = reflection_set();
    for (*index = 0; *index < GRPC_REFLECTION_FILES && reflection_next_file(&set, file);
         *index += 1) {
        if (symbol.size > 0 ? reflection_file_has(*file, symbol)
                            : slice_equal(reflection_text(*file, 1), name)) {
            return true;
        }
    }
    return false;
}

/* Appends a file and whatever it imports, each once. */
static void reflection_put_file(struct buf *out, unsigned index, struct slice file,
                                uint64_t *seen)
{
    struct slice rest = file;
    struct slice import;
    struct pb_field field;
    if ((*seen >> index & 1) != 0) {
        return;
    }
    *seen |= UINT64_C(1) << index;
    pb_fields_put_bytes(out, 1, file);
    while (pb_fields_next(&rest, &field) == PB_FIELDS_ONE) {
        if (field.number == 3 &&
            reflection_find(field.bytes, slice_make(NULL, 0), &index, &import)) {
            reflection_put_file(out, index, import, seen);
        }
    }
}

static void reflection_put_error(struct buf *out, const char *what, struct slice name)
{
    struct buf message;
    struct buf error;
    buf_init(&message, 0);
    buf_init(&error, 0);
    buf_printf(&message, "no %s \"", what);
    text_append_escaped(&message, name, LIMITS_MESSAGE_BYTES_MAX);
    buf_append_text(&message, "\" is known here");
    pb_fields_put_number(&error, 1, REQUEST_NOT_FOUND);
    pb_fields_put_bytes(&error, 2, buf_slice(&message));
    pb_fields_put_bytes(out, 7, buf_slice(&error));
    out->failed = out->failed || message.failed || error.failed;
    buf_deinit(&error);
    buf_deinit(&message);
}

static void reflection_put_files(struct buf *out, const struct pb_field *asked)
{
    struct slice nothing = slice_make(NULL, 0);
    struct slice file;
    unsigned index;
    bool by_name = asked->number == REFLECTION_FILE;
    if (asked->bytes.size == 0 ||
        !reflection_find(by_name ? asked->bytes : nothing, by_name ? nothing : asked->bytes,
                         &index, &file)) {
        reflection_put_error(out, by_name ? "file" : "symbol", asked->bytes);
        return;
    }
    struct buf files;
    uint64_t seen = 0;
    buf_init(&files, 0);
    reflection_put_file(&files, index, file, &seen);
    pb_fields_put_bytes(out, 4, buf_slice(&files));
    out->failed = out->failed || files.failed;
    buf_deinit(&files);
}

/* The services of one file that have methods here. */
static void reflection_put_file_services(struct buf *list, struct slice file)
{
    struct slice package = reflection_text(file, 2);
    struct pb_field field;
    struct buf name;
    buf_init(&name, 0);
    while (pb_fields_next(&file, &field) == PB_FIELDS_ONE) {
        if (reflection_child(REFLECTION_IN_FILE, field.number) != REFLECTION_IN_SERVICE) {
            continue;
        }
        buf_clear(&name);
        buf_append_slice(&name, package);
        buf_append_text(&name, package.size == 0 ? "" : ".");
        buf_append_slice(&name, reflection_text(field.bytes, 1));
        if (grpc_serves(buf_slice(&name))) {
            struct buf service;
            buf_init(&service, 0);
            pb_fields_put_bytes(&service, 1, buf_slice(&name));
            pb_fields_put_bytes(list, 1, buf_slice(&service));
            buf_deinit(&service);
        }
    }
    buf_deinit(&name);
}

static void reflection_put_services(struct buf *out)
{
    struct slice set = reflection_set();
    struct slice file;
    struct buf list;
    buf_init(&list, 0);
    while (reflection_next_file(&set, &file)) {
        reflection_put_file_services(&list, file);
    }
    pb_fields_put_bytes(out, 6, buf_slice(&list));
    out->failed = out->failed || list.failed;
    buf_deinit(&list);
}

/* No file of ours has an extension. */
static void reflection_put_extensions(struct buf *out, struct slice type)
{
    struct slice file;
    unsigned index;
    if (type.size == 0 || !reflection_find(slice_make(NULL, 0), type, &index, &file)) {
        reflection_put_error(out, "type", type);
        return;
    }
    pb_fields_put_head(out, 5, 2 + type.size + (type.size > 127));
    pb_fields_put_bytes(out, 1, type);
}

static enum request_code grpc_reflection_info(struct grpc_call *call)
{
    struct slice rest = call->message;
    struct pb_field field;
    struct pb_field asked = {0};
    struct slice host = slice_make(NULL, 0);
    enum pb_fields_result result;
    while ((result = pb_fields_next(&rest, &field)) == PB_FIELDS_ONE) {
        if (field.is_bytes && field.number == REFLECTION_HOST) {
            host = field.bytes;
        } else if (field.is_bytes && field.number >= REFLECTION_FILE &&
                   field.number <= REFLECTION_SERVICES) {
            asked = field;
        }
    }
    if (result == PB_FIELDS_MALFORMED || !utf8_is_valid(host) || asked.number == 0) {
        request_error_set(call->error, REQUEST_INVALID_ARGUMENT, "",
                          "the message is no ServerReflectionRequest with a question");
        return REQUEST_INVALID_ARGUMENT;
    }
    pb_fields_put_bytes(call->out, 1, host);
    pb_fields_put_bytes(call->out, 2, call->message);
    if (asked.number == REFLECTION_SERVICES) {
        reflection_put_services(call->out);
    } else if (asked.number == REFLECTION_EXTENSIONS) {
        reflection_put_extensions(call->out, asked.bytes);
    } else if (asked.number == REFLECTION_EXTENSION) {
        reflection_put_error(call->out, "extension of", reflection_text(asked.bytes, 1));
    } else {
        reflection_put_files(call->out, &asked);
    }
    return REQUEST_OK;
}

const struct grpc_method grpc_reflection_methods[GRPC_REFLECTION_METHODS] = {
    {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", GRPC_STREAM, ACCESS_ASK,
     grpc_reflection_info},
    {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", GRPC_STREAM, ACCESS_ASK,
     grpc_reflection_info},
};
