/* The first panel has what was allowed and, in front of it, what was refused; the second a line for
 * each of the limits that refuse most. */
#include "simulate_chart.h"

#include "base/text.h"
#include "simulate_table.h"
#include "svg.h"

#include <stdlib.h>

#define BINS_MOST ((size_t)300)
#define LIMITS_SHOWN ((size_t)6)
#define TICKS_MOST ((size_t)9)
#define TICK_BYTES ((size_t)32)
#define NS_PER_S 1e9

/* What a picture is drawn from. */
struct drawing {
    struct svg_point *points; /* one run of `count` for each series */
    size_t count;             /* points a series: one a bin, and one that ends the last */
    double width_s;
    double first_s; /* bin 0, in seconds since the epoch */
    struct svg_tick ticks[TICKS_MOST];
    char labels[TICKS_MOST][TICK_BYTES];
    size_t tick_count;
};

static const struct svg_point *points_of(struct drawing *drawing, size_t run,
                                         const struct simulate_series *series)
{
    struct svg_point *points = drawing->points + run * drawing->count;
    for (size_t i = 0; i + 1 < drawing->count; i++) {
        points[i] = (struct svg_point){.x = drawing->first_s + (double)i * drawing->width_s,
                                       .y = (double)series->bins[i]};
    }
    points[drawing->count - 1] = (struct svg_point){
        .x = drawing->first_s + (double)(drawing->count - 1) * drawing->width_s,
        .y = drawing->count > 1 ? points[drawing->count - 2].y : 0};
    return points;
}

/* "05-17 10:05", "10:05:03" or "10:05:03.250": what tells one tick from the next. */
static void label_tick(char *out, int64_t at_ns, double span_s)
{
    struct buf text;
    buf_init(&text, 0);
    text_append_time(&text, at_ns);
    buf_append_byte(&text, 0);
    const char *iso = text.failed ? "" : (const char *)text.data + text.start;
    out[0] = '\0';
    if (strlen(iso) >= 20 && span_s >= 2 * 86400.0) {
        (void)snprintf(out, TICK_BYTES, "%.5s %.5s", iso + 5, iso + 11);
    } else if (strlen(iso) >= 20 && span_s >= 600.0) {
        (void)snprintf(out, TICK_BYTES, "%.5s", iso + 11);
    } else if (strlen(iso) >= 20) {
        size_t size = strlen(iso + 11) - 1;
        (void)snprintf(out, TICK_BYTES, "%.*s", (int)(size > 12 ? 12 : size), iso + 11);
    }
    buf_deinit(&text);
}

/* Ticks at whole multiples of a step that people know, at most TICKS_MOST. */
static void place_ticks(struct drawing *drawing)
{
    static const double steps_s[] = {0.001, 0.01, 0.1,   1,     5,     15,     60,      300,
                                     900,   3600, 10800, 21600, 43200, 86400, 604800, 2419200,
                                     31449600, 314496000};
    double span_s = drawing->width_s * (double)(drawing->count - 1);
    size_t s = 0;
    while (s + 1 < sizeof(steps_s) / sizeof(steps_s[0]) &&
           span_s / steps_s[s] > (double)TICKS_MOST - 1) {
        s++;
    }
    int64_t step_ns = (int64_t)(steps_s[s] * NS_PER_S);
    int64_t first_ns = (int64_t)(drawing->first_s * NS_PER_S);
    int64_t at_ns = first_ns / step_ns * step_ns;
    at_ns += at_ns < first_ns ? step_ns : 0;
    double end_s = drawing->first_s + span_s;
    while (drawing->tick_count < TICKS_MOST && (double)at_ns / NS_PER_S <= end_s) {
        size_t i = drawing->tick_count++;
        label_tick(drawing->labels[i], at_ns, span_s);
        drawing->ticks[i] =
            (struct svg_tick){.at = (double)at_ns / NS_PER_S, .label = drawing->labels[i]};
        if (__builtin_add_overflow(at_ns, step_ns, &at_ns)) {
            break;
        }
    }
}

static bool start_drawing(struct drawing *drawing, struct simulate_tally *tally)
{
    struct simulate_series **series =
        calloc((size_t)tally->limit_count + 2, sizeof(struct simulate_series *));
    if (series == NULL) {
        return false;
    }
    size_t count = simulate_tally_series(tally, series);
    simulate_series_coarsen(&tally->axis, series, count, BINS_MOST);
    free(series);
    int64_t width_ns = simulate_series_width_ns(&tally->axis);
    double span = ((double)tally->axis.high_ns - (double)tally->axis.first * (double)width_ns) /
                  (double)width_ns;
    size_t bins = !tally->axis.used ? 1 : (size_t)span + 1;
    bins = bins > SIMULATE_SERIES_BINS ? SIMULATE_SERIES_BINS : bins;
    *drawing = (struct drawing){.count = bins + 1, .width_s = (double)width_ns / NS_PER_S};
    drawing->first_s = (double)tally->axis.first * drawing->width_s;
    drawing->points =
        calloc((LIMITS_SHOWN + 2) * drawing->count, sizeof(*drawing->points));
    return drawing->points != NULL;
}

