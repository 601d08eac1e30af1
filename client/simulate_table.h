/* Cells in aligned columns: numbers to the right, words to the left, widths counted in characters
 * rather than bytes. */
#ifndef SIMULATE_TABLE_H
#define SIMULATE_TABLE_H

#include "base/buf.h"

#define SIMULATE_TABLE_COLUMNS 8

struct simulate_table {
    unsigned columns;
    const char *alignment; /* a letter a column: l or r */
    struct buf text;       /* the cells, each ended by a NUL */
    size_t cells;
    unsigned widths[SIMULATE_TABLE_COLUMNS];
};

void simulate_table_init(struct simulate_table *table, const char *alignment);
void simulate_table_deinit(struct simulate_table *table);

void simulate_table_cell(struct simulate_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* 1234567 as 1,234,567 behind `before`, which says what is uncertain about it ("", "about "). */
void simulate_table_count(struct simulate_table *table, const char *before, uint64_t value);
/* part of whole, in percent with one decimal; "-" of nothing. */
void simulate_table_share(struct simulate_table *table, uint64_t part, uint64_t whole);
/* A duration, rounded up to what people read; "-" where negative. */
void simulate_table_duration(struct simulate_table *table, int64_t ns, const char *after);

/* Appends the rows, each behind `indent`; the first between `on` and `off` (colours). */
void simulate_table_append(const struct simulate_table *table, const char *indent, const char *on,
                           const char *off, struct buf *out);

/* The same numbers outside a table. */
void simulate_table_append_count(struct buf *out, uint64_t value);
void simulate_table_append_duration(struct buf *out, int64_t ns);

#endif
