/* Time zones from the system's database: TZif files (RFC 8536) -> the table that calendar windows
 * work with. Any bytes may come in; what is no zone is refused. */
#ifndef ENGINE_ZONE_H
#define ENGINE_ZONE_H

#include "base/arena.h"
#include "base/status.h"
#include "limiter/calendar.h"

#define ZONE_DIR_DEFAULT "/usr/share/zoneinfo"

/* UTC, without any database. */
struct calendar_zone zone_utc(void);

/* The zone of a TZif file's bytes; its table goes to the arena. STATUS_INVALID: no zone;
 * STATUS_UNSUPPORTED: counts leap seconds; STATUS_NO_MEMORY. */
STATUS_CHECKED enum status zone_parse(struct slice bytes, struct arena *arena,
                                      struct calendar_zone *out);

/* The zone `name` of the database in `dir` (NULL: the default). `UTC` needs none. On failure
 * `why` continues the sentence that the name begins: "is unknown …". */
STATUS_CHECKED enum status zone_load(const char *dir, struct slice name, struct arena *arena,
                                     struct calendar_zone *out, char *why, size_t why_size);

#endif
