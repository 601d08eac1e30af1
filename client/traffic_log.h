/* One line of a web server's access log, Common or Combined Log Format:
 *
 *   198.18.0.1 - frank [17/May/2015:10:05:03 +0000] "GET /a?b=c HTTP/1.1" 200 2326 "ref" "agent"
 *   address ident user [time]                       "request"           status size  (combined)
 */
#ifndef TRAFFIC_LOG_H
#define TRAFFIC_LOG_H

#include "traffic.h"

struct traffic_log {
    bool combined;
    enum traffic_key key;
    enum traffic_route route;
    bool has_cost;
    uint64_t cost;
    struct buf request; /* of the latest line, unescaped */
    struct buf joined;  /* its route, where the line does not hold it in one piece */
    struct buf agent;
};

void traffic_log_init(struct traffic_log *log, const struct traffic_options *options,
                      bool combined);
void traffic_log_deinit(struct traffic_log *log);

/* False: *why says what is wrong and what was expected. *item holds until the next call. */
bool traffic_log_parse(struct traffic_log *log, struct slice line, struct traffic_item *item,
                       struct buf *why);

/* Is it a line of an access log at all, and does a referrer and an agent follow? */
bool traffic_log_detect(struct slice line, bool *combined);

#endif
