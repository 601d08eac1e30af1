#include "simulate_table.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)
#define DAY_NS (86400 * NS_PER_S)

void simulate_table_init(struct simulate_table *table, const char *alignment)
{
    *table = (struct simulate_table){.columns = (unsigned)strlen(alignment),
                                     .alignment = alignment};
    buf_init(&table->text, 0);
}

void simulate_table_deinit(struct simulate_table *table)
{
    buf_deinit(&table->text);
}

/* Characters of UTF-8: bytes that do not continue one. */
static unsigned characters(const char *text)
{
    unsigned count = 0;
    for (; *text != '\0'; text++) {
        count += ((unsigned char)*text & 0xC0) != 0x80;
    }
    return count;
}

/* The bytes from `first` on are a cell. */
static void end_cell(struct simulate_table *table, size_t first)
{
    buf_append_byte(&table->text, 0);
    if (table->text.failed) {
        return;
    }
    unsigned width = characters((const char *)table->text.data + table->text.start + first);
    unsigned *widest = &table->widths[table->cells % table->columns];
    *widest = width > *widest ? width : *widest;
    table->cells++;
}

void simulate_table_cell(struct simulate_table *table, const char *format, ...)
{
    size_t first = table->text.size;
    va_list args;
    va_start(args, format);
    buf_vprintf(&table->text, format, args);
    va_end(args);
    end_cell(table, first);
}

void simulate_table_append_count(struct buf *out, uint64_t value)
{
    char digits[24];
    int size = snprintf(digits, sizeof(digits), "%" PRIu64, value);
    for (int i = 0; i < size; i++) {
        if (i > 0 && (size - i) % 3 == 0) {
            buf_append_byte(out, ',');
        }
        buf_append_byte(out, (uint8_t)digits[i]);
    }
}

void simulate_table_count(struct simulate_table *table, const char *before, uint64_t value)
{
    size_t first = table->text.size;
    buf_append_text(&table->text, before);
    simulate_table_append_count(&table->text, value);
    end_cell(table, first);
}

void simulate_table_share(struct simulate_table *table, uint64_t part, uint64_t whole)
{
    if (whole == 0) {
        simulate_table_cell(table, "-");
        return;
    }
    simulate_table_cell(table, "%.1f %%", (double)part * 100.0 / (double)whole);
}

/* What a duration of that size is told in. */
static int64_t duration_unit(int64_t ns)
{
    static const int64_t units[][2] = {{7 * DAY_NS, 3600 * NS_PER_S},
                                       {DAY_NS, 60 * NS_PER_S},
                                       {NS_PER_S, NS_PER_S},
                                       {NS_PER_MS, NS_PER_MS}};
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (ns >= units[i][0]) {
            return units[i][1];
        }
    }
    return 1;
}

void simulate_table_append_duration(struct buf *out, int64_t ns)
{
    int64_t unit = duration_unit(ns);
    if (ns > INT64_MAX - unit) {
        buf_append_text(out, "292 years");
        return;
    }
    text_append_duration(out, (ns + unit - 1) / unit * unit);
}

void simulate_table_duration(struct simulate_table *table, int64_t ns, const char *after)
{
    size_t first = table->text.size;
    if (ns < 0) {
        buf_append_text(&table->text, *after == '\0' ? "-" : "");
    } else {
        simulate_table_append_duration(&table->text, ns);
    }
    buf_append_text(&table->text, after);
    end_cell(table, first);
}

static void append_padded(struct buf *out, const char *text, unsigned width, bool right,
                          bool last)
{
    unsigned pad = width - characters(text);
    for (unsigned i = 0; right && i < pad; i++) {
        buf_append_byte(out, ' ');
    }
    buf_append_text(out, text);
    for (unsigned i = 0; !right && !last && i < pad; i++) {
        buf_append_byte(out, ' ');
    }
}

void simulate_table_append(const struct simulate_table *table, const char *indent, const char *on,
                           const char *off, struct buf *out)
{
    if (table->text.failed || table->cells == 0) {
        out->failed = out->failed || table->text.failed;
        return;
    }
    const char *cell = (const char *)table->text.data + table->text.start;
    for (size_t i = 0; i < table->cells; i++) {
        unsigned column = (unsigned)(i % table->columns);
        bool last = column + 1 == table->columns;
        if (column == 0) {
            buf_append_text(out, indent);
            buf_append_text(out, i == 0 ? on : "");
        }
        if (*cell != '\0' || !last) { /* no blanks at the end of a line */
            buf_append_text(out, column > 0 ? "  " : "");
            append_padded(out, cell, table->widths[column], table->alignment[column] == 'r', last);
        }
        if (last) {
            buf_append_text(out, i < table->columns ? off : "");
            buf_append_byte(out, '\n');
        }
        cell += strlen(cell) + 1;
    }
}
