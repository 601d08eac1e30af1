/* The parameters of a query: name=value&name=value. Only %XX is decoded: a plus is a plus. */
#ifndef WIRE_HTTP_QUERY_H
#define WIRE_HTTP_QUERY_H

#include "base/arena.h"

enum http_query_result {
    HTTP_QUERY_NEXT, /* *name and *value are filled */
    HTTP_QUERY_END,
    HTTP_QUERY_BAD /* a % that two hexadecimal digits do not follow, or no memory */
};

/* Takes the next parameter off *query; one without = has an empty value. */
enum http_query_result http_query_next(struct slice *query, struct arena *arena,
                                       struct slice *name, struct slice *value);

#endif
