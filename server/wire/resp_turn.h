/* One call of the Redis adapter's feed: what its parts (resp.c, resp_ask.c, resp_commands.c …)
 * share; and what a connection remembers. */
#ifndef WIRE_RESP_TURN_H
#define WIRE_RESP_TURN_H

#include "wire/access.h"
#include "wire/resp_parse.h"
#include "wire/wire_scratch.h"

#define RESP_TURN_NAME_BYTES 64

struct resp_session {
    struct wire_peer peer;
    struct access_login login; /* what AUTH has shown; peer.rights follows from it */
    uint64_t id; /* random: what HELLO and CLIENT ID say */
    bool resp3;  /* after HELLO 3 */
    uint32_t name_size;
    uint8_t name[RESP_TURN_NAME_BYTES]; /* CLIENT SETNAME */
};

struct resp_turn {
    struct wire_worker *worker;
    struct wire_scratch *scratch; /* the worker's */
    struct resp_session *session;
    struct buf *out;
    int64_t now_ns;
    uint64_t answered; /* decisions made */
    bool closing;      /* QUIT */
};

/* Does an argument say `word` (upper case), in any case? */
bool resp_turn_says(struct slice argument, const char *word);

#define RESP_TURN_COMMAND_BYTES 16

/* A command's name in small letters, as errors and COMMAND say it. Returns `out`. */
const char *resp_turn_small(struct slice name, char out[RESP_TURN_COMMAND_BYTES]);

/* Appends the error and counts it. */
void resp_turn_error(struct resp_turn *turn, const struct request_error *error);
/* "-ERR …": the request's own fault, formatted. */
void resp_turn_fail(struct resp_turn *turn, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
