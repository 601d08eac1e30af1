/* Small self-contained SVG charts: one picture, one or more panels below each other, each with
 * axes, grid, legend and series. No script, no font, no file beside it; readable on light and dark
 * backgrounds because it brings its own. */
#ifndef SVG_H
#define SVG_H

#include "base/buf.h"

struct svg_point {
    double x;
    double y;
};

enum svg_style {
    SVG_LINE, /* a polyline through the points */
    SVG_STEP, /* a staircase: each value holds until the next x */
    SVG_AREA  /* a staircase filled down to the axis */
};

struct svg_series {
    const char *name; /* in the legend; NULL: not there */
    const struct svg_point *points; /* x rising */
    size_t count;
    enum svg_style style;
};

/* A mark on an axis in the caller's own words. */
struct svg_tick {
    double at;
    const char *label;
};

struct svg_panel {
    const char *title;
    const char *x_label;
    const char *y_label;
    const struct svg_series *series; /* drawn in order; colours follow the order */
    size_t series_count;
    const struct svg_tick *x_ticks; /* NULL: round numbers are chosen */
    size_t x_tick_count;
    bool y_log; /* logarithmic y; values below y = 1 sit on the axis */
};

/* Appends a whole picture. Check out->failed. Titles and names may be any bytes. */
void svg_chart(struct buf *out, const char *title, const char *subtitle,
               const struct svg_panel *panels, size_t panel_count);

#endif
