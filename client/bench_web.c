#include "bench_web.h"

#include "bench_answer.h"
#include "bench_conn.h"
#include "bench_question.h"
#include "sluice_web.h"

#include <curl/curl.h>
#include <stdlib.h>

#define NS_PER_MS INT64_C(1000000)
#define WAIT_MS 20
#define SILENCE_NS INT64_C(10000000000)

/* One request at a time; a connection's worth of HTTP/2 has several. */
struct place {
    struct bench_slot slot;
    struct sluice_web *web;
    enum sluice_encode_kind kind;
};

struct bench_web {
    CURLM *multi;
    struct place *places;
    uint32_t place_count;
    uint32_t *idle;
    uint32_t idle_count;
    uint32_t lost; /* places that are used no more: there was no connection */
    struct sluice_buffer frame;
    bool opening;
    bool grpc;
    uint32_t connections;
};

static int64_t now_ns(void)
{
    return (int64_t)uv_hrtime();
}

static bool make_places(struct bench_web *web, const struct sluice_url *url,
                        const struct sluice_options *secure)
{
    for (uint32_t i = 0; i < web->place_count; i++) {
        web->places[i].web = sluice_web_create(url, secure);
        if (web->places[i].web == NULL) {
            return false;
        }
        CURL *curl = sluice_web_handle(web->places[i].web);
        (void)curl_easy_setopt(curl, CURLOPT_PRIVATE, &web->places[i]);
        web->idle[web->idle_count++] = web->place_count - 1 - i;
    }
    return true;
}

struct bench_web *bench_web_create(const struct sluice_url *url,
                                   const struct sluice_options *secure, uint32_t connections,
                                   uint32_t in_flight)
{
    struct bench_web *web = calloc(1, sizeof *web);
    if (web == NULL) {
        return NULL;
    }
    web->place_count = connections * in_flight;
    web->connections = connections;
    web->grpc = url->scheme == SLUICE_URL_GRPC;
    web->places = calloc(web->place_count, sizeof *web->places);
    web->idle = calloc(web->place_count, sizeof *web->idle);
    web->multi = curl_multi_init();
    if (web->places == NULL || web->idle == NULL || web->multi == NULL ||
        !make_places(web, url, secure)) {
        bench_web_destroy(&web);
        return NULL;
    }
    (void)curl_multi_setopt(web->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
    (void)curl_multi_setopt(web->multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long)connections);
    (void)curl_multi_setopt(web->multi, CURLMOPT_MAXCONNECTS, (long)connections);
    (void)curl_multi_setopt(web->multi, CURLMOPT_MAX_CONCURRENT_STREAMS, (long)in_flight);
    return web;
}

void bench_web_destroy(struct bench_web **web_at)
{
    struct bench_web *web = *web_at;
    if (web == NULL) {
        return;
    }
    for (uint32_t i = 0; web->places != NULL && i < web->place_count; i++) {
        struct place *place = &web->places[i];
        if (place->web != NULL && place->slot.id != 0) {
            (void)curl_multi_remove_handle(web->multi, sluice_web_handle(place->web));
        }
        sluice_web_destroy(&place->web);
    }
    if (web->multi != NULL) {
        (void)curl_multi_cleanup(web->multi);
    }
    sluice_buffer_deinit(&web->frame);
    free(web->places);
    free(web->idle);
    free(web);
    *web_at = NULL;
}

/* Words the questions of a turn. False: that cannot be done, now or later. */
static bool prepare(struct bench_web *web, struct bench_worker *worker, struct place *place,
                    uint32_t questions)
{
    char message[256] = "there is no memory for the question";
    struct bench_question question = {0};
    sluice_buffer_clear(&web->frame);
    bool good = bench_load_frame(&worker->cursor, BENCH_LOAD_ID_MIN, questions,
                                 worker->config.is_batch, &web->frame) &&
                bench_question_read(&web->frame, &question) &&
                sluice_web_prepare(place->web, question.kind, question.questions, question.count,
                                   message, sizeof message) == SLUICE_OK;
    place->kind = question.kind;
    bench_question_deinit(&question);
    if (!good) {
        bench_result_trouble(&worker->result, "%s", message);
    }
    return good;
}

static void start(struct bench_web *web, struct bench_worker *worker,
                  const struct bench_worker_turn *turn)
{
    struct place *place = &web->places[web->idle[web->idle_count - 1]];
    if (!prepare(web, worker, place, turn->questions)) {
        worker->sending = false;
        worker->result.missing += turn->questions;
        return;
    }
    web->idle_count--;
    worker->outstanding++;
    place->slot.id = 1;
    place->slot.questions = turn->questions;
    place->slot.measured = turn->measured;
    place->slot.since_ns = turn->since_ns;
    (void)curl_multi_add_handle(web->multi, sluice_web_handle(place->web));
}

static void fill(struct bench_web *web, struct bench_worker *worker)
{
    struct bench_worker_turn turn;
    while (web->idle_count > 0 && bench_worker_turn(worker, now_ns(), &turn)) {
        start(web, worker, &turn);
    }
}

