#include "traffic_csv.h"

#include "base/limits.h"
#include "base/text.h"
#include "traffic_fields.h"

#include <stdlib.h>

enum column {
    COLUMN_T_NS,
    COLUMN_TIME,
    COLUMN_OP,
    COLUMN_KEY,
    COLUMN_KEY_BASE64,
    COLUMN_ROUTE,
    COLUMN_COST,
    COLUMN_LEASE_ID,
    COLUMN_LIMITS_FILE,
    COLUMN_LIMITS,
    COLUMN_ATTRIBUTE
};

static const char *const column_names[] = {
    "t_ns", "time",     "op",          "key",    "key_base64", "route",
    "cost", "lease_id", "limits_file", "limits", NULL,
};

struct traffic_csv_column {
    enum column kind;
    size_t name; /* of an attribute: where in csv->names */
    size_t name_size;
};

/* One cell, unquoted into csv->cell. */
struct cell {
    struct slice text;
    bool quoted;
};

void traffic_csv_init(struct traffic_csv *csv)
{
    *csv = (struct traffic_csv){.columns = NULL};
    buf_init(&csv->names, 0);
    buf_init(&csv->cell, 0);
    buf_init(&csv->bytes, 0);
}

void traffic_csv_deinit(struct traffic_csv *csv)
{
    free(csv->columns);
    csv->columns = NULL;
    buf_deinit(&csv->names);
    buf_deinit(&csv->cell);
    buf_deinit(&csv->bytes);
}

/* The quoted cell that starts at *at (on its quote); *at is left behind it. The bytes go to *out,
 * whose memory was reserved for the whole line, so earlier cells stay where they are. */
static bool take_quoted(struct slice line, size_t *at, struct buf *out, struct cell *cell,
                        struct buf *why)
{
    size_t first = out->size;
    size_t i = *at + 1;
    for (;; i++) {
        if (i >= line.size) {
            buf_append_text(why, "a quoted field does not end, expected a closing quote");
            return false;
        }
        if (line.data[i] == '"') {
            if (i + 1 >= line.size || line.data[i + 1] != '"') {
                break;
            }
            i++;
        }
        buf_append_byte(out, line.data[i]);
    }
    if (i + 1 < line.size && line.data[i + 1] != ',') {
        buf_append_text(why, "text behind a closing quote, expected a comma");
        return false;
    }
    *cell = (struct cell){.quoted = true,
                          .text = slice_make(out->data + out->start + first, out->size - first)};
    *at = i + 1;
    return true;
}

/* The cell at *at; *at is left on the comma behind it or at the end. */
static bool take_cell(struct slice line, size_t *at, struct buf *out, struct cell *cell,
                      struct buf *why)
{
    if (*at < line.size && line.data[*at] == '"') {
        return take_quoted(line, at, out, cell, why);
    }
    size_t rest = line.size - *at;
    const uint8_t *comma = rest > 0 ? memchr(line.data + *at, ',', rest) : NULL;
    size_t size = comma == NULL ? rest : (size_t)(comma - (line.data + *at));
    *cell = (struct cell){.text = slice_make(line.data + *at, size)};
    *at += size;
    return true;
}

bool traffic_csv_is_header(struct slice line)
{
    static const char *const times[] = {"t_ns", "time", "\"t_ns\"", "\"time\""};
    size_t at = 0;
    while (at <= line.size) {
        const uint8_t *comma =
            at < line.size ? memchr(line.data + at, ',', line.size - at) : NULL;
        size_t end = comma == NULL ? line.size : (size_t)(comma - line.data);
        struct slice name = slice_make(line.data + at, end - at);
        for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
            if (slice_equal_text(name, times[i])) {
                return true;
            }
        }
        at = end + 1;
    }
    return false;
}

static bool unknown_column(struct slice name, struct buf *why)
{
    buf_append_text(why, "unknown column ");
    traffic_fields_quote(why, name);
    const char *near = text_nearest(name, column_names);
    if (near != NULL) {
        buf_printf(why, "; did you mean \"%s\"?", near);
        return false;
    }
    buf_append_text(why, ", expected");
    for (size_t i = 0; column_names[i] != NULL; i++) {
        buf_printf(why, " %s,", column_names[i]);
    }
    buf_append_text(why, " or attribute.NAME");
    return false;
}

static bool parse_column(struct traffic_csv *csv, struct slice name,
                         struct traffic_csv_column *column, struct buf *why)
{
    static const char prefix[] = "attribute.";
    size_t prefix_size = sizeof(prefix) - 1;
    if (name.size > prefix_size && memcmp(name.data, prefix, prefix_size) == 0) {
        struct slice attribute = slice_make(name.data + prefix_size, name.size - prefix_size);
        *column = (struct traffic_csv_column){
            .kind = COLUMN_ATTRIBUTE, .name = csv->names.size, .name_size = attribute.size};
        buf_append_slice(&csv->names, attribute);
        return true;
    }
    for (int i = 0; column_names[i] != NULL; i++) {
        if (slice_equal_text(name, column_names[i])) {
            *column = (struct traffic_csv_column){.kind = (enum column)i};
            return true;
        }
    }
    return unknown_column(name, why);
}

static struct slice column_name(const struct traffic_csv *csv,
                                const struct traffic_csv_column *column)
{
    return slice_make(csv->names.data + csv->names.start + column->name, column->name_size);
}

