/* libsluice on a libuv loop: many questions in flight on one connection, one callback an answer.
 *
 * The rules of sluice.h hold: the same URLs, the same options, each question answered within the
 * time-out, `allowed` as on_error says and `decided` false where the daemon did not decide, and a
 * connection that comes back by itself.
 *
 * Ownership. A question's bytes are copied by the call. A callback runs exactly once for each call
 * that returned SLUICE_OK, from the loop and never from inside the call; for a call that returned
 * anything else it never runs. What an answer points to holds until the callback returns. Callbacks
 * may ask again, and may close the client.
 *
 * A client belongs to its loop's thread, and keeps the loop alive until it is closed. When a
 * connection is lost, everything in flight on it is answered as undecided: it may or may not have
 * been counted. libuv writes to sockets without guarding against SIGPIPE: ignore that signal. */
#ifndef SLUICE_ASYNC_H
#define SLUICE_ASYNC_H

#include "sluice.h"

#include <uv.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_ASYNC_IN_FLIGHT_MAX (1u << 20)
#define SLUICE_ASYNC_UNSENT_BYTES_MAX (64u << 20)

struct sluice_async;

/* Takes native://HOST:PORT and unix:PATH, without a token. Touches no network. On
 * anything but SLUICE_OK *client is NULL. */
enum sluice_status sluice_async_open(uv_loop_t *loop, const char *url,
                                     const struct sluice_options *options,
                                     struct sluice_async **client);

/* Gives the client back at once; what is in flight is answered as undecided, then `closed` (may be
 * NULL) runs, from the loop, which has to go on running for it. */
void sluice_async_close(struct sluice_async **client, void (*closed)(void *context),
                        void *context);

/* SLUICE_BUSY: more in flight, or more bytes waiting to be sent, than the bounds above. */
enum sluice_status sluice_async_ask(struct sluice_async *client,
                                    const struct sluice_question *question,
                                    void (*answered)(void *context,
                                                     const struct sluice_answer *answer),
                                    void *context);

enum sluice_status sluice_async_refund(struct sluice_async *client,
                                       const struct sluice_question *question,
                                       void (*answered)(void *context,
                                                        const struct sluice_answer *answer),
                                       void *context);

/* `answers` are as many as were asked, in their order. */
enum sluice_status sluice_async_ask_batch(struct sluice_async *client,
                                          const struct sluice_question *questions, size_t count,
                                          void (*answered)(void *context,
                                                           const struct sluice_answer *answers,
                                                           size_t count),
                                          void *context);

enum sluice_status sluice_async_reset(struct sluice_async *client,
                                      const struct sluice_question *question,
                                      void (*answered)(void *context,
                                                       const struct sluice_reset_answer *answer),
                                      void *context);

#ifdef __cplusplus
}
#endif

#endif
