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

#define LIMITS_THROTTLE_BURST_MAX (LIMITS_QUOTA_MAX - 1)   /* CL.THROTTLE's max_burst: B - 1 */
#define LIMITS_THROTTLE_PERIOD_S_MAX UINT64_C(315619200)   /* LIMITS_WINDOW_NS_MAX */

#define LIMITS_RESP_ARGUMENTS_MAX 64          /* of one command, its name included */
#define LIMITS_RESP_COMMAND_BYTES_MAX (64u * 1024)

#define LIMITS_CLIENT_FRAME_BYTES_MAX (256u * 1024)
#define LIMITS_SERVER_FRAME_BYTES_MAX (16u * 1024 * 1024)
#define LIMITS_CLIENT_LENGTH_BYTES_MAX 3      /* varint bytes of a ClientFrame's length */
#define LIMITS_SERVER_LENGTH_BYTES_MAX 4

#define LIMITS_VARINT_BYTES_MAX 10
/* What unpacking one frame may take: a hostile one of the largest size asks for about 14 MiB. */
#define LIMITS_UNPACK_BYTES_MAX (16u * 1024 * 1024)

#define LIMITS_HTTP_HEAD_BYTES_MAX (8u * 1024)
#define LIMITS_HTTP_HEADERS_MAX 64            /* fields of an HTTP/1.1 head */
#define LIMITS_HTTP_BODY_BYTES_MAX (64u * 1024)
#define LIMITS_HTTP_BATCH_BODY_BYTES_MAX (256u * 1024)
#define LIMITS_HTTP_CHUNK_LINE_BYTES_MAX 256  /* a chunk's size and its extensions */
#define LIMITS_JSON_DEPTH_MAX 16

#define LIMITS_GRPC_MESSAGE_BYTES_MAX (256u * 1024)
#define LIMITS_GRPC_PREFIX_BYTES 5            /* compressed or not, and the length */
#define LIMITS_HTTP2_STREAMS_MAX 1024         /* calls in flight on a connection */
#define LIMITS_HTTP2_HEAD_BYTES_MAX (16u * 1024)     /* a header list, as RFC 9113 counts it */
#define LIMITS_HTTP2_HEADERS_MAX 100          /* fields of a header list */
#define LIMITS_HTTP2_BODY_BYTES_MAX (LIMITS_GRPC_PREFIX_BYTES + LIMITS_GRPC_MESSAGE_BYTES_MAX)
#define LIMITS_HTTP2_BODIES_BYTES_MAX (2u * 1024 * 1024)  /* unanswered bodies of a connection */
#define LIMITS_HTTP2_CODEC_BYTES_MAX (8u * 1024 * 1024)   /* what nghttp2 may hold for one */
#define LIMITS_HTTP2_CONTROL_FRAMES_MAX 4000  /* a minute: PING, SETTINGS ... without requests */
#define LIMITS_HTTP2_RESETS_MAX 1000          /* streams reset at once; 100 more a second */

#define LIMITS_ENVOY_DESCRIPTORS_MAX 64       /* of one rate-limit request of a gateway */

#define LIMITS_FIELD_BYTES_MAX 96             /* "requests[999].attributes.<64>" */
#define LIMITS_MESSAGE_BYTES_MAX 256          /* one error sentence */

#define LIMITS_FILE_BYTES_MAX (64u * 1024 * 1024)    /* a limits file */
#define LIMITS_FILE_DEPTH_MAX 16
#define LIMITS_FILE_ALIAS_NODES_MAX 100000
#define LIMITS_FILE_ERRORS_MAX 20
#define LIMITS_ZONE_NAME_BYTES_MAX 64         /* America/Argentina/ComodRivadavia has 32 */
#define LIMITS_ZONE_FILE_BYTES_MAX (256u * 1024)

#define LIMITS_TRAFFIC_LINE_BYTES_MAX LIMITS_FILE_BYTES_MAX   /* a line may carry limits */

#define LIMITS_TLS_HANDSHAKE_NS (INT64_C(10) * 1000000000)   /* from accept to its end */
#define LIMITS_TOKENS_MAX 1024                /* of a file for --tokens */
#define LIMITS_TOKEN_NAME_BYTES_MAX 64
#define LIMITS_TOKEN_BYTES_MAX 1024           /* that a peer may show */
#define LIMITS_TOKENS_FILE_BYTES_MAX (1024u * 1024)

#define LIMITS_WORKERS_MAX 257                /* threads that decide: 256, and the admin thread */
#define LIMITS_ADMIN_CONNECTIONS_MAX 32
#define LIMITS_SNAPSHOT_INTERVAL_NS_MAX (INT64_C(3600) * 1000000000)
#define LIMITS_METRIC_LIMITS_MAX (1u << 18)   /* limit names counted apart, over all reloads */

static_assert(LIMITS_FIELD_BYTES_MAX >= sizeof("requests[999].attributes.") +
              LIMITS_ATTRIBUTE_NAME_BYTES_MAX, "a field's name fits");

#endif
