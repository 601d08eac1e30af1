/* What an admin listener offers beside decisions: the native frames Stats, Reload and Snapshot, and
 * HTTP's /metrics, /healthz, /readyz and /v1/reload. How it is done is the daemon's; the adapters
 * only call it.
 *
 * The connections of admin listeners have a thread of their own, so each of these may take its time
 * (a reload reads files, a snapshot waits for the disk) while requests go on elsewhere. Only a
 * session whose peer came in on an admin listener (wire_peer.admin) may call them.
 *
 * One address speaks both: the first bytes tell HTTP from frames. */
#ifndef WIRE_ADMIN_H
#define WIRE_ADMIN_H

#include "wire/wire.h"

struct wire_admin {
    void *data; /* handed to each */

    /* Appends the metrics in Prometheus' text format. */
    void (*stats)(void *data, struct buf *out);

    /* Reads the limits again. True: what the files say now is in force. False: it was refused, the
     * old limits stay; one line an error, each ended by \n, was appended. */
    bool (*reload)(void *data, struct buf *errors);

    /* Writes the state. REQUEST_OK: what was counted before the call is on disk. Otherwise one
     * sentence was appended to `why`. */
    enum request_code (*snapshot)(void *data, struct buf *why);

    /* The daemon answers requests: loaded, listening, and not told to stop. */
    bool (*ready)(void *data);
};

/* A listener of the name "admin". */
extern const struct wire_protocol admin_protocol;

#endif
