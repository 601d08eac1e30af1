/* An engine over an Envoy file (and a limits file), asked in Envoy's terms by short texts:
 *
 *   "user=alice, path=/a"           one descriptor of two entries
 *   "user=alice; ip=192.0.2.1 #0"   two, the second a look
 *   "#n" hits, "-" in front of the number gives them back, "@2/HOUR" an override */
#ifndef TESTS_ENGINE_ENVOY_FIXTURE_H
#define TESTS_ENGINE_ENVOY_FIXTURE_H

#include "engine_fixture.h"

#include "engine/envoy_decide.h"

#include <stdlib.h>
#include <string.h>

#define ENVOY_LIMITS                                                                              \
    "limits:\n"                                                                                   \
    "  fw: {algorithm: fixed_window, limit: 3, window: 1h}\n"                                     \
    "  tb: {algorithm: token_bucket, limit: 10, window: 90s, burst: 4, count_by: [ip]}\n"         \
    "  odd: {algorithm: fixed_window, limit: 2, window: 1500ms}\n"                                \
    "  vip: {algorithm: fixed_window, limit: 1, window: 1h, plans: {by: plan, values: "           \
    "{free: {limit: 1}, pro: {unlimited: true}}}}\n"                                              \
    "  monthly: {algorithm: fixed_window, limit: 5000000000, window: month}\n"                    \
    "routes:\n"                                                                                   \
    "  fw: [fw]\n"                                                                                \
    "  both: {limits: [fw, tb], cost: 2}\n"                                                       \
    "  odd: [odd]\n"                                                                              \
    "  vip: [vip]\n"                                                                              \
    "  monthly: [monthly]\n"                                                                      \
    "  open: []\n"

struct envoy_fixture {
    struct fixture f;
    bool classic;
    uint32_t hits; /* of the requests */
    bool without_file;
    struct request_error error;
    struct envoy_answer answer;
};

static inline struct policy_set *envoy_fixture_parse(struct envoy_fixture *e, const char *envoy)
{
    struct limits_file_report report;
    struct policy_set *set = NULL;
    struct limits_file_options options = {.key = store_hash_key(e->f.store),
                                          .metrics = e->f.metrics,
                                          .now_ns = FIXTURE_T0,
                                          .envoy_path = e->without_file ? NULL : "e.yaml",
                                          .envoy_text = slice_text(envoy),
                                          .envoy_classic = e->classic};
    limits_file_report_init(&report);
    enum status status =
        limits_file_parse("limits.yaml", slice_text(ENVOY_LIMITS), &options, &set, &report);
    cr_assert(status == STATUS_OK, "%.*s", (int)report.text.size,
              (const char *)buf_slice(&report.text).data);
    limits_file_report_deinit(&report);
    return set;
}

static inline void envoy_fixture_open(struct envoy_fixture *e, const char *envoy)
{
    struct store_config config = {.shards = 4, .key = {.bytes = {9, 8, 7}}};
    e->f.store = store_create(&config);
    e->f.metrics = metrics_create(1);
    struct engine_config engine = {e->f.store, e->f.metrics, envoy_fixture_parse(e, envoy)};
    e->f.engine = engine_create(&engine);
    e->f.worker = engine_worker_create(e->f.engine, metrics_worker(e->f.metrics, 0));
    cr_assert(e->f.worker != NULL);
}

static inline void envoy_fixture_reload(struct envoy_fixture *e, int64_t now_ns, const char *envoy)
{
    struct policy_set *set = envoy_fixture_parse(e, envoy);
    enum status status;
    while ((status = engine_reload(e->f.engine, &set, now_ns, NULL)) == STATUS_UNAVAILABLE) {
        (void)engine_sweep(e->f.engine, now_ns, 64);
    }
    cr_assert_eq(status, STATUS_OK);
}

#define ENVOY_FIXTURE_ENTRIES 512

struct envoy_fixture_text {
    char copy[16384];
    struct envoy_descriptor descriptors[LIMITS_ENVOY_DESCRIPTORS_MAX + 1];
    struct envoy_entry entries[ENVOY_FIXTURE_ENTRIES];
};

static inline char *envoy_fixture_trim(char *text)
{
    text += strspn(text, " ");
    size_t size = strlen(text);
    while (size > 0 && text[size - 1] == ' ') {
        text[--size] = '\0';
    }
    return text;
}

static inline void envoy_fixture_override(struct envoy_descriptor *d, char *text)
{
    static const char *const units[] = {"UNKNOWN", "SECOND", "MINUTE", "HOUR",
                                        "DAY",     "MONTH",  "YEAR",   "WEEK"};
    char *slash = strchr(text, '/');
    d->has_override = true;
    d->override_requests = (uint32_t)strtoul(text, NULL, 10);
    d->override_unit = 99;
    for (unsigned i = 0; i < 8; i++) {
        if (strcmp(slash + 1, units[i]) == 0) {
            d->override_unit = i;
        }
    }
}