static void take(struct bench_web *web, struct bench_worker *worker, struct place *place,
                 CURLcode code)
{
    char message[256] = "";
    struct sluice_decode_frame frame;
    struct bench_result *result = &worker->result;
    const struct bench_slot *slot = &place->slot;
    int64_t now = now_ns();
    enum sluice_status status = sluice_web_finish(place->web, place->kind, (int)code, &frame,
                                                  message, sizeof message);
    if (status == SLUICE_UNREACHABLE || status == SLUICE_TIMEOUT) {
        result->missing += slot->questions;
        bench_result_trouble(result, "%s", message);
        web->lost++;
    } else if (status != SLUICE_OK || !bench_answer_take(worker, slot, &frame)) {
        result->wrong += slot->questions;
        bench_result_trouble(result, "%s",
                             status == SLUICE_OK ? "an answer was not one to its question"
                                                 : message);
    } else if (slot->measured) {
        int64_t latency = now - slot->since_ns;
        histogram_record(&result->latency_ns, latency < 0 ? 0 : (uint64_t)latency);
        bench_result_bin(result, now, slot->questions);
        result->last_ns = now;
    }
    place->slot.id = 0;
    worker->outstanding--;
    worker->last_heard_ns = now;
    atomic_fetch_add_explicit(&worker->progress, 1, memory_order_relaxed);
    if (status != SLUICE_UNREACHABLE && status != SLUICE_TIMEOUT) {
        web->idle[web->idle_count++] = (uint32_t)(place - web->places);
    }
}

/* What came of making a connection. */
static void take_hello(struct bench_web *web, struct bench_worker *worker, struct place *place,
                       CURLcode code)
{
    char message[256] = "";
    if (!sluice_web_finish_hello(place->web, (int)code, message, sizeof message)) {
        bench_result_trouble(&worker->result, "%s", message);
        worker->result.missing++;
        web->lost++;
    }
    place->slot.id = 0;
    worker->outstanding--;
    worker->last_heard_ns = now_ns();
}

static void drain(struct bench_web *web, struct bench_worker *worker)
{
    int left;
    for (CURLMsg *said; (said = curl_multi_info_read(web->multi, &left)) != NULL;) {
        void *place = NULL;
        CURL *curl = said->easy_handle;
        CURLcode code = said->data.result;
        (void)curl_easy_getinfo(curl, CURLINFO_PRIVATE, (char **)&place);
        (void)curl_multi_remove_handle(web->multi, curl);
        if (web->opening) {
            take_hello(web, worker, place, code);
        } else {
            take(web, worker, place, code);
        }
    }
}

/* Makes all connections at once. False: one could not be made. */
static bool open_all(struct bench_web *web, struct bench_worker *worker)
{
    int running;
    web->opening = true;
    worker->last_heard_ns = now_ns();
    for (uint32_t i = 0; i < web->connections; i++) {
        struct place *place = &web->places[i];
        sluice_web_prepare_hello(place->web);
        place->slot = (struct bench_slot){.id = 1};
        worker->outstanding++;
        (void)curl_multi_add_handle(web->multi, sluice_web_handle(place->web));
    }
    while (worker->outstanding > 0 && now_ns() - worker->last_heard_ns < SILENCE_NS) {
        (void)curl_multi_perform(web->multi, &running);
        drain(web, worker);
        if (worker->outstanding > 0) {
            (void)curl_multi_poll(web->multi, NULL, 0, WAIT_MS, NULL);
        }
    }
    web->opening = false;
    if (worker->outstanding > 0) {
        bench_result_trouble(&worker->result, "no answer came for 10 s");
        worker->result.missing += worker->outstanding;
    }
    for (uint32_t i = 0; i < web->place_count; i++) {
        sluice_web_set_warm(web->places[i].web);
    }
    return worker->outstanding == 0 && web->lost == 0;
}

/* False: it is over. */
static bool goes_on(struct bench_web *web, struct bench_worker *worker)
{
    int64_t now = now_ns();
    if (worker->config.rate == 0 && now >= worker->end_ns) {
        worker->sending = false;
    }
    if (worker->outstanding > 0 && now - worker->last_heard_ns > SILENCE_NS) {
        bench_result_trouble(&worker->result, "no answer came for 10 s");
        return false;
    }
    return web->lost < web->place_count && (worker->sending || worker->outstanding > 0);
}

/* Until something comes, or something is due. */
static void wait(struct bench_web *web, const struct bench_worker *worker)
{
    int64_t left_ns = bench_worker_due_ns(worker) - now_ns();
    int most_ms = worker->sending && web->idle_count > 0 && left_ns < WAIT_MS * NS_PER_MS
                      ? (int)(left_ns / NS_PER_MS)
                      : WAIT_MS;
    (void)curl_multi_poll(web->multi, NULL, 0, most_ms < 0 ? 0 : most_ms, NULL);
}

void bench_web_run(struct bench_web *web, struct bench_worker *worker, int64_t start_ns)
{
    int running;
    if (web->grpc && !open_all(web, worker)) {
        web->lost = web->place_count;
    }
    start_ns = web->grpc ? now_ns() : start_ns;
    bench_worker_begin(worker, start_ns);
    while (goes_on(web, worker)) {
        fill(web, worker);
        (void)curl_multi_perform(web->multi, &running);
        uint32_t idle = web->idle_count;
        drain(web, worker);
        if (idle == web->idle_count && worker->outstanding + (uint64_t)worker->sending > 0) {
            wait(web, worker);
        }
    }
    for (uint32_t i = 0; i < web->place_count; i++) {
        worker->result.missing += web->places[i].slot.id != 0 ? web->places[i].slot.questions : 0;
    }
    bench_worker_finish(worker);
}
