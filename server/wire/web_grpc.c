#include "wire/web_grpc.h"

#include "wire/http2.h"
#include "wire/web.h"

static void web_grpc_refuse(struct buf *out)
{
    http2_protocol.refuse(out);
}

const struct wire_protocol web_grpc_protocol = {
    .name = "grpc",
    .metrics = METRICS_GRPC,
    .input_bytes_max = LIMITS_HTTP_HEAD_BYTES_MAX + WEB_BODY_BYTES,
    .open = web_open,
    .feed = web_feed,
    .is_waiting = web_is_waiting,
    .waiting_since = web_waiting_since,
    .timed_out = web_timed_out,
    .shutdown = web_shutdown,
    .close = web_close,
    .refuse = web_grpc_refuse,
};
