#include "traffic.h"

#include "base/limits.h"
#include "base/text.h"
#include "traffic_csv.h"
#include "traffic_json.h"
#include "traffic_lines.h"
#include "traffic_log.h"
#include "traffic_sorted.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

struct traffic {
    const char *name; /* in complaints: the path as given, or "-" */
    enum traffic_format format;
    FILE *complaints;
    struct traffic_lines lines;
    struct traffic_json json;
    struct traffic_csv csv;
    struct traffic_log log;
    struct traffic_sorted sorted;
    bool is_sorted; /* the log has been read to its end */
    uint64_t unreadable;
    uint64_t bytes_total;
    struct buf why;
};

static const char *const format_names[] = {
    [TRAFFIC_DETECT] = "none",         [TRAFFIC_NDJSON] = "ndjson", [TRAFFIC_CSV] = "csv",
    [TRAFFIC_COMBINED] = "combined",   [TRAFFIC_COMMON] = "common",
};

const char *traffic_format_name(enum traffic_format format)
{
    return format_names[format];
}

bool traffic_parse_format(const char *text, enum traffic_format *out)
{
    for (int format = TRAFFIC_NDJSON; format <= TRAFFIC_COMMON; format++) {
        if (strcmp(text, format_names[format]) == 0) {
            *out = (enum traffic_format)format;
            return true;
        }
    }
    return false;
}

static bool is_log(enum traffic_format format)
{
    return format == TRAFFIC_COMBINED || format == TRAFFIC_COMMON;
}

static struct slice first_line(struct slice *rest)
{
    const uint8_t *end = memchr(rest->data, '\n', rest->size);
    size_t size = end == NULL ? rest->size : (size_t)(end - rest->data);
    struct slice line = slice_make(rest->data, size);
    size_t used = end == NULL ? size : size + 1;
    *rest = slice_make(rest->data + used, rest->size - used);
    if (line.size > 0 && line.data[line.size - 1] == '\r') {
        line.size--;
    }
    return line;
}

static bool is_blank(struct slice line)
{
    for (size_t i = 0; i < line.size; i++) {
        if (line.data[i] != ' ' && line.data[i] != '\t') {
            return false;
        }
    }
    return true;
}

/* What the file seems to be, by the first of its first lines that looks like anything: one that
 * cannot be read must not hide the rest. An empty file is any format: it holds no request. */
static enum traffic_format detect(struct slice head)
{
    bool first = true;
    while (head.size > 0) {
        struct slice line = first_line(&head);
        bool combined;
        if (is_blank(line)) {
            continue;
        }
        if (line.data[0] == '{') {
            return TRAFFIC_NDJSON;
        }
        if (first && traffic_csv_is_header(line)) {
            return TRAFFIC_CSV;
        }
        if (traffic_log_detect(line, &combined)) {
            return combined ? TRAFFIC_COMBINED : TRAFFIC_COMMON;
        }
        first = false;
    }
    return first ? TRAFFIC_NDJSON : TRAFFIC_DETECT;
}

/* The first line of a CSV file that is not empty. */
static bool read_header(struct traffic *traffic, struct buf *message)
{
    struct slice line;
    enum traffic_lines_result result;
    do {
        result = traffic_lines_next(&traffic->lines, &line);
    } while (result == TRAFFIC_LINES_LINE && is_blank(line));
    if (result == TRAFFIC_LINES_END) {
        return true; /* no header, no requests */
    }
    buf_printf(message, "%s:%llu: ", traffic->name, (unsigned long long)traffic->lines.number);
    if (result != TRAFFIC_LINES_LINE) {
        buf_printf(message, "the header cannot be read: %s",
                   result == TRAFFIC_LINES_FAILED ? strerror(errno) : "the line is too long");
        return false;
    }
    if (!traffic_csv_header(&traffic->csv, line, message)) {
        return false;
    }
    buf_clear(message);
    return true;
}

static bool settle_format(struct traffic *traffic, const struct traffic_options *options,
                          struct buf *message)
{
    struct slice head;
    if (!traffic_lines_peek(&traffic->lines, &head)) {
        buf_printf(message, "%s: cannot be read: %s", traffic->name, strerror(errno));
        return false;
    }
    traffic->format = options->format == TRAFFIC_DETECT ? detect(head) : options->format;
    if (traffic->format == TRAFFIC_DETECT) {
        buf_printf(message,
                   "%s: no line says what it is, expected ndjson, csv (with a header line), or "
                   "an access log; name it with --format",
                   traffic->name);
        return false;
    }
    if (traffic->format == TRAFFIC_COMMON && options->key == TRAFFIC_USER_AGENT) {
        buf_printf(message, "%s: the common log format has no user agent, expected combined",
                   traffic->name);
        return false;
    }
    traffic_log_init(&traffic->log, options, traffic->format == TRAFFIC_COMBINED);
    return traffic->format != TRAFFIC_CSV || read_header(traffic, message);
}

