/* A Redis-protocol session over the engine of native_fixture.h: commands in, replies out. */
#ifndef TESTS_WIRE_RESP_FIXTURE_H
#define TESTS_WIRE_RESP_FIXTURE_H

#include "native_fixture.h"
#include "wire/resp.h"

static inline void resp_fixture_open(struct fixture *fixture)
{
    buf_clear(&fixture->in);
    buf_clear(&fixture->out);
    fixture->session = resp_protocol.open(&fixture->worker, &fixture->peer, &fixture->out);
    fixture_require(fixture->session != NULL, "session");
}

static inline void resp_fixture_close(struct fixture *fixture)
{
    resp_protocol.close(&fixture->session);
}

static inline void resp_fixture_init(struct fixture *fixture)
{
    fixture_init(fixture);
    fixture_close(fixture);
    resp_fixture_open(fixture);
}

static inline void resp_fixture_deinit(struct fixture *fixture)
{
    resp_fixture_close(fixture);
    fixture_deinit(fixture);
}

/* Gives the session more bytes, as a connection does: what was not consumed stands in front. Each
 * round's replies go to `out`, or are thrown away when there is none. */
static inline enum wire_result resp_fixture_feed(struct fixture *fixture, struct slice bytes,
                                                 struct buf *out)
{
    enum wire_result result;
    buf_append_slice(&fixture->in, bytes);
    do {
        size_t consumed = 0;
        result = resp_protocol.feed(fixture->session, &fixture->worker, buf_slice(&fixture->in),
                                    &consumed, fixture->now_ns, &fixture->out,
                                    &fixture->answered);
        fixture_require(consumed <= fixture->in.size, "consumed more than there was");
        fixture_require(result != WIRE_FULL || fixture->out.size >= WIRE_OUT_HIGH_BYTES,
                        "stopped with room left");
        buf_consume(&fixture->in, consumed);
        if (out != NULL) {
            buf_append_slice(out, buf_slice(&fixture->out));
        }
        buf_clear(&fixture->out);
    } while (result == WIRE_FULL);
    return result;
}

#endif
