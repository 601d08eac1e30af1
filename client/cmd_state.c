#include "cmd.h"

#include "base/text.h"
#include "state_show.h"

#include <inttypes.h>

static const struct options_spec specs[] = {
    {.name = "key",
     .argument = "KEY",
     .help = "Look one key up in every limit that counts by the key alone."},
    {.name = "json", .help = "One JSON object a directory."},
    CMD_HELP_SPEC,
};

static const char *const examples[] = {
    "sluice state /var/lib/sluice\twhat would a start load?",
    "sluice state /var/lib/sluice --key alice\twhat has alice used?",
    NULL,
};

const struct options_command cmd_state_options = {
    .program = "sluice",
    .name = "state",
    .arguments = "FILE... [OPTION]...",
    .summary = "shows what a state directory holds",
    .description =
        "FILE is a state directory, or a file in one. Every checksum is tried, and the counters "
        "are loaded as a daemon would load them now, under the limits that were last in force. "
        "Nothing is changed; a daemon may be running.\n\n"
        "Exit codes: 0 done, 1 damaged or not readable, 2 used wrongly.",
    .examples = examples,
    .specs = specs,
    .spec_count = sizeof specs / sizeof specs[0],
};

static uint64_t bytes_of(const struct state_show *show)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < show->load.file_count; i++) {
        bytes += show->load.files[i].size;
    }
    return bytes;
}

/* ---- text ---- */

static void append_file(const struct load_file *file, struct buf *out)
{
    char name[STATE_DIR_NAME_BYTES];
    state_dir_name(file->kind, file->number, name);
    buf_printf(out, "file: %s, %zu bytes, begun ", name, file->size);
    text_append_time(out, file->header.created_ns);
    buf_append_byte(out, '\n');
}

static void append_limit(const struct policy_limit *limit, const struct state_show_limit *tally,
                         struct buf *out)
{
    buf_printf(out, "limit: %.*s, %s, %" PRIu64 " counters", (int)limit->name.size,
               (const char *)limit->name.data, limiter_algorithm_name(limit->algorithm),
               tally->counters);
    if (tally->counters > 0) {
        buf_append_text(out, ", changed from ");
        text_append_time(out, tally->oldest_ns);
        buf_append_text(out, " to ");
        text_append_time(out, tally->newest_ns);
    }
    buf_append_byte(out, '\n');
}

static void append_text(const struct state_show *show, struct buf *out)
{
    const struct load *load = &show->load;
    buf_printf(out, "%s: %s, %" PRIu64 " counters, %" PRIu64 " bytes\n", show->dir.path,
               load->sealed ? "sealed by a clean stop" : "not sealed (running, or crashed)",
               show->counters, bytes_of(show));
    if (load->dropped_bytes > 0) {
        buf_printf(out, "unfinished: the last %" PRIu64 " bytes do not count\n",
                   load->dropped_bytes);
    }
    for (uint32_t i = 0; i < load->file_count; i++) {
        append_file(&load->files[i], out);
    }
    for (uint32_t i = 0; i < show->set->limit_count; i++) {
        append_limit(&show->set->limits[i], &show->limits[i], out);
    }
    const struct state_show_limit *others = &show->limits[show->set->limit_count];
    if (others->counters > 0) {
        buf_printf(out, "other: %" PRIu64 " counters of requests with numbers of their own\n",
                   others->counters);
    }
}

static void append_key(struct state_show *show, struct slice key, struct buf *out)
{
    for (uint32_t i = 0; i < show->set->limit_count; i++) {
        const struct policy_limit *limit = &show->set->limits[i];
        struct store_item item;
        buf_printf(out, "key in %.*s: ", (int)limit->name.size, (const char *)limit->name.data);
        if (!state_show_find(show, limit, key, &item)) {
            buf_append_text(out, "it counts by more than the key\n");
        } else if (!item.exists) {
            buf_append_text(out, "never used\n");
        } else {
            buf_printf(out, "%" PRIu64 " of %" PRIu64 " remain, as if never used in ",
                       item.report.remaining, item.policy->burst);
            text_append_seconds(out, item.report.reset_after_ns);
            buf_append_byte(out, '\n');
        }
    }
}

/* ---- JSON ---- */

