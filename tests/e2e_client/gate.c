/* A program as a user of libsluice writes it. For each line on stdin it asks about one request
 * ("KEY ROUTE" or "batch KEY ROUTE": the same three times) and prints one line:
 *
 *     allowed|refused decided|undecided MICROSECONDS WHY
 *
 * With "async" it asks through sluice_async.h, all lines of stdin at once. */
#include "sluice.h"
#include "sluice_async.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

static uint64_t asked_ns;

static void print(const struct sluice_answer *answer)
{
    printf("%s %s %" PRIu64 " %s\n", answer->allowed ? "allowed" : "refused",
           answer->decided ? "decided" : "undecided", (uv_hrtime() - asked_ns) / 1000,
           answer->error.message.data);
    (void)fflush(stdout);
}

/* "KEY ROUTE\n" -> a question pointing into the line; counts how often to ask it. */
static size_t parse(char *line, struct sluice_question *question)
{
    size_t count = 1;
    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, "batch ", 6) == 0) {
        line += 6;
        count = 3;
    }
    size_t key = strcspn(line, " ");
    const char *route = line + key + (line[key] == ' ');
    *question = (struct sluice_question){.key = {line, key}, .route = {route, strlen(route)}};
    return count;
}

static int run_blocking(const char *url, const struct sluice_options *options)
{
    struct sluice *client;
    char line[4096];
    if (sluice_open(url, options, &client) != SLUICE_OK) {
        (void)fprintf(stderr, "%s\n", options->why);
        return 1;
    }
    while (fgets(line, sizeof line, stdin) != NULL) {
        struct sluice_question questions[3];
        struct sluice_answer answers[3];
        size_t count = parse(line, &questions[0]);
        questions[1] = questions[2] = questions[0];
        asked_ns = uv_hrtime();
        if (count == 1) {
            (void)sluice_ask(client, questions, answers);
        } else {
            (void)sluice_ask_batch(client, questions, count, answers);
        }
        for (size_t i = 0; i < count; i++) {
            print(&answers[i]);
        }
    }
    sluice_close(&client);
    return 0;
}

static size_t waiting;

static void on_answer(void *context, const struct sluice_answer *answer)
{
    struct sluice_async **client = context;
    print(answer);
    if (--waiting == 0) {
        sluice_async_close(client, NULL, NULL);
    }
}

static int run_async(const char *url, const struct sluice_options *options)
{
    struct sluice_async *client;
    char line[4096];
    uv_loop_t *loop = uv_default_loop();
    if (sluice_async_open(loop, url, options, &client) != SLUICE_OK) {
        (void)fprintf(stderr, "%s\n", options->why);
        return 1;
    }
    asked_ns = uv_hrtime();
    while (fgets(line, sizeof line, stdin) != NULL) {
        struct sluice_question question;
        (void)parse(line, &question);
        waiting += sluice_async_ask(client, &question, on_answer, &client) == SLUICE_OK;
    }
    if (waiting == 0) {
        sluice_async_close(&client, NULL, NULL);
    }
    (void)uv_run(loop, UV_RUN_DEFAULT);
    return uv_loop_close(loop) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    char why[300] = "";
    struct sluice_options options = {.why = why, .why_size = sizeof why};
    if (argc < 3) {
        (void)fprintf(stderr, "usage: client_gate URL allow|deny [async [TIMEOUT_MS]]\n");
        return 2;
    }
    options.timeout_ms = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 0;
    (void)signal(SIGPIPE, SIG_IGN);
    options.on_error =
        strcmp(argv[2], "allow") == 0 ? SLUICE_ON_ERROR_ALLOW : SLUICE_ON_ERROR_DENY;
    return argc > 3 ? run_async(argv[1], &options) : run_blocking(argv[1], &options);
}
