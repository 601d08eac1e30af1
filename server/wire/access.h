/* Who may do what. Without a file of tokens everybody may ask, and --allow-changes says who may
 * refund and reset. With one, a peer shows a token and may do what the file grants it.
 *
 *   # name: SHA-256 of the token, in hexadecimal; then its rights
 *   gateway: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 ask
 *   console: 60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752 ask refund admin
 *
 * The file holds no secret, and a hash is compared with all of them in a time that says nothing.
 *
 * Tables are replaced whole: the main thread publishes one, and a worker changes to it when it next
 * looks. What a connection showed is looked up again then, so a token that was taken away is no
 * longer good on connections either.
 *
 * Thread safety: access_read is the main thread's; the rest may be called by each worker for
 * itself. */
#ifndef WIRE_ACCESS_H
#define WIRE_ACCESS_H

#include "wire/wire.h"

enum access_right {
    ACCESS_ASK = 1,
    ACCESS_REFUND = 2, /* and reset */
    ACCESS_ADMIN = 4,
    ACCESS_ALL = 7
};

/* What a connection has shown. All zero: nothing yet. */
struct access_login {
    bool shown;
    bool looked_up;
    unsigned rights;
    uint64_t serial; /* of the table that said so */
    uint8_t hash[32];
};

/* ---- the tokens ---- */

/* Empty: no token is good. NULL: no memory. */
struct access *access_create(void);
/* After the last worker has let go. */
void access_destroy(struct access **access);

/* Takes the tokens of a file. On failure those before stay in force, and *why has one line
 * ("FILE:3: ..."). */
STATUS_CHECKED enum status access_read(struct access *access, const char *path, struct buf *why);
/* The same from text; `path` is for the complaint. */
STATUS_CHECKED enum status access_read_text(struct access *access, struct slice text,
                                            const char *path, struct buf *why);
uint32_t access_count(const struct access *access);

/* The worker looks no more. */
void access_let_go(struct wire_worker *worker);

/* ---- what a peer may do ---- */

/* The rights of a token; 0: it is none of ours. Without tokens all rights. */
unsigned access_rights(struct wire_worker *worker, struct slice token);

/* A connection shows its token. False: it is none of ours; what was shown before is void. */
bool access_log_in(struct wire_worker *worker, struct access_login *login, struct slice token);
/* The rights of a connection now. */
unsigned access_login_rights(struct wire_worker *worker, struct access_login *login);

/* Does the peer have the right? False: *error says UNAUTHENTICATED or PERMISSION_DENIED. */
bool access_check(const struct wire_peer *peer, enum access_right right,
                  struct request_error *error);

/* May this peer refund and reset (--allow-changes, and with tokens its rights)? */
bool access_may_change(const struct wire_config *config, const struct wire_peer *peer);

/* The refusal, the same in every protocol. */
void access_deny_change(struct request_error *error);

/* The token of "Bearer TOKEN", the scheme in any case. False: it is no such value. */
bool access_bearer(struct slice value, struct slice *token);

#endif
