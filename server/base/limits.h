/* Every bound on what a peer or a file can make the program hold, in one place.
 * A number that follows from another is computed from it. tests/tidy refuses such constants
 * elsewhere. The wire limits are public: proto/PROTOCOLS.md states them. */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#include <assert.h>
#include <stdint.h>

#define LIMITS_KEY_BYTES_MAX 1024             /* key, route and attribute values */
#define LIMITS_ATTRIBUTE_NAME_BYTES_MAX 64
#define LIMITS_ATTRIBUTES_MAX 16              /* attributes a request */
#define LIMITS_LIMIT_NAME_BYTES_MAX 64
#define LIMITS_ROUTE_LIMITS_MAX 16            /* limits a route */
#define LIMITS_BATCH_MAX 1000                 /* requests a batch */
#define LIMITS_COUNT_BY_MAX (LIMITS_ATTRIBUTES_MAX + 2)   /* an identity: key and route too */
#define LIMITS_PLANNED_MAX 64                 /* requests of the most limits prepared at once */
#define LIMITS_COST_MAX ((uint64_t)INT64_MAX)
#define LIMITS_QUOTA_MAX UINT64_C(999999999999999)   /* L, B: what a structured field can say */
#define LIMITS_LOG_QUOTA_MAX UINT64_C(1000000)       /* L of a sliding log */
#define LIMITS_WINDOW_NS_MIN INT64_C(1000000)        /* 1 ms */
#define LIMITS_WINDOW_NS_MAX (INT64_C(3653) * 86400 * 1000000000)   /* 10 years */

#define LIMITS_CLIENT_FRAME_BYTES_MAX (256u * 1024)
#define LIMITS_SERVER_FRAME_BYTES_MAX (16u * 1024 * 1024)
#define LIMITS_CLIENT_LENGTH_BYTES_MAX 3      /* varint bytes of a ClientFrame's length */
#define LIMITS_SERVER_LENGTH_BYTES_MAX 4

#define LIMITS_VARINT_BYTES_MAX 10
/* What unpacking one frame may take: a hostile one of the largest size asks for about 14 MiB. */
#define LIMITS_UNPACK_BYTES_MAX (16u * 1024 * 1024)

#define LIMITS_FIELD_BYTES_MAX 96             /* "requests[999].attributes.<64>" */
#define LIMITS_MESSAGE_BYTES_MAX 256          /* one error sentence */

#define LIMITS_FILE_BYTES_MAX (64u * 1024 * 1024)    /* a limits file */
#define LIMITS_FILE_DEPTH_MAX 16
#define LIMITS_FILE_ALIAS_NODES_MAX 100000
#define LIMITS_FILE_ERRORS_MAX 20
#define LIMITS_ZONE_NAME_BYTES_MAX 64         /* America/Argentina/ComodRivadavia has 32 */
#define LIMITS_ZONE_FILE_BYTES_MAX (256u * 1024)

#define LIMITS_TRAFFIC_LINE_BYTES_MAX LIMITS_FILE_BYTES_MAX   /* a line may carry limits */

#define LIMITS_WORKERS_MAX 256
#define LIMITS_METRIC_LIMITS_MAX (1u << 18)   /* limit names counted apart, over all reloads */

static_assert(LIMITS_FIELD_BYTES_MAX >= sizeof("requests[999].attributes.") +
              LIMITS_ATTRIBUTE_NAME_BYTES_MAX, "a field's name fits");

#endif
