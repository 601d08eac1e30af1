/* Limits files as text: what is accepted, and what is said about the rest. */
#ifndef TESTS_ENGINE_LIMITS_TEXT_H
#define TESTS_ENGINE_LIMITS_TEXT_H

#include "engine/limits_file.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>

#define LIMITS_TEXT_NOW_NS INT64_C(1767225600000000000) /* 2026-01-01T00:00:00Z */

/* A good file in four lines: what tests put in the place of its parts is in line 2 or 4. */
#define LIMITS_TEXT_GOOD                                                                          \
    "limits:\n"                                                                                   \
    "  a: {algorithm: fixed_window, limit: 5, window: 60s}\n"                                     \
    "routes:\n"                                                                                   \
    "  \"*\": [a]\n"

static inline struct limits_file_options limits_text_options(void)
{
    static const struct hash_key key = {.bytes = {1, 2, 3, 4, 5, 6, 7, 8}};
    return (struct limits_file_options){.key = &key, .now_ns = LIMITS_TEXT_NOW_NS};
}

/* The lines said about `text`, malloc'd; *set is NULL where it was refused. */
static inline char *limits_text_read(struct slice text, struct policy_set **set)
{
    struct limits_file_options options = limits_text_options();
    struct limits_file_report report;
    limits_file_report_init(&report);
    enum status status = limits_file_parse("l.yaml", text, &options, set, &report);
    cr_assert_eq(status == STATUS_OK, *set != NULL);
    cr_assert_eq(status == STATUS_OK, report.errors == 0);
    char *said = strndup(report.text.data == NULL ? "" : (const char *)buf_slice(&report.text).data,
                         report.text.size);
    limits_file_report_deinit(&report);
    return said;
}

static inline struct policy_set *limits_text_set(const char *text)
{
    struct policy_set *set = NULL;
    char *said = limits_text_read(slice_text(text), &set);
    cr_assert(set != NULL, "refused:\n%s%s", said, text);
    free(said);
    return set;
}

/* The file is refused, and exactly this is said. */
static inline void limits_text_refused(const char *text, const char *expected)
{
    struct policy_set *set = NULL;
    char *said = limits_text_read(slice_text(text), &set);
    cr_expect_null(set);
    cr_expect_str_eq(said, expected, "said:\n%sexpected:\n%sof:\n%s", said, expected, text);
    policy_set_destroy(&set);
    free(said);
}

/* The file is accepted, and exactly this is said. */
static inline void limits_text_accepted(const char *text, const char *expected)
{
    struct policy_set *set = NULL;
    char *said = limits_text_read(slice_text(text), &set);
    cr_expect_not_null(set, "refused:\n%s%s", said, text);
    cr_expect_str_eq(said, expected, "said:\n%sexpected:\n%sof:\n%s", said, expected, text);
    policy_set_destroy(&set);
    free(said);
}

/* `text` with its first `from` replaced, malloc'd. */
static inline char *limits_text_with(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    cr_assert_not_null(at, "%s is not in\n%s", from, text);
    size_t size = strlen(text) + strlen(to) + 1;
    char *out = malloc(size);
    (void)snprintf(out, size, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return out;
}

static inline const struct policy_limit *limits_text_limit(const struct policy_set *set,
                                                           const char *name)
{
    for (uint32_t i = 0; i < set->limit_count; i++) {
        if (slice_equal_text(set->limits[i].name, name)) {
            return &set->limits[i];
        }
    }
    cr_assert_fail("no limit %s", name);
    return NULL;
}

static inline const struct limiter_policy *limits_text_numbers(const struct policy_set *set,
                                                               const struct policy_variant *variant)
{
    cr_assert_lt(variant->policy, set->policies.count);
    cr_assert_eq(set->policies.policies[variant->policy].id, variant->policy);
    return &set->policies.policies[variant->policy];
}

#endif
