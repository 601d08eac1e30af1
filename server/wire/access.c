#include "wire/access.h"

bool access_may_change(const struct wire_config *config, const struct wire_peer *peer)
{
    switch (config->allow_changes) {
    case WIRE_CHANGES_LOCAL:
        return peer->local;
    case WIRE_CHANGES_ALL:
        return true;
    case WIRE_CHANGES_NONE:
        return false;
    }
    return false;
}

void access_deny_change(struct request_error *error)
{
    request_error_set(error, REQUEST_PERMISSION_DENIED, "",
                      "this peer may not refund or reset (--allow-changes)");
}
