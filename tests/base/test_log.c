#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "base/utf8.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <regex.h>
#include <stdio.h>
#include <unistd.h>

/* Standard error goes to a file while a test logs. */
struct capture {
    int stderr_fd;
    FILE *file;
    char *text;
    size_t size;
};

static void capture_begin(struct capture *capture)
{
    clock_start();
    capture->file = tmpfile();
    cr_assert_not_null(capture->file);
    capture->stderr_fd = dup(STDERR_FILENO);
    cr_assert_geq(dup2(fileno(capture->file), STDERR_FILENO), 0);
    /* As a log file would be opened: lines of several threads go one behind the other. */
    cr_assert_eq(fcntl(STDERR_FILENO, F_SETFL, O_APPEND), 0);
}

static void capture_end(struct capture *capture)
{
    cr_assert_geq(dup2(capture->stderr_fd, STDERR_FILENO), 0);
    (void)close(capture->stderr_fd);
    cr_assert_eq(fseek(capture->file, 0, SEEK_END), 0);
    capture->size = (size_t)ftell(capture->file);
    rewind(capture->file);
    capture->text = calloc(1, capture->size + 1);
    cr_assert_eq(fread(capture->text, 1, capture->size, capture->file), capture->size);
    (void)fclose(capture->file);
}

static void expect_match(const char *text, const char *pattern)
{
    regex_t regex;
    cr_assert_eq(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
    cr_expect_eq(regexec(&regex, text, 0, NULL, 0), 0, "%s does not match %s", text, pattern);
    regfree(&regex);
}

#define TIME_PATTERN "20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\\.[0-9]{3}Z"

Test(log, a_line_of_text)
{
    struct capture capture;
    capture_begin(&capture);
    log_setup(LOG_LEVEL_INFO, false);
    LOG_EVENT(LOG_LEVEL_INFO, "limits reloaded", {"file", slice_text("limits.yaml")},
              {"limits", slice_text("4")}, {"note", slice_text("")}, {"x", slice_text("a=b")});
    capture_end(&capture);
    expect_match(capture.text, "^time=" TIME_PATTERN
                               " level=info event=\"limits reloaded\" file=limits.yaml limits=4 "
                               "note=\"\" x=\"a=b\"\n$");
    free(capture.text);
}

Test(log, a_line_of_json)
{
    struct capture capture;
    capture_begin(&capture);
    log_setup(LOG_LEVEL_INFO, true);
    LOG_EVENT(LOG_LEVEL_WARN, "limits reloaded", {"file", slice_text("a\"b\n\xff")});
    capture_end(&capture);
    expect_match(capture.text, "^\\{\"time\":\"" TIME_PATTERN
                               "\",\"level\":\"warn\",\"event\":\"limits reloaded\","
                               "\"file\":\"a\\\\\"b\\\\n\xEF\xBF\xBD\"\\}\n$");
    free(capture.text);
}

Test(log, the_time_is_now)
{
    struct capture capture;
    capture_begin(&capture);
    log_setup(LOG_LEVEL_INFO, false);
    int64_t before_ns = clock_now_ns();
    log_event(LOG_LEVEL_ERROR, "now", NULL, 0);
    int64_t after_ns = clock_now_ns();
    capture_end(&capture);
    int64_t logged_ns;
    struct slice time = slice_make(capture.text + 5, strcspn(capture.text + 5, " "));
    cr_assert_eq(text_parse_time_ns(time, &logged_ns), STATUS_OK);
    cr_expect(logged_ns > before_ns - CLOCK_NS_PER_MS && logged_ns <= after_ns);
    free(capture.text);
}

Test(log, levels)
{
    struct capture capture;
    enum log_level level = LOG_LEVEL_INFO;
    cr_expect(log_parse_level("error", &level) && level == LOG_LEVEL_ERROR);
    cr_expect(log_parse_level("info", &level) && level == LOG_LEVEL_INFO);
    cr_expect(log_parse_level("debug", &level) && level == LOG_LEVEL_DEBUG);
    cr_expect(log_parse_level("warn", &level) && level == LOG_LEVEL_WARN);
    cr_expect_not(log_parse_level("warning", &level));
    cr_expect_not(log_parse_level("", &level));
    cr_expect_eq(level, LOG_LEVEL_WARN, "left alone");
    capture_begin(&capture);
    log_setup(LOG_LEVEL_WARN, false);
    log_event(LOG_LEVEL_DEBUG, "one", NULL, 0);
    log_event(LOG_LEVEL_INFO, "two", NULL, 0);
    log_event(LOG_LEVEL_WARN, "three", NULL, 0);
    log_event(LOG_LEVEL_ERROR, "four", NULL, 0);
    capture_end(&capture);
    cr_expect_null(strstr(capture.text, "one"));
    cr_expect_null(strstr(capture.text, "two"));
    cr_expect_not_null(strstr(capture.text, "level=warn event=three\n"));
    cr_expect_not_null(strstr(capture.text, "level=error event=four\n"));
    free(capture.text);
}

/* Any bytes in three values: one line each, valid UTF-8, no control byte but the last newline. */
static void expect_safe_lines(bool json)
{
    struct capture capture;
    uint8_t bytes[3][24];
    uint64_t state = 4;
    capture_begin(&capture);
    log_setup(LOG_LEVEL_INFO, json);
    for (int i = 0; i < 5000; i++) {
        for (size_t j = 0; j < sizeof(bytes); j++) {
            state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
            bytes[j / 24][j % 24] = (uint8_t)(state >> 56);
        }
        LOG_EVENT(LOG_LEVEL_INFO, "peer", {"a", slice_make(bytes[0], 24)},
                  {"b", slice_make(bytes[1], 24)}, {"c", slice_make(bytes[2], 24)});
    }
    capture_end(&capture);
    int lines = 0;
    for (size_t i = 0; i < capture.size; i++) {
        uint8_t byte = (uint8_t)capture.text[i];
        lines += byte == '\n';
        cr_assert(byte == '\n' || (byte >= ' ' && byte != 0x7F), "byte %02x", byte);
    }
    cr_expect_eq(lines, 5000);
    cr_expect(utf8_is_valid(slice_make(capture.text, capture.size)));
    free(capture.text);
}

Test(log, no_peer_forges_a_line_of_text)
{
    expect_safe_lines(false);
}

Test(log, no_peer_forges_a_line_of_json)
{
    expect_safe_lines(true);
}

Test(log, long_values_are_cut_and_long_lines_keep_what_fits)
{
    static char value[5000];
    memset(value, 'v', sizeof(value) - 1);
    for (int json = 0; json <= 1; json++) {
        struct capture capture;
        capture_begin(&capture);
        log_setup(LOG_LEVEL_INFO, json != 0);
        struct log_field fields[10];
        for (int i = 0; i < 9; i++) {
            fields[i] = (struct log_field){"v", slice_text(value)};
        }
        fields[9] = (struct log_field){"small", slice_text("s")};
        log_event(LOG_LEVEL_INFO, "long", fields, 10);
        capture_end(&capture);
        cr_expect_leq(capture.size, 4096, "a pipe takes it in one piece");
        cr_expect_eq(strchr(capture.text, '\n'), capture.text + capture.size - 1);
        cr_expect_not_null(strstr(capture.text, json ? "vvv...\"" : "vvv..."));
        cr_expect_not_null(strstr(capture.text, json ? "\"small\":\"s\",\"truncated\":true}\n"
                                                     : " small=s truncated=true\n"));
        free(capture.text);
    }
}

Test(log, a_hostile_value_still_fits_and_is_cut_between_characters)
{
    char value[2000];
    memset(value, 1, sizeof(value));
    for (int json = 0; json <= 1; json++) {
        struct capture capture;
        capture_begin(&capture);
        log_setup(LOG_LEVEL_INFO, json != 0);
        LOG_EVENT(LOG_LEVEL_INFO, "long", {"v", slice_make(value, sizeof(value))});
        capture_end(&capture);
        cr_expect_null(strstr(capture.text, "truncated"));
        cr_expect_not_null(strstr(capture.text, json ? "\\u0001\\u0001...\"" : "\\x01\\x01..."));
        free(capture.text);
    }
    for (size_t shift = 0; shift < 4; shift++) {
        struct capture capture;
        memset(value, 'a', shift);
        for (size_t i = shift; i + 4 <= sizeof(value); i += 4) {
            memcpy(value + i, "\U0001F600", 4);
        }
        capture_begin(&capture);
        log_setup(LOG_LEVEL_INFO, true);
        LOG_EVENT(LOG_LEVEL_INFO, "long", {"v", slice_make(value, 1900 + shift)});
        capture_end(&capture);
        cr_expect_null(strstr(capture.text, "\xEF\xBF\xBD"), "no half a character");
        free(capture.text);
    }
}

static void *log_many(void *argument)
{
    for (int i = 0; i < 2000; i++) {
        LOG_EVENT(LOG_LEVEL_INFO, "thread", {"who", slice_text(argument)});
    }
    return NULL;
}

Test(log, lines_of_threads_do_not_mix)
{
    static char names[3][301];
    pthread_t threads[3];
    struct capture capture;
    capture_begin(&capture);
    log_setup(LOG_LEVEL_INFO, false);
    for (int i = 0; i < 3; i++) {
        memset(names[i], 'a' + i, 300);
        cr_assert_eq(pthread_create(&threads[i], NULL, log_many, names[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
    }
    capture_end(&capture);
    int lines = 0;
    for (char *line = strtok(capture.text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        const char *who = strstr(line, " who=");
        cr_assert_eq(strncmp(line, "time=", 5), 0);
        cr_assert_not_null(who);
        cr_assert(strcmp(who + 5, names[who[5] - 'a']) == 0, "%s", line);
        lines++;
    }
    cr_expect_eq(lines, 6000);
    free(capture.text);
}

Test(log, errno_is_left_alone)
{
    struct capture capture;
    capture_begin(&capture);
    log_setup(LOG_LEVEL_INFO, false);
    (void)close(STDERR_FILENO);
    errno = ENOENT;
    log_event(LOG_LEVEL_ERROR, "nowhere to go", NULL, 0);
    cr_expect_eq(errno, ENOENT);
    capture_end(&capture);
    cr_expect_eq(capture.size, 0);
    free(capture.text);
}
