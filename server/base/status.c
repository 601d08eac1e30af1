#include "base/status.h"

#define STATUS_CASE(name, number, text) \
    case STATUS_##name: \
        return text;

const char *status_text(enum status status)
{
    switch (status) {
    case STATUS_OK:
        return "ok";
        STATUS_MAP(STATUS_CASE)
    }
    return "unknown status";
}
