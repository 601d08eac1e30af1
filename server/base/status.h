/* One list of what can go wrong inside the program. Functions that can fail return 0 (STATUS_OK)
 * or one of these negative numbers, and mark it warn_unused_result with STATUS_CHECKED. */
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

#define STATUS_MAP(X) \
    X(NO_MEMORY, -1, "out of memory") \
    X(INVALID, -2, "not valid") \
    X(NOT_FOUND, -3, "not found") \
    X(DENIED, -4, "not permitted") \
    X(TOO_LARGE, -5, "larger than allowed") \
    X(IO, -6, "input or output failed") \
    X(STALE, -7, "decided against limits that were replaced meanwhile") \
    X(FULL, -8, "no room") \
    X(UNAVAILABLE, -9, "not available") \
    X(UNSUPPORTED, -10, "not in this build")

#define STATUS_ENUM(name, number, text) STATUS_##name = (number),
enum status { STATUS_OK = 0, STATUS_MAP(STATUS_ENUM) };
#undef STATUS_ENUM

#define STATUS_CHECKED __attribute__((warn_unused_result))

/* A static English phrase for a status; never NULL. */
const char *status_text(enum status status);

#endif
