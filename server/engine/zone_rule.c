#include "engine/zone_rule.h"

#define ZONE_RULE_HOUR_S 3600
#define ZONE_RULE_DAY_S 86400
#define ZONE_RULE_OFFSET_HOURS 24 /* of a UTC offset */
#define ZONE_RULE_TIME_HOURS 167  /* of a change's local time */

struct zone_rule_text {
    const uint8_t *at;
    const uint8_t *end;
};

static bool zone_rule_take(struct zone_rule_text *text, uint8_t byte)
{
    if (text->at == text->end || *text->at != byte) {
        return false;
    }
    text->at++;
    return true;
}

static bool zone_rule_number(struct zone_rule_text *text, int32_t least, int32_t most,
                             int32_t *out)
{
    int32_t value = 0;
    const uint8_t *start = text->at;
    while (text->at < text->end && *text->at >= '0' && *text->at <= '9' && value <= most) {
        value = value * 10 + (*text->at++ - '0');
    }
    *out = value;
    return text->at > start && value >= least && value <= most;
}

/* [+-]h[:m[:s]] */
static bool zone_rule_time(struct zone_rule_text *text, int32_t hours_max, int32_t *out)
{
    int32_t hours = 0;
    int32_t minutes = 0;
    int32_t seconds = 0;
    bool negative = zone_rule_take(text, '-');
    if (!negative) {
        (void)zone_rule_take(text, '+');
    }
    if (!zone_rule_number(text, 0, hours_max, &hours) ||
        (zone_rule_take(text, ':') &&
         (!zone_rule_number(text, 0, 59, &minutes) ||
          (zone_rule_take(text, ':') && !zone_rule_number(text, 0, 59, &seconds))))) {
        return false;
    }
    int32_t sum = hours * ZONE_RULE_HOUR_S + minutes * 60 + seconds;
    *out = negative ? -sum : sum;
    return true;
}

/* Letters, or anything between < and >. What the name is does not matter here. */
static bool zone_rule_name(struct zone_rule_text *text)
{
    const uint8_t *start = text->at;
    if (zone_rule_take(text, '<')) {
        while (text->at < text->end && *text->at != '>') {
            text->at++;
        }
        return zone_rule_take(text, '>');
    }
    while (text->at < text->end && ((*text->at >= 'A' && *text->at <= 'Z') ||
                                    (*text->at >= 'a' && *text->at <= 'z'))) {
        text->at++;
    }
    return text->at > start;
}

static bool zone_rule_date(struct zone_rule_text *text, struct zone_rule_change *out)
{
    out->time_s = 2 * ZONE_RULE_HOUR_S;
    bool good;
    if (zone_rule_take(text, 'J')) {
        out->kind = ZONE_RULE_JULIAN;
        good = zone_rule_number(text, 1, 365, &out->day);
    } else if (zone_rule_take(text, 'M')) {
        out->kind = ZONE_RULE_WEEKDAY;
        good = zone_rule_number(text, 1, 12, &out->month) && zone_rule_take(text, '.') &&
               zone_rule_number(text, 1, 5, &out->week) && zone_rule_take(text, '.') &&
               zone_rule_number(text, 0, 6, &out->day);
    } else {
        out->kind = ZONE_RULE_DAY;
        good = zone_rule_number(text, 0, 365, &out->day);
    }
    return good && (!zone_rule_take(text, '/') ||
                    zone_rule_time(text, ZONE_RULE_TIME_HOURS, &out->time_s));
}

bool zone_rule_parse(struct slice bytes, struct zone_rule *out)
{
    struct zone_rule_text text = {.at = bytes.data, .end = bytes.data + bytes.size};
    int32_t west = 0;
    *out = (struct zone_rule){.has_summer = false};
    if (bytes.size == 0 || !zone_rule_name(&text) ||
        !zone_rule_time(&text, ZONE_RULE_OFFSET_HOURS, &west)) {
        return false;
    }
    out->standard_s = -west; /* POSIX counts westwards */
    if (text.at == text.end) {
        return true;
    }
    out->has_summer = true;
    out->summer_s = out->standard_s + ZONE_RULE_HOUR_S;
    if (!zone_rule_name(&text)) {
        return false;
    }
    if (text.at < text.end && *text.at != ',') {
        if (!zone_rule_time(&text, ZONE_RULE_OFFSET_HOURS, &west)) {
            return false;
        }
        out->summer_s = -west;
    }
    return zone_rule_take(&text, ',') && zone_rule_date(&text, &out->start) &&
           zone_rule_take(&text, ',') && zone_rule_date(&text, &out->end) && text.at == text.end;
}

static bool zone_rule_is_leap(int32_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* Days from 1 January 1970 to 1 January of a year after 1600. */
static int64_t zone_rule_year_start(int32_t year)
{
    int64_t before = year - 1;
    return before * 365 + before / 4 - before / 100 + before / 400 - 719162;
}

/* Days from 1 January to the 1st of a month (1 … 13). */
static int32_t zone_rule_month_start(int32_t year, int32_t month)
{
    static const int16_t starts[] = {0,   31,  59,  90,  120, 151, 181,
                                     212, 243, 273, 304, 334, 365};
    return starts[month - 1] + (month > 2 && zone_rule_is_leap(year));
}

static int64_t zone_rule_weekday_of(const struct zone_rule_change *change, int32_t year)
{
    int64_t first = zone_rule_year_start(year) + zone_rule_month_start(year, change->month);
    int32_t length = zone_rule_month_start(year, change->month + 1) -
                     zone_rule_month_start(year, change->month);
    int32_t weekday = (int32_t)(((first + 4) % 7 + 7) % 7); /* 1 January 1970 was a Thursday */
    int32_t day = (change->day - weekday + 7) % 7 + (change->week - 1) * 7;
    while (day >= length) {
        day -= 7;
    }
    return first + day;
}

int64_t zone_rule_instant(const struct zone_rule_change *change, int32_t year, int32_t offset_s)
{
    int64_t day = 0;
    switch (change->kind) {
    case ZONE_RULE_JULIAN:
        day = zone_rule_year_start(year) + change->day - 1 +
              (change->day >= 60 && zone_rule_is_leap(year));
        break;
    case ZONE_RULE_DAY:
        day = zone_rule_year_start(year) + change->day;
        break;
    case ZONE_RULE_WEEKDAY:
        day = zone_rule_weekday_of(change, year);
        break;
    }
    return day * ZONE_RULE_DAY_S + change->time_s - offset_s;
}
