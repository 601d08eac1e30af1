/* Limits files on disk: one, a directory of them, none; and large ones. */
#include "limits_text.h"

#include "base/clock.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define A "limits: {a: {algorithm: fixed_window, limit: 5, window: 60s}}\n"
#define B "limits: {b: {algorithm: fixed_window, limit: 5, window: 60s}}\n"

static char load_dir[] = "/tmp/sluice-limits-XXXXXX";

static void load_begin(void)
{
    cr_assert_not_null(mkdtemp(load_dir));
    cr_assert_eq(chdir(load_dir), 0);
    cr_assert_eq(mkdir("d", 0700), 0);
}

static void load_end(void)
{
    char command[100];
    cr_assert_eq(chdir("/"), 0);
    (void)snprintf(command, sizeof(command), "rm -rf %s", load_dir);
    cr_assert_eq(system(command), 0);
}

static void load_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file, "%s: %s", path, strerror(errno));
    cr_assert_geq(fputs(text, file), 0);
    cr_assert_eq(fclose(file), 0);
}

/* Loads and compares what is said; the set is NULL where it was refused. */
static struct policy_set *load(const char *path, enum status status, const char *said)
{
    struct limits_file_options options = limits_text_options();
    struct limits_file_report report;
    struct policy_set *set = NULL;
    limits_file_report_init(&report);
    cr_expect_eq(limits_file_load(path, &options, &set, &report), status, "%s", path);
    buf_append_byte(&report.text, '\0');
    cr_expect_str_eq((const char *)buf_slice(&report.text).data, said, "%s",
                     (const char *)buf_slice(&report.text).data);
    cr_expect_eq(set != NULL, status == STATUS_OK);
    cr_expect_eq(report.errors > 0, status != STATUS_OK);
    limits_file_report_deinit(&report);
    return set;
}

static void load_refused(const char *path, enum status status, const char *said)
{
    struct policy_set *set = load(path, status, said);
    policy_set_destroy(&set);
}

TestSuite(limits_file_load, .init = load_begin, .fini = load_end);

Test(limits_file_load, a_file)
{
    load_write("l.yaml", A "routes: {x: [a]}\n");
    struct policy_set *set = load("l.yaml", STATUS_OK, "");
    policy_set_destroy(&set);
    load_write("l.yaml", A "routes: {x: [b]}\n");
    load_refused("./l.yaml", STATUS_INVALID,
                 "./l.yaml:2:14: route \"x\": unknown limit \"b\"\n");
}

Test(limits_file_load, what_cannot_be_read)
{
    load_refused("none.yaml", STATUS_NOT_FOUND,
                 "none.yaml: cannot be read: No such file or directory\n");
    load_refused("d", STATUS_INVALID, "d: no *.yaml file in this directory\n");
    cr_assert_eq(mkdir("d/x.yaml", 0700), 0);
    load_refused("d", STATUS_IO, "d/x.yaml: cannot be read: Is a directory\n");
    load_write("l.yaml", A "routes: {x: [a]}\n");
    cr_assert_eq(chmod("l.yaml", 0), 0);
    if (geteuid() != 0) {
        load_refused("l.yaml", STATUS_DENIED, "l.yaml: cannot be read: Permission denied\n");
    }
}

Test(limits_file_load, a_directory_is_one_file)
{
    load_write("d/2.yaml", "routes: {x: [a, b]}\n");
    load_write("d/10.yaml", A);
    load_write("d/3.yaml", B "normalize_routes: [lowercase]\n");
    load_write("d/.hidden.yaml", "nonsense");
    load_write("d/readme.txt", "nonsense");
    load_write("d/.yaml", "nonsense");
    struct policy_set *set = load("d/", STATUS_OK, "");
    cr_assert_eq(set->limit_count, 2);
    cr_expect(slice_equal_text(set->limits[0].name, "a"), "10.yaml comes before 3.yaml");
    cr_expect_eq(set->normalise, POLICY_LOWERCASE);
    cr_expect_eq(set->routes[0].limit_count, 2);
    policy_set_destroy(&set);
}

Test(limits_file_load, names_and_routes_are_unique_over_a_directory)
{
    load_write("d/1.yaml", A "routes: {x: [a]}\nnormalize_routes: []\n");
    load_write("d/2.yaml", A "routes: {x: []}\nnormalize_routes: []\n");
    load_refused("d", STATUS_INVALID,
                 "d/2.yaml:1:10: limit \"a\" is defined twice, first in d/1.yaml line 1\n"
                 "d/2.yaml:2:10: route \"x\": the route stands here twice, first in d/1.yaml line "
                 "2\n"
                 "d/2.yaml:3:1: normalize_routes stands in two files, first in d/1.yaml line 3\n");
}

