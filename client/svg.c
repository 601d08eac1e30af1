#include "svg.h"

#include "base/text.h"

#include <math.h>

/* Layout, in units of the picture: panels of one size below each other.
 *
 *     title
 *     subtitle
 *     | panel title      legend |
 *     | y axis | plot           |
 *     |        | x axis         |
 */
#define WIDTH 860.0
#define HEAD 78.0
#define PANEL 320.0
#define LEFT 84.0
#define RIGHT 36.0
#define TOP 40.0
#define BOTTOM 52.0
#define PLOT_WIDTH (WIDTH - LEFT - RIGHT)
#define PLOT_HEIGHT (PANEL - TOP - BOTTOM)
#define TICKS_WANTED 6.0

static const char *const colours[] = {"#1a6fb5", "#d1495b", "#2a9d6f", "#e09f3e",
                                      "#7b5ea7", "#5c6b73", "#c06c9a", "#3aa6a6"};
#define COLOUR_COUNT (sizeof colours / sizeof colours[0])

/* Where data stands in the plot. */
struct frame {
    const struct svg_panel *panel;
    double top; /* of the plot, in the picture */
    double x_min, x_max;
    double y_min, y_max; /* of log10 y where the panel is logarithmic */
    double x_step, y_step;
};

static void escape(struct buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '<':
            buf_append_text(out, "&lt;");
            break;
        case '>':
            buf_append_text(out, "&gt;");
            break;
        case '&':
            buf_append_text(out, "&amp;");
            break;
        case '"':
            buf_append_text(out, "&quot;");
            break;
        default:
            /* A control byte has no place in XML. */
            buf_append_byte(out, (uint8_t)*text < 0x20 ? ' ' : (uint8_t)*text);
        }
    }
}

static void text_at(struct buf *out, double x, double y, const char *attributes, const char *text)
{
    buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, attributes);
    escape(out, text);
    buf_append_text(out, "</text>\n");
}

/* 1, 2 or 5 times a power of ten. */
static double round_step(double range)
{
    double rough = range / TICKS_WANTED;
    double power = pow(10, floor(log10(rough)));
    double first = rough / power;
    if (first <= 1) {
        return power;
    }
    if (first <= 2) {
        return 2 * power;
    }
    return first <= 5 ? 5 * power : 10 * power;
}

static double y_value(const struct svg_panel *panel, double y)
{
    return panel->y_log ? log10(y < 1 ? 1 : y) : y;
}

static struct frame make_frame(const struct svg_panel *panel, double top)
{
    struct frame frame = {.panel = panel, .top = top + TOP};
    bool any = false;
    double y_low = INFINITY;
    for (size_t i = 0; i < panel->series_count; i++) {
        const struct svg_series *series = &panel->series[i];
        for (size_t j = 0; j < series->count; j++) {
            double x = series->points[j].x;
            double y = y_value(panel, series->points[j].y);
            frame.x_min = !any || x < frame.x_min ? x : frame.x_min;
            frame.x_max = !any || x > frame.x_max ? x : frame.x_max;
            frame.y_max = !any || y > frame.y_max ? y : frame.y_max;
            y_low = y < y_low ? y : y_low;
            any = true;
        }
    }
    if (frame.x_max <= frame.x_min) {
        frame.x_max = frame.x_min + 1;
    }
    frame.y_max = frame.y_max <= 0 ? 1 : frame.y_max;
    frame.y_min = panel->y_log && any ? floor(y_low) : 0;
    frame.y_step = panel->y_log ? 1 : round_step(frame.y_max - frame.y_min);
    frame.y_max = ceil(frame.y_max / frame.y_step - 1e-9) * frame.y_step;
    if (frame.y_max <= frame.y_min) {
        frame.y_max = frame.y_min + frame.y_step;
    }
    frame.x_step = round_step(frame.x_max - frame.x_min);
    return frame;
}

static double place_x(const struct frame *frame, double x)
{
    return LEFT + (x - frame->x_min) / (frame->x_max - frame->x_min) * PLOT_WIDTH;
}

static double place_y(const struct frame *frame, double y)
{
    double share = (y_value(frame->panel, y) - frame->y_min) / (frame->y_max - frame->y_min);
    share = share < 0 ? 0 : share;
    return frame->top + (1 - share) * PLOT_HEIGHT;
}

/* "1500000" -> "1.5M". */
static void number(struct buf *out, double value)
{
    static const char *const units[] = {"", "k", "M", "G", "T"};
    size_t unit = 0;
    value = fabs(value) < 1e-12 ? 0 : value; /* never "-0" */
    while (fabs(value) >= 1000 - 1e-9 && unit < 4) {
        value /= 1000;
        unit++;
    }
    buf_printf(out, "%.4g%s", value, units[unit]);
}

static void y_tick(struct buf *out, const struct frame *frame, double y)
{
    double at = place_y(frame, y);
    buf_printf(out, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>\n", LEFT, at,
               LEFT + PLOT_WIDTH);
    buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"tick\" text-anchor=\"end\">", LEFT - 8,
               at + 4);
    number(out, y);
    buf_append_text(out, "</text>\n");
}

static void x_tick(struct buf *out, const struct frame *frame, double x, const char *label)
{
    double at = place_x(frame, x);
    double bottom = frame->top + PLOT_HEIGHT;
    buf_printf(out, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>\n", at, frame->top, bottom);
    buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"tick\" text-anchor=\"middle\">", at,
               bottom + 18);
    if (label == NULL) {
        number(out, x);
    } else {
        escape(out, label);
    }
    buf_append_text(out, "</text>\n");
}

