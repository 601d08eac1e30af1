/* Who may take counts back: refunds and resets change other callers' answers. */
#ifndef WIRE_ACCESS_H
#define WIRE_ACCESS_H

#include "wire/wire.h"

/* May this peer refund and reset (--allow-changes)? */
bool access_may_change(const struct wire_config *config, const struct wire_peer *peer);

/* The refusal, the same in every protocol. */
void access_deny_change(struct request_error *error);

#endif