static bool is_duplicate(const struct traffic_csv *csv, const struct traffic_csv_column *column)
{
    for (size_t i = 0; i < csv->column_count; i++) {
        const struct traffic_csv_column *other = &csv->columns[i];
        if (other->kind == column->kind &&
            (column->kind != COLUMN_ATTRIBUTE ||
             slice_equal(column_name(csv, other), column_name(csv, column)))) {
            return true;
        }
    }
    return false;
}

static bool add_column(struct traffic_csv *csv, struct slice name, struct buf *why)
{
    struct traffic_csv_column column;
    if (!parse_column(csv, name, &column, why)) {
        return false;
    }
    if (is_duplicate(csv, &column)) {
        buf_append_text(why, "column ");
        traffic_fields_quote(why, name);
        buf_append_text(why, " comes twice, expected it once");
        return false;
    }
    if (csv->column_count == csv->column_capacity) {
        size_t capacity = csv->column_capacity == 0 ? 16 : csv->column_capacity * 2;
        struct traffic_csv_column *columns =
            realloc(csv->columns, capacity * sizeof(*columns));
        if (columns == NULL) {
            buf_append_text(why, "out of memory");
            return false;
        }
        csv->columns = columns;
        csv->column_capacity = capacity;
    }
    csv->columns[csv->column_count++] = column;
    return true;
}

static bool has_column(const struct traffic_csv *csv, enum column kind)
{
    for (size_t i = 0; i < csv->column_count; i++) {
        if (csv->columns[i].kind == kind) {
            return true;
        }
    }
    return false;
}

/* Makes room for the bytes of any cell of the line. */
static bool prepare_cells(struct traffic_csv *csv, struct slice line, struct buf *why)
{
    buf_clear(&csv->cell);
    buf_clear(&csv->bytes);
    if (buf_reserve(&csv->cell, line.size + 1) == NULL) {
        buf_append_text(why, "out of memory");
        return false;
    }
    return true;
}

bool traffic_csv_header(struct traffic_csv *csv, struct slice line, struct buf *why)
{
    if (!prepare_cells(csv, line, why)) {
        return false;
    }
    size_t at = 0;
    for (;;) {
        struct cell cell;
        if (!take_cell(line, &at, &csv->cell, &cell, why) || !add_column(csv, cell.text, why)) {
            return false;
        }
        if (at >= line.size) {
            break;
        }
        at++;
    }
    if (has_column(csv, COLUMN_T_NS) == has_column(csv, COLUMN_TIME)) {
        buf_append_text(why, "the header names both or neither of t_ns and time, expected one");
        return false;
    }
    return true;
}

static bool take_key(struct traffic_item *item, struct slice key, struct buf *why)
{
    if (item->request.key.data != NULL) {
        buf_append_text(why, "both key and key_base64 are there, expected one of them");
        return false;
    }
    item->request.key = key;
    return true;
}

static bool take_value(struct traffic_csv *csv, const struct traffic_csv_column *column,
                       struct slice text, struct traffic_item *item, struct buf *why)
{
    switch (column->kind) {
    case COLUMN_T_NS:
        return traffic_fields_t_ns(text, &item->t_ns, why);
    case COLUMN_TIME:
        return traffic_fields_time(text, &item->t_ns, why);
    case COLUMN_OP:
        return traffic_fields_op(text, &item->op, why);
    case COLUMN_KEY:
        item->request.utf8 = true;
        return take_key(item, text, why);
    case COLUMN_KEY_BASE64:
        return traffic_fields_base64(text, &csv->bytes, why) &&
               take_key(item, buf_slice(&csv->bytes), why);
    case COLUMN_ROUTE:
        item->request.route = text;
        break;
    case COLUMN_COST:
        return traffic_fields_cost(text, &item->request, why);
    case COLUMN_LEASE_ID:
        item->lease_id = text;
        break;
    case COLUMN_LIMITS_FILE:
        item->has_limits_file = true;
        item->limits_file = text;
        break;
    case COLUMN_LIMITS:
        item->has_limits = true;
        item->limits = text;
        break;
    case COLUMN_ATTRIBUTE:
        traffic_fields_attribute(&item->request, column_name(csv, column), text);
        break;
    }
    return true;
}

static bool wrong_width(const struct traffic_csv *csv, const char *than, struct buf *why)
{
    buf_printf(why, "%s fields than the header has, expected %zu", than, csv->column_count);
    return false;
}

bool traffic_csv_parse(struct traffic_csv *csv, struct slice line, struct traffic_item *item,
                       struct buf *why)
{
    if (!prepare_cells(csv, line, why)) {
        return false;
    }
    bool has_time = false;
    size_t at = 0;
    for (size_t i = 0; i < csv->column_count; i++) {
        struct cell cell;
        if (i > 0 && (at >= line.size || line.data[at++] != ',')) {
            return wrong_width(csv, "fewer", why);
        }
        if (!take_cell(line, &at, &csv->cell, &cell, why)) {
            return false;
        }
        const struct traffic_csv_column *column = &csv->columns[i];
        if (cell.text.size == 0 && !cell.quoted) {
            continue;
        }
        if (!take_value(csv, column, cell.text, item, why)) {
            return false;
        }
        has_time = has_time || column->kind == COLUMN_T_NS || column->kind == COLUMN_TIME;
    }
    if (at < line.size) {
        return wrong_width(csv, "more", why);
    }
    if (!has_time) {
        buf_append_text(why, "no time, expected t_ns or time");
        return false;
    }
    return traffic_fields_check(item, why);
}