static void append_json_files(const struct load *load, struct buf *out)
{
    char name[STATE_DIR_NAME_BYTES];
    buf_append_text(out, ",\"files\":[");
    for (uint32_t i = 0; i < load->file_count; i++) {
        const struct load_file *file = &load->files[i];
        state_dir_name(file->kind, file->number, name);
        buf_printf(out, "%s{\"name\":\"%s\",\"bytes\":%zu,\"begun_ns\":%" PRId64 "}",
                   i == 0 ? "" : ",", name, file->size, file->header.created_ns);
    }
    buf_append_byte(out, ']');
}

static void append_json_key(struct state_show *show, const struct policy_limit *limit,
                            struct slice key, struct buf *out)
{
    struct store_item item;
    if (!state_show_find(show, limit, key, &item)) {
        buf_append_text(out, ",\"key\":null");
        return;
    }
    buf_printf(out,
               ",\"key\":{\"used\":%s,\"limit\":%" PRIu64 ",\"remaining\":%" PRIu64
               ",\"reset_after_ns\":%" PRId64 "}",
               item.exists ? "true" : "false", item.policy->burst, item.report.remaining,
               item.report.reset_after_ns);
}

static void append_json(struct state_show *show, const char *key, struct buf *out)
{
    const struct load *load = &show->load;
    buf_append_text(out, "{\"state\":");
    text_append_json_string(out, slice_text(show->dir.path));
    buf_printf(out,
               ",\"format\":%u,\"sealed\":%s,\"counters\":%" PRIu64 ",\"bytes\":%" PRIu64
               ",\"unfinished_bytes\":%" PRIu64,
               FORMAT_VERSION, load->sealed ? "true" : "false", show->counters, bytes_of(show),
               load->dropped_bytes);
    append_json_files(load, out);
    buf_append_text(out, ",\"limits\":[");
    for (uint32_t i = 0; i < show->set->limit_count; i++) {
        const struct policy_limit *limit = &show->set->limits[i];
        const struct state_show_limit *tally = &show->limits[i];
        buf_append_text(out, i == 0 ? "{\"name\":" : ",{\"name\":");
        text_append_json_string(out, limit->name);
        buf_printf(out, ",\"algorithm\":\"%s\",\"counters\":%" PRIu64,
                   limiter_algorithm_name(limit->algorithm), tally->counters);
        if (tally->counters > 0) {
            buf_printf(out, ",\"oldest_change_ns\":%" PRId64 ",\"newest_change_ns\":%" PRId64,
                       tally->oldest_ns, tally->newest_ns);
        }
        if (key != NULL) {
            append_json_key(show, limit, slice_text(key), out);
        }
        buf_append_byte(out, '}');
    }
    buf_printf(out, "],\"other_counters\":%" PRIu64 "}\n",
               show->limits[show->set->limit_count].counters);
}

static int show_one(const char *path, bool json, const char *key)
{
    struct state_show show;
    struct buf out;
    int code = CMD_FAILED;
    buf_init(&out, 0);
    if (!state_show_open(&show, path, &out)) {
        code = cmd_failed(&cmd_state_options, "%.*s", (int)out.size,
                          out.data == NULL ? "" : (const char *)out.data + out.start);
    } else {
        if (json) {
            append_json(&show, key, &out);
        } else {
            append_text(&show, &out);
            if (key != NULL) {
                append_key(&show, slice_text(key), &out);
            }
        }
        code = cmd_write(&cmd_state_options, &out);
    }
    state_show_close(&show);
    buf_deinit(&out);
    return code;
}

int cmd_state(int argc, char **argv)
{
    struct options_parsed parsed;
    int code;
    if (!cmd_parse(&cmd_state_options, argc, argv, &parsed, &code)) {
        return code;
    }
    code = CMD_DONE;
    if (parsed.argument_count == 0) {
        code = cmd_misused(&cmd_state_options, "a state directory is missing");
    }
    for (uint32_t i = 0; i < parsed.argument_count; i++) {
        int one = show_one(parsed.arguments[i], options_has(&parsed, "json"),
                           options_last(&parsed, "key"));
        code = one != CMD_DONE ? one : code;
    }
    options_parsed_deinit(&parsed);
    return code;
}