Test(limits_file_load, a_directory_may_lack_nothing)
{
    load_write("d/1.yaml", A);
    load_write("d/2.yaml", B);
    load_refused("d", STATUS_INVALID,
                 "d/1.yaml:1:1: missing field \"routes\"; {} says that nothing is limited\n");
    load_write("d/2.yaml", "");
    load_write("d/3.yaml", "routes: {x: [a, c]}\n");
    load_refused("d", STATUS_INVALID,
                 "d/2.yaml:1:1: the file is empty; expected limits and routes\n"
                 "d/3.yaml:1:17: route \"x\": unknown limit \"c\"\n");
}

Test(limits_file_load, a_broken_file_of_a_directory_hides_no_names)
{
    load_write("d/1.yaml", "limits: {a: {algorithm: fixed_window, \n");
    load_write("d/2.yaml", "routes: {x: [z]}\n");
    load_refused("d", STATUS_INVALID,
                 "d/1.yaml:2:1: not valid YAML: did not find expected node content while parsing a "
                 "flow node\n");
}

Test(limits_file_load, larger_than_allowed)
{
    load_write("d/1.yaml", A "routes: {x: [a]}\n");
    FILE *file = fopen("d/2.yaml", "w");
    cr_assert_not_null(file);
    for (uint32_t i = 0; i < LIMITS_FILE_BYTES_MAX / 64; i++) {
        cr_assert_eq(fwrite("#23456789012345678901234567890123456789012345678901234567890123\n", 1,
                            64, file),
                     64);
    }
    cr_assert_eq(fclose(file), 0);
    load_refused("d", STATUS_INVALID, "d/2.yaml: larger than a limits file may be (64 MiB)\n");
    load_refused("d/2.yaml", STATUS_INVALID,
                 "d/2.yaml:1:1: the file is empty; expected limits and routes\n");
}

static void load_timed(struct buf *text, int64_t most_ms, uint32_t limits, uint32_t routes)
{
    struct policy_set *set = NULL;
    int64_t ticks_ns = clock_ticks_ns();
    char *said = limits_text_read(buf_slice(text), &set);
    int64_t took_ms = (clock_ticks_ns() - ticks_ns) / 1000000;
    cr_assert_not_null(set, "%s", said);
    cr_expect_eq(set->limit_count, limits);
    cr_expect_eq(set->route_count, routes);
    cr_expect_leq(took_ms, most_ms, "took %lld ms", (long long)took_ms);
    policy_set_destroy(&set);
    free(said);
    buf_deinit(text);
}

/* The times allow for sanitizers and busy machines; quadratic work would pass them by far. */
Test(limits_file_load, sixteen_thousand_limits_and_routes)
{
    struct buf text;
    buf_init(&text, 0);
    buf_append_text(&text, "limits:\n");
    for (uint32_t i = 0; i < 16000; i++) {
        buf_printf(&text, "  l%u: {algorithm: fixed_window, limit: 5, window: day, timezone: "
                          "Europe/Berlin}\n", i);
    }
    buf_append_text(&text, "routes:\n");
    for (uint32_t i = 0; i < 16000; i++) {
        buf_printf(&text, "  \"GET /r%u/*/x%u\": [l%u]\n", i, i, i);
    }
    load_timed(&text, 5000, 16000, 16000);
}

Test(limits_file_load, a_hundred_thousand_overrides_and_plans)
{
    struct buf text;
    buf_init(&text, 0);
    buf_append_text(&text, "limits:\n  a:\n    algorithm: token_bucket\n    limit: 5\n"
                           "    window: 1s\n    plans:\n      by: plan\n      values:\n");
    for (uint32_t i = 0; i < 100000; i++) {
        buf_printf(&text, "        p%u: {limit: %u}\n", i, i);
    }
    buf_append_text(&text, "    overrides:\n");
    for (uint32_t i = 0; i < 100000; i++) {
        buf_printf(&text, "      - match: {key: k%u}\n        limit: %u\n", i, i);
    }
    buf_append_text(&text, "routes: {x: [a]}\n");
    load_timed(&text, 15000, 1, 1);
}
