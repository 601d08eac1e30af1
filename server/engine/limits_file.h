/* Reads and checks a limits file (README, "The limits file"). Nothing is used before all is
 * checked; every error has file:line:column. */
#ifndef ENGINE_LIMITS_FILE_H
#define ENGINE_LIMITS_FILE_H

#include "base/buf.h"
#include "base/metrics.h"
#include "engine/policy.h"

/* Lines for people, in file order: errors (at most LIMITS_FILE_ERRORS_MAX, then "and 7 more"), or,
 * where the file was accepted, warnings. Each line ends in \n. */
struct limits_file_report {
    struct buf text;
    uint32_t errors;
    uint32_t warnings;
};

void limits_file_report_init(struct limits_file_report *report);
void limits_file_report_deinit(struct limits_file_report *report);

struct limits_file_options {
    const struct hash_key *key; /* of the store: for policy_limit.name_id */
    struct metrics *metrics;    /* where limits get their number; may be NULL */
    bool shadow_all;
    int64_t now_ns;             /* for "until in the past" */
    const char *zone_dir;       /* NULL: /usr/share/zoneinfo */
    const char *envoy_path;     /* a file or directory of envoyproxy/ratelimit's; NULL: none */
    struct slice envoy_text;    /* limits_file_parse only */
    bool envoy_classic;         /* its rules count as that program does */
};

/* `path` is a file, or a directory whose *.yaml are read in byte order of their names as one.
 * Places in messages start with `path` (or the file inside it) as given. */
STATUS_CHECKED enum status limits_file_load(const char *path,
                                            const struct limits_file_options *options,
                                            struct policy_set **out,
                                            struct limits_file_report *report);

/* The same from text; places start with `name`. options->envoy_text is what envoy_path names. */
STATUS_CHECKED enum status limits_file_parse(const char *name, struct slice text,
                                             const struct limits_file_options *options,
                                             struct policy_set **out,
                                             struct limits_file_report *report);

/* What identities of the limit of this name begin with (policy_limit.name_id). */
struct fingerprint limits_file_name_id(const struct hash_key *key, struct slice name);

#endif