/* A line for each limit with refusals, the first few in order. */
static size_t limit_series(struct drawing *drawing, const struct simulate_tally *tally,
                           struct svg_series *out, char (*names)[LIMITS_LIMIT_NAME_BYTES_MAX + 32])
{
    const struct simulate_tally_limit **limits =
        calloc((size_t)tally->limit_count + 1, sizeof(struct simulate_tally_limit *));
    size_t shown = 0;
    size_t count = limits == NULL ? 0 : simulate_tally_order(tally, limits);
    for (size_t i = 0; i < count && shown < LIMITS_SHOWN; i++) {
        if (limits[i]->refusals == NULL) {
            continue;
        }
        (void)snprintf(names[shown], sizeof(names[shown]), "%s%s", limits[i]->name,
                       limits[i]->shadow ? " (shadow: would refuse)" : "");
        out[shown] = (struct svg_series){
            .name = names[shown],
            .points = points_of(drawing, shown + 2, limits[i]->refusals),
            .count = drawing->count,
            .style = SVG_STEP};
        shown++;
    }
    free(limits);
    return shown;
}

/* What the picture is of, in words; each text ends in a NUL. */
struct captions {
    struct buf title;
    struct buf subtitle;
    struct buf unit; /* of the y axis */
};

static void write_captions(struct captions *captions, const struct simulate_tally *tally,
                           const struct simulate_summary *summary)
{
    buf_init(&captions->title, 0);
    buf_init(&captions->subtitle, 0);
    buf_init(&captions->unit, 0);
    buf_printf(&captions->title, "%s under %s", summary->traffic_path, summary->limits_path);
    simulate_table_append_count(&captions->subtitle, tally->requests);
    buf_append_text(&captions->subtitle, " requests, ");
    simulate_table_append_count(&captions->subtitle, tally->refused);
    buf_append_text(&captions->subtitle, " refused, ");
    text_append_time(&captions->subtitle, tally->first_ns);
    buf_append_text(&captions->subtitle, " to ");
    text_append_time(&captions->subtitle, tally->last_ns);
    buf_append_text(&captions->unit, "requests in ");
    simulate_table_append_duration(&captions->unit, simulate_series_width_ns(&tally->axis));
    buf_append_byte(&captions->title, 0);
    buf_append_byte(&captions->subtitle, 0);
    buf_append_byte(&captions->unit, 0);
}

static bool captions_deinit(struct captions *captions)
{
    bool complete =
        !captions->title.failed && !captions->subtitle.failed && !captions->unit.failed;
    buf_deinit(&captions->title);
    buf_deinit(&captions->subtitle);
    buf_deinit(&captions->unit);
    return complete;
}

static void draw(struct buf *out, struct drawing *drawing, const struct simulate_tally *tally,
                 const struct simulate_summary *summary)
{
    struct svg_series totals[] = {
        {.name = "allowed",
         .points = points_of(drawing, 0, tally->allowed_series),
         .count = drawing->count,
         .style = SVG_AREA},
        {.name = "refused",
         .points = points_of(drawing, 1, tally->refused_series),
         .count = drawing->count,
         .style = SVG_AREA},
    };
    struct svg_series limits[LIMITS_SHOWN];
    char names[LIMITS_SHOWN][LIMITS_LIMIT_NAME_BYTES_MAX + 32];
    size_t limit_count = limit_series(drawing, tally, limits, names);
    struct captions captions;
    write_captions(&captions, tally, summary);
    const char *unit = (const char *)captions.unit.data;
    struct svg_panel panels[] = {
        {.title = "Requests, allowed and refused", .x_label = "time (UTC)", .y_label = unit,
         .series = totals, .series_count = 2, .x_ticks = drawing->ticks,
         .x_tick_count = drawing->tick_count},
        {.title = "Refusals by limit", .x_label = "time (UTC)", .y_label = unit,
         .series = limits, .series_count = limit_count, .x_ticks = drawing->ticks,
         .x_tick_count = drawing->tick_count},
    };
    if (!captions.title.failed && !captions.subtitle.failed && !captions.unit.failed) {
        svg_chart(out, (const char *)captions.title.data, (const char *)captions.subtitle.data,
                  panels, limit_count > 0 ? 2 : 1);
    }
    out->failed = !captions_deinit(&captions) || out->failed;
}

void simulate_chart_append(struct buf *out, struct simulate_tally *tally,
                           const struct simulate_summary *summary)
{
    struct drawing drawing;
    if (tally->failed || !start_drawing(&drawing, tally)) {
        out->failed = true;
        return;
    }
    place_ticks(&drawing);
    draw(out, &drawing, tally, summary);
    free(drawing.points);
}
