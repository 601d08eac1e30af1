/* A daemon asked by HTTP: its JSON API, or gRPC. libcurl moves the bytes; one connection, kept. */
#ifndef SLUICE_WEB_H
#define SLUICE_WEB_H

#include "sluice_body.h"
#include "sluice_encode.h"
#include "sluice_url.h"

struct sluice_web;

/* NULL: no memory. The options' texts are copied. */
struct sluice_web *sluice_web_create(const struct sluice_url *url,
                                     const struct sluice_options *options);
void sluice_web_destroy(struct sluice_web **web);

/* Asks. SLUICE_OK: *frame holds until the next call. Else `message` has one sentence. */
enum sluice_status sluice_web_exchange(struct sluice_web *web, enum sluice_encode_kind kind,
                                       const struct sluice_question *questions, size_t count,
                                       int64_t timeout_ns, struct sluice_decode_frame *frame,
                                       char *message, size_t message_size);

/* The same in steps, for whoever drives many at once: prepare, let libcurl perform the handle
 * (a CURL *), finish with the CURLcode it came to. */
enum sluice_status sluice_web_prepare(struct sluice_web *web, enum sluice_encode_kind kind,
                                      const struct sluice_question *questions, size_t count,
                                      char *message, size_t message_size);
/* gRPC: before many share connections, each of those is made by a call that decides nothing. */
void sluice_web_prepare_hello(struct sluice_web *web);
bool sluice_web_finish_hello(struct sluice_web *web, int code, char *message, size_t message_size);
/* Can several questions be on their way on one connection? With a libcurl before 8.1 their answers
 * are mixed up. */
bool sluice_web_shares_connections(void);
/* The connections are there. */
void sluice_web_set_warm(struct sluice_web *web);
void *sluice_web_handle(struct sluice_web *web);
enum sluice_status sluice_web_finish(struct sluice_web *web, enum sluice_encode_kind kind,
                                     int code, struct sluice_decode_frame *frame, char *message,
                                     size_t message_size);

#endif
