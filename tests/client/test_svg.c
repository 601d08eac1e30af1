#include "svg.h"

#include <criterion/criterion.h>
#include <string.h>

static char *draw(const struct svg_panel *panels, size_t count, struct buf *out)
{
    buf_init(out, 0);
    svg_chart(out, "a < b & \"c\"", "control \x01 byte", panels, count);
    buf_append_byte(out, '\0');
    cr_assert_not(out->failed);
    return (char *)out->data + out->start;
}

static size_t occurrences(const char *text, const char *word)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++) {
        count++;
    }
    return count;
}

Test(svg, lines_areas_and_a_legend)
{
    const struct svg_point points[] = {{0, 0}, {1, 50}, {2, 100}};
    const struct svg_series series[] = {
        {"up", points, 3, SVG_LINE}, {"stairs", points, 3, SVG_STEP}, {NULL, points, 3, SVG_AREA}};
    const struct svg_panel panel = {
        .title = "t", .x_label = "x", .y_label = "y", .series = series, .series_count = 3};
    struct buf out;
    const char *text = draw(&panel, 1, &out);
    cr_expect_eq(strncmp(text, "<svg ", 5), 0);
    cr_expect_eq(occurrences(text, "<svg "), 1);
    cr_expect_eq(occurrences(text, "</svg>"), 1);
    cr_expect(strstr(text, "a &lt; b &amp; &quot;c&quot;") != NULL);
    cr_expect(strstr(text, "\x01") == NULL);
    cr_expect(strstr(text, ">up<") != NULL && strstr(text, ">stairs<") != NULL);
    /* 0 is at the bottom, 100 at the top, x from left to right. */
    cr_expect(strstr(text, "M84.0 346.0L454.0 232.0L824.0 118.0\"") != NULL);
    cr_expect(strstr(text, "M84.0 346.0H454.0V232.0H824.0V118.0\"") != NULL);
    cr_expect(strstr(text, "V346.0H84.0Z\"") != NULL, "an area is closed along the axis");
    cr_expect(strstr(text, ">100<") != NULL && strstr(text, ">-0<") == NULL);
    buf_deinit(&out);
}

Test(svg, what_has_no_extent)
{
    const struct svg_point one = {5, 0};
    const struct svg_series empty = {"none", NULL, 0, SVG_LINE};
    const struct svg_series flat = {"flat", &one, 1, SVG_AREA};
    const struct svg_panel panels[] = {
        {.title = "nothing", .x_label = "", .y_label = ""},
        {.title = "empty", .x_label = "", .y_label = "", .series = &empty, .series_count = 1},
        {.title = "flat", .x_label = "", .y_label = "", .series = &flat, .series_count = 1},
        {.title = "log", .x_label = "", .y_label = "", .series = &flat, .series_count = 1,
         .y_log = true},
    };
    struct buf out;
    const char *text = draw(panels, 4, &out);
    cr_expect(strstr(text, "nan") == NULL && strstr(text, "inf") == NULL, "%s", text);
    buf_deinit(&out);
}

Test(svg, a_logarithmic_axis_has_decades)
{
    const struct svg_point points[] = {{0, 30}, {1, 2000}};
    const struct svg_series series = {NULL, points, 2, SVG_LINE};
    const struct svg_tick ticks[] = {{0, "begin"}, {1, "end"}, {7, "outside"}};
    const struct svg_panel panel = {.title = "t", .x_label = "x", .y_label = "y",
                                    .series = &series, .series_count = 1, .x_ticks = ticks,
                                    .x_tick_count = 3, .y_log = true};
    struct buf out;
    const char *text = draw(&panel, 1, &out);
    cr_expect(strstr(text, ">10<") != NULL && strstr(text, ">10k<") != NULL);
    cr_expect(strstr(text, ">begin<") != NULL && strstr(text, ">end<") != NULL);
    cr_expect(strstr(text, ">outside<") == NULL);
    buf_deinit(&out);
}
