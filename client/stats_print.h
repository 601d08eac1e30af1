/* The metrics of a daemon as `sluice stats` shows them: read from Prometheus' text format, written
 * as JSON, or beside what they were a moment ago. */
#ifndef STATS_PRINT_H
#define STATS_PRINT_H

#include "base/buf.h"

/* One line: an array of {"name","type","labels","value"}, in the order of the text. */
void stats_print_json(struct buf *out, struct slice text);

/* One line a sample, without the comments: the sample, then by how much it has grown or shrunk
 * since `before` (another such text; empty: nothing is known). */
void stats_print_changes(struct buf *out, struct slice text, struct slice before);

#endif
