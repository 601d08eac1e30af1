/* CSV traffic: a header line with the members' names, then one request a line. Fields may stand
 * in quotes (RFC 4180), but a record is one line. An empty cell is an absent member; "" in quotes
 * is an empty value. */
#ifndef TRAFFIC_CSV_H
#define TRAFFIC_CSV_H

#include "traffic.h"

struct traffic_csv_column;

struct traffic_csv {
    struct traffic_csv_column *columns;
    size_t column_count;
    size_t column_capacity;
    struct buf names; /* of the header's attributes */
    struct buf cell;  /* the unquoted cells of the latest line, one after the other */
    struct buf bytes; /* the key that was sent as base64 */
};

void traffic_csv_init(struct traffic_csv *csv);
void traffic_csv_deinit(struct traffic_csv *csv);

/* Could this be a header: does it name t_ns or time as one of its columns? */
bool traffic_csv_is_header(struct slice line);

/* False: *why says what is wrong with it. */
bool traffic_csv_header(struct traffic_csv *csv, struct slice line, struct buf *why);

/* *item holds until the next call. */
bool traffic_csv_parse(struct traffic_csv *csv, struct slice line, struct traffic_item *item,
                       struct buf *why);

#endif