struct traffic *traffic_open(const struct traffic_options *options, struct buf *message)
{
    struct traffic *traffic = calloc(1, sizeof(*traffic));
    if (traffic == NULL) {
        buf_append_text(message, "out of memory");
        return NULL;
    }
    traffic->name = options->path == NULL ? "-" : options->path;
    traffic->complaints = options->complaints;
    traffic_json_init(&traffic->json);
    traffic_csv_init(&traffic->csv);
    traffic_sorted_init(&traffic->sorted);
    buf_init(&traffic->why, 0);
    struct stat about;
    if (!traffic_lines_open(&traffic->lines, options->path)) {
        buf_printf(message, "%s: cannot be opened: %s", traffic->name, strerror(errno));
        traffic_close(&traffic);
        return NULL;
    }
    if (fstat(traffic->lines.fd, &about) == 0 && S_ISREG(about.st_mode)) {
        traffic->bytes_total = (uint64_t)about.st_size;
    }
    if (!settle_format(traffic, options, message)) {
        traffic_close(&traffic);
    }
    return traffic;
}

void traffic_close(struct traffic **traffic)
{
    if (*traffic == NULL) {
        return;
    }
    traffic_lines_close(&(*traffic)->lines);
    traffic_json_deinit(&(*traffic)->json);
    traffic_csv_deinit(&(*traffic)->csv);
    traffic_log_deinit(&(*traffic)->log);
    traffic_sorted_deinit(&(*traffic)->sorted);
    buf_deinit(&(*traffic)->why);
    free(*traffic);
    *traffic = NULL;
}

static void complain(struct traffic *traffic)
{
    struct slice why = buf_slice(&traffic->why);
    traffic->unreadable++;
    if (traffic->complaints != NULL) {
        (void)fprintf(traffic->complaints, "%s:%llu: %.*s\n", traffic->name,
                      (unsigned long long)traffic->lines.number, (int)why.size,
                      (const char *)why.data);
    }
}

static bool parse(struct traffic *traffic, struct slice line, struct traffic_item *item)
{
    *item = (struct traffic_item){.line = traffic->lines.number};
    switch (traffic->format) {
    case TRAFFIC_CSV:
        return traffic_csv_parse(&traffic->csv, line, item, &traffic->why);
    case TRAFFIC_COMBINED:
    case TRAFFIC_COMMON:
        return traffic_log_parse(&traffic->log, line, item, &traffic->why);
    case TRAFFIC_NDJSON:
    case TRAFFIC_DETECT:
        break;
    }
    return traffic_json_parse(&traffic->json, line, item, &traffic->why);
}

/* The next line that can be read, in the order of the file. */
static enum traffic_result next_line(struct traffic *traffic, struct traffic_item *item,
                                     struct buf *message)
{
    for (;;) {
        struct slice line;
        buf_clear(&traffic->why);
        switch (traffic_lines_next(&traffic->lines, &line)) {
        case TRAFFIC_LINES_END:
            return TRAFFIC_END;
        case TRAFFIC_LINES_FAILED:
            buf_printf(message, "%s:%llu: cannot be read any further: %s", traffic->name,
                       (unsigned long long)traffic->lines.number + 1, strerror(errno));
            return TRAFFIC_FAILED;
        case TRAFFIC_LINES_TOO_LONG:
            buf_printf(&traffic->why, "the line is too long, expected at most %u bytes",
                       LIMITS_TRAFFIC_LINE_BYTES_MAX);
            complain(traffic);
            break;
        case TRAFFIC_LINES_LINE:
            if (is_blank(line)) {
                break;
            }
            if (parse(traffic, line, item)) {
                return TRAFFIC_ITEM;
            }
            complain(traffic);
            break;
        }
    }
}

/* Reads the log to its end and sorts it. */
static enum traffic_result read_log(struct traffic *traffic, struct buf *message)
{
    struct traffic_item item;
    enum traffic_result result;
    while ((result = next_line(traffic, &item, message)) == TRAFFIC_ITEM) {
        if (!traffic_sorted_add(&traffic->sorted, &item)) {
            buf_printf(message,
                       "%s:%llu: out of memory; an access log is sorted by time and has to fit "
                       "there whole",
                       traffic->name, (unsigned long long)item.line);
            return TRAFFIC_FAILED;
        }
    }
    traffic_sorted_arrange(&traffic->sorted);
    traffic->is_sorted = true;
    return result;
}

enum traffic_result traffic_next(struct traffic *traffic, struct traffic_item *item,
                                 struct buf *message)
{
    if (!is_log(traffic->format)) {
        return next_line(traffic, item, message);
    }
    if (!traffic->is_sorted && read_log(traffic, message) == TRAFFIC_FAILED) {
        return TRAFFIC_FAILED;
    }
    return traffic_sorted_next(&traffic->sorted, item) ? TRAFFIC_ITEM : TRAFFIC_END;
}

uint64_t traffic_unreadable(const struct traffic *traffic)
{
    return traffic->unreadable;
}

uint64_t traffic_bytes_read(const struct traffic *traffic)
{
    return traffic->lines.bytes_read;
}

uint64_t traffic_bytes_total(const struct traffic *traffic)
{
    return traffic->bytes_total;
}

enum traffic_format traffic_format_used(const struct traffic *traffic)
{
    return traffic->format;
}