static inline struct envoy_request envoy_fixture_read(struct envoy_fixture_text *t,
                                                      const char *domain, const char *text)
{
    uint32_t entries = 0;
    char *more = NULL;
    struct envoy_request request = {.domain = slice_text(domain), .descriptors = t->descriptors};
    cr_assert_lt(strlen(text), sizeof(t->copy));
    (void)snprintf(t->copy, sizeof(t->copy), "%s", text);
    for (char *one = strtok_r(t->copy, ";", &more); one != NULL; one = strtok_r(NULL, ";", &more)) {
        struct envoy_descriptor *d = &t->descriptors[request.descriptor_count++];
        *d = (struct envoy_descriptor){.entries = &t->entries[entries]};
        char *at = strchr(one, '@');
        char *hits = strchr(one, '#');
        if (at != NULL) {
            *at = '\0';
            envoy_fixture_override(d, envoy_fixture_trim(at + 1));
        }
        if (hits != NULL) {
            *hits++ = '\0';
            d->negative = *hits == '-';
            d->has_hits = true;
            d->hits = strtoull(hits + d->negative, NULL, 10);
        }
        char *rest = NULL;
        for (char *pair = strtok_r(one, ",", &rest); pair != NULL;
             pair = strtok_r(NULL, ",", &rest)) {
            char *value = strchr(pair, '=');
            cr_assert_not_null(value, "%s", pair);
            *value++ = '\0';
            t->entries[entries++] =
                (struct envoy_entry){slice_text(envoy_fixture_trim(pair)), slice_text(value)};
            value = envoy_fixture_trim(value);
            t->entries[entries - 1].value = slice_text(value);
            d->entry_count++;
        }
    }
    return request;
}

static inline bool envoy_fixture_try(struct envoy_fixture *e, int64_t now_ns, const char *domain,
                                     const char *text)
{
    static struct envoy_fixture_text t;
    struct envoy_request request = envoy_fixture_read(&t, domain, text);
    request.hits = e->hits;
    e->error = (struct request_error){0};
    engine_enter(e->f.worker);
    bool done = envoy_decide(e->f.worker, &request, now_ns, &e->answer, &e->error);
    cr_expect_eq(done, e->error.code == REQUEST_OK);
    engine_leave(e->f.worker);
    return done;
}

/* One letter for the whole (o: OK, X: OVER_LIMIT), then a status each: "OK 1 2/HOUR 3600s", "OVER 0
 * 2/HOUR 30s", "OK" where nothing counts. Static. */
static inline const char *envoy_fixture_ask(struct envoy_fixture *e, int64_t now_ns,
                                            const char *domain, const char *text)
{
    static const char *const units[] = {"UNKNOWN", "SECOND", "MINUTE", "HOUR",
                                        "DAY",     "MONTH",  "YEAR",   "WEEK"};
    static char said[4096];
    if (!envoy_fixture_try(e, now_ns, domain, text)) {
        (void)snprintf(said, sizeof(said), "%d %s: %s", e->error.code, e->error.field,
                       e->error.message);
        return said;
    }
    int size = snprintf(said, sizeof(said), "%c",
                        e->answer.overall == ENVOY_CODE_OK ? 'o' : 'X');
    for (uint32_t i = 0; i < e->answer.count; i++) {
        const struct envoy_status *s = &e->answer.statuses[i];
        size += snprintf(said + size, sizeof(said) - (size_t)size, "%s%s", i == 0 ? " " : "; ",
                         s->code == ENVOY_CODE_OK ? "OK" : "OVER");
        if (s->has_limit || s->remaining > 0) {
            size += snprintf(said + size, sizeof(said) - (size_t)size, " %u", s->remaining);
        }
        if (s->has_limit) {
            size += snprintf(said + size, sizeof(said) - (size_t)size, " %u/%s%s%.*s",
                             s->requests_per_unit, units[s->unit],
                             s->unit_multiplier > 1 ? "*" : "", (int)s->name.size,
                             s->name.size > 0 ? (const char *)s->name.data : "");
        }
        if (s->has_limit && s->unit_multiplier > 1) {
            size += snprintf(said + size, sizeof(said) - (size_t)size, "%u", s->unit_multiplier);
        }
        if (s->has_reset) {
            size += snprintf(said + size, sizeof(said) - (size_t)size, " %llds",
                             (long long)s->reset_s);
        }
    }
    return said;
}

#define EXPECT_ENVOY(e, now_ns, text, expected)                                                   \
    do {                                                                                          \
        const char *said_ = envoy_fixture_ask(e, now_ns, "rl", text);                             \
        cr_expect_str_eq(said_, expected, "%s: %s; expected %s", text, said_, expected);          \
    } while (0)

#define EXPECT_SLUICE(e, now_ns, text, expected)                                                  \
    do {                                                                                          \
        const char *said_ = envoy_fixture_ask(e, now_ns, "sluice", text);                         \
        cr_expect_str_eq(said_, expected, "%s: %s; expected %s", text, said_, expected);          \
    } while (0)

#endif