static void axes(struct buf *out, const struct frame *frame)
{
    const struct svg_panel *panel = frame->panel;
    double slack = frame->x_step * 1e-6;
    for (double y = frame->y_min; y <= frame->y_max + frame->y_step * 1e-6; y += frame->y_step) {
        y_tick(out, frame, panel->y_log ? pow(10, y) : y);
    }
    for (size_t i = 0; i < panel->x_tick_count; i++) {
        double at = panel->x_ticks[i].at;
        if (at >= frame->x_min - slack && at <= frame->x_max + slack) {
            x_tick(out, frame, at, panel->x_ticks[i].label);
        }
    }
    if (panel->x_ticks == NULL) {
        double x = ceil(frame->x_min / frame->x_step - 1e-9) * frame->x_step;
        for (; x <= frame->x_max + slack; x += frame->x_step) {
            x_tick(out, frame, x, NULL);
        }
    }
    double bottom = frame->top + PLOT_HEIGHT;
    buf_printf(out, "<path class=\"axis\" d=\"M%.1f %.1fV%.1fH%.1f\"/>\n", LEFT, frame->top,
               bottom, LEFT + PLOT_WIDTH);
    text_at(out, LEFT + PLOT_WIDTH / 2, bottom + 38, " class=\"label\" text-anchor=\"middle\"",
            panel->x_label);
    buf_printf(out, "<g transform=\"translate(20 %.1f) rotate(-90)\">\n",
               frame->top + PLOT_HEIGHT / 2);
    text_at(out, 0, 0, " class=\"label\" text-anchor=\"middle\"", panel->y_label);
    buf_append_text(out, "</g>\n");
}

/* The line itself, without its path element. */
static void line(struct buf *out, const struct frame *frame, const struct svg_series *drawn)
{
    for (size_t i = 0; i < drawn->count; i++) {
        double x = place_x(frame, drawn->points[i].x);
        double y = place_y(frame, drawn->points[i].y);
        if (i == 0) {
            buf_printf(out, "M%.1f %.1f", x, y);
        } else if (drawn->style == SVG_LINE) {
            buf_printf(out, "L%.1f %.1f", x, y);
        } else {
            buf_printf(out, "H%.1fV%.1f", x, y);
        }
    }
}

static void series(struct buf *out, const struct frame *frame, const struct svg_series *drawn,
                   const char *colour)
{
    double bottom = frame->top + PLOT_HEIGHT;
    if (drawn->count == 0) {
        return;
    }
    if (drawn->style == SVG_AREA) {
        buf_append_text(out, "<path d=\"");
        line(out, frame, drawn);
        buf_printf(out, "V%.1fH%.1fZ\" fill=\"%s\" fill-opacity=\"0.18\"/>\n", bottom,
                   place_x(frame, drawn->points[0].x), colour);
    }
    buf_append_text(out, "<path d=\"");
    line(out, frame, drawn);
    buf_printf(out, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\" "
                    "stroke-linejoin=\"round\"/>\n",
               colour);
}

/* From the right: names are of unknown width, so each gets what its letters may need. */
static void legend(struct buf *out, const struct svg_panel *panel, double y)
{
    double x = LEFT + PLOT_WIDTH;
    for (size_t i = panel->series_count; i > 0; i--) {
        const char *name = panel->series[i - 1].name;
        if (name == NULL) {
            continue;
        }
        x -= 26 + 7.2 * (double)strlen(name);
        buf_printf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"12\" rx=\"2\" "
                        "fill=\"%s\"/>\n",
                   x, y - 10, colours[(i - 1) % COLOUR_COUNT]);
        text_at(out, x + 17, y, " class=\"label\"", name);
    }
}

static void draw_panel(struct buf *out, const struct svg_panel *panel, double top)
{
    struct frame frame = make_frame(panel, top);
    text_at(out, LEFT, top + 24, " class=\"panel\"", panel->title);
    legend(out, panel, top + 24);
    axes(out, &frame);
    for (size_t i = 0; i < panel->series_count; i++) {
        series(out, &frame, &panel->series[i], colours[i % COLOUR_COUNT]);
    }
}

void svg_chart(struct buf *out, const char *title, const char *subtitle,
               const struct svg_panel *panels, size_t panel_count)
{
    double height = HEAD + PANEL * (double)panel_count;
    buf_printf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
                    "width=\"%.0f\" height=\"%.0f\" role=\"img\">\n",
               WIDTH, height, WIDTH, height);
    buf_append_text(out, "<title>");
    escape(out, title);
    buf_append_text(out, "</title>\n<style>\n"
                         "text{font-family:system-ui,-apple-system,'Segoe UI',sans-serif;"
                         "fill:#26323a}\n"
                         ".title{font-size:22px;font-weight:600}\n"
                         ".sub{font-size:14px;fill:#5c6b73}\n"
                         ".panel{font-size:15px;font-weight:600}\n"
                         ".label{font-size:13px;fill:#5c6b73}\n"
                         ".tick{font-size:12px;fill:#5c6b73}\n"
                         ".grid{stroke:#e3e8eb;stroke-width:1;fill:none}\n"
                         ".axis{stroke:#8a979e;stroke-width:1.2;fill:none}\n</style>\n");
    buf_printf(out, "<rect width=\"%.0f\" height=\"%.0f\" rx=\"8\" fill=\"#ffffff\"/>\n", WIDTH,
               height);
    text_at(out, 28, 40, " class=\"title\"", title);
    text_at(out, 28, 64, " class=\"sub\"", subtitle);
    for (size_t i = 0; i < panel_count; i++) {
        draw_panel(out, &panels[i], HEAD + PANEL * (double)i);
    }
    buf_append_text(out, "</svg>\n");
}
