/* The rule at the end of a TZif file (a POSIX TZ string, as RFC 8536 allows it): what holds after
 * the last written change. */
#ifndef ENGINE_ZONE_RULE_H
#define ENGINE_ZONE_RULE_H

#include "base/slice.h"

enum zone_rule_kind {
    ZONE_RULE_JULIAN,  /* Jn: day 1 … 365, 29 February is never counted */
    ZONE_RULE_DAY,     /* n: day 0 … 365 of the year */
    ZONE_RULE_WEEKDAY  /* Mm.w.d: the w-th (5: last) weekday d of month m */
};

struct zone_rule_change {
    enum zone_rule_kind kind;
    int32_t day;    /* of the year, or of the week (0: Sunday) */
    int32_t week;   /* 1 … 5 */
    int32_t month;  /* 1 … 12 */
    int32_t time_s; /* local time of the change, -167 h … 167 h */
};

struct zone_rule {
    int32_t standard_s; /* UTC offset, east positive */
    bool has_summer;
    int32_t summer_s;
    struct zone_rule_change start; /* of summer time, in standard time */
    struct zone_rule_change end;   /* of summer time, in summer time */
};

/* False: not such a text. */
bool zone_rule_parse(struct slice text, struct zone_rule *out);

/* When a change happens in a year, in seconds since the epoch; `offset_s` holds until then. */
int64_t zone_rule_instant(const struct zone_rule_change *change, int32_t year, int32_t offset_s);

#endif
