/* Loads a server with native frames: the same client for the echo server and for sluiced, so that
 * a ratio of the two compares servers alone. Frames are prepared; a turn on a connection is one
 * read, a walk over the answers (length, id in order, kind), one write.
 *
 * Usage: bench_load PORT CONNECTIONS IN_FLIGHT SECONDS [BATCH [RATE]]
 * RATE (frames a second over all connections) makes it an open loop: latency counts from when a
 * frame was due. Prints one line of JSON. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { LOAD_KEYS = 100000, LOAD_CONNECTIONS = 4096, LOAD_READ = 1 << 18, LOAD_BUCKETS = 1 << 16 };

static struct {
    uint8_t *bytes;
    size_t *at; /* where frame i begins; at[count] is the end */
    uint32_t count;
} ring;

struct connection {
    int fd;
    uint32_t next;     /* frame to send next */
    uint32_t expected; /* frame whose answer comes next */
    uint32_t flying;
    uint32_t owed;     /* frames to send once the kernel takes more */
    size_t unsent;     /* bytes of frames begun that the kernel did not take */
    size_t have;       /* bytes of an answer begun */
    uint8_t *rest;
    int64_t due[64];   /* open loop: when the frames in flight were due (a ring) */
    uint32_t due_head;
};

static struct connection connections[LOAD_CONNECTIONS];
static uint64_t histogram[LOAD_BUCKETS]; /* by 1 us */
static uint64_t answers;
static int64_t counting_from;
static uint8_t read_bytes[LOAD_READ * 2];

static int64_t now_ns(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
}

static void die(const char *what)
{
    (void)fprintf(stderr, "bench_load: %s: %s\n", what, strerror(errno));
    exit(1);
}

static size_t put_varint(uint8_t *out, uint64_t value)
{
    size_t n = 0;
    while (value >= 128) {
        out[n++] = (uint8_t)(value | 128);
        value >>= 7;
    }
    out[n++] = (uint8_t)value;
    return n;
}

/* Field 1 key, field 2 route: with batch 1 the whole frame has 64 bytes. */
static size_t put_question(uint8_t *out, uint32_t key)
{
    char text[40];
    int size = snprintf(text, sizeof(text), "user-%08u-0123456789abcdef", key);
    size_t n = 0;
    out[n++] = 0x0a;
    n += put_varint(out + n, (uint64_t)size);
    memcpy(out + n, text, (size_t)size);
    n += (size_t)size;
    static const char route[] = "GET /bench/route/a";
    out[n++] = 0x12;
    n += put_varint(out + n, sizeof(route) - 1);
    memcpy(out + n, route, sizeof(route) - 1);
    return n + sizeof(route) - 1;
}

static size_t put_frame(uint8_t *out, uint32_t index, uint32_t batch)
{
    static uint8_t body[1 << 18];
    uint8_t question[128];
    size_t size = 0;
    for (uint32_t i = 0; i < batch; i++) {
        size_t one = put_question(question, (index * batch + i) * 7919u % LOAD_KEYS);
        if (batch > 1) {
            body[size++] = 0x0a;
            size += put_varint(body + size, one);
        }
        memcpy(body + size, question, one);
        size += one;
    }
    uint8_t head[16];
    size_t head_size = 0;
    head[head_size++] = 0x08;
    head_size += put_varint(head + head_size, index + 1);
    head[head_size++] = batch > 1 ? 0x1a : 0x12;
    head_size += put_varint(head + head_size, size);
    size_t n = put_varint(out, head_size + size);
    memcpy(out + n, head, head_size);
    memcpy(out + n + head_size, body, size);
    return n + head_size + size;
}

static void prepare(uint32_t batch)
{
    ring.count = LOAD_KEYS / batch;
    ring.bytes = malloc((size_t)ring.count * (72 * (size_t)batch + 32));
    ring.at = malloc((ring.count + 1) * sizeof(*ring.at));
    if (ring.bytes == NULL || ring.at == NULL) {
        die("memory");
    }
    size_t at = 0;
    for (uint32_t i = 0; i < ring.count; i++) {
        ring.at[i] = at;
        at += put_frame(ring.bytes + at, i, batch);
    }
    ring.at[ring.count] = at;
}

/* Bytes of frame `end - 1` and before that the kernel did not take yet, up to ring.at[end]. */
static void send_up_to(struct connection *c, uint32_t end, size_t size)
{
    ssize_t n = send(c->fd, ring.bytes + ring.at[end] - size, size, MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN) {
        die("send");
    }
    c->unsent = size - (n > 0 ? (size_t)n : 0);
}

/* Sends `count` more frames in one write (two where the ring begins anew); what the kernel does
 * not take waits for the next turn. */
static void send_frames(struct connection *c, uint32_t count)
{
    c->owed += count;
    if (c->unsent > 0) {
        send_up_to(c, c->next == 0 ? ring.count : c->next, c->unsent);
    }
    while (c->owed > 0 && c->unsent == 0) {
        uint32_t first = c->next;
        uint32_t n = ring.count - first < c->owed ? ring.count - first : c->owed;
        c->next = (first + n) % ring.count;
        c->flying += n;
        c->owed -= n;
        send_up_to(c, first + n, ring.at[first + n] - ring.at[first]);
    }
}

static bool get_varint(const uint8_t *data, size_t size, size_t *at, uint64_t *out)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && *at < size; shift += 7) {
        uint8_t byte = data[(*at)++];
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            *out = value;
            return true;
        }
    }
    return false;
}

static void note_latency(int64_t since, int64_t now)
{
    int64_t us = (now - since) / 1000;
    histogram[us < 0 ? 0 : us >= LOAD_BUCKETS ? LOAD_BUCKETS - 1 : us]++;
}

/* Walks over the answers in data; returns how many were whole and moves *used behind them. */
static uint32_t take_answers(struct connection *c, const uint8_t *data, size_t size, size_t *used)
{
    uint32_t count = 0;
    for (;;) {
        size_t at = *used;
        uint64_t length = 0;
        uint64_t id = 0;
        if (!get_varint(data, size, &at, &length) || size - at < length) {
            return count;
        }
        size_t end = at + length;
        if (data[at++] != 0x08 || !get_varint(data, end, &at, &id) || id != c->expected + 1u ||
            (data[at] != 0x12 && data[at] != 0x1a)) {
            errno = EPROTO;
            die("a wrong answer");
        }
        c->expected = (c->expected + 1) % ring.count;
        *used = end;
        count++;
    }
}

static uint32_t turn(struct connection *c)
{
    memcpy(read_bytes, c->rest, c->have);
    ssize_t n = recv(c->fd, read_bytes + c->have, LOAD_READ, 0);
    if (n <= 0) {
        if (n < 0 && errno == EAGAIN) {
            return 0;
        }
        die("the server closed");
    }
    size_t size = c->have + (size_t)n;
    size_t used = 0;
    uint32_t count = take_answers(c, read_bytes, size, &used);
    c->have = size - used;
    if (c->have > LOAD_READ) {
        die("an answer too long");
    }
    memcpy(c->rest, read_bytes + used, c->have);
    c->flying -= count;
    return count;
}

static void open_connections(uint16_t port, uint32_t count, int poll)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (uint32_t i = 0; i < count; i++) {
        struct connection *c = &connections[i];
        int one = 1;
        c->fd = socket(AF_INET, SOCK_STREAM, 0);
        c->rest = malloc(LOAD_READ + 1);
        if (c->fd < 0 || c->rest == NULL ||
            connect(c->fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
            die("connect");
        }
        (void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        (void)fcntl(c->fd, F_SETFL, O_NONBLOCK);
        c->next = c->expected = (uint32_t)((uint64_t)ring.count * i / count);
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
        (void)epoll_ctl(poll, EPOLL_CTL_ADD, c->fd, &event);
    }
}

static void closed_loop(int poll, uint32_t count, uint32_t window, int64_t end)
{
    struct epoll_event events[256];
    int64_t sent[LOAD_CONNECTIONS];
    for (uint32_t i = 0; i < count; i++) {
        sent[i] = now_ns();
        send_frames(&connections[i], window);
    }
    for (int64_t now = now_ns(); now < end;) {
        int n = epoll_wait(poll, events, 256, 100);
        now = now_ns();
        for (int i = 0; i < n; i++) {
            struct connection *c = &connections[events[i].data.u32];
            uint32_t got = turn(c);
            if (now >= counting_from && got > 0) {
                answers += got;
                note_latency(sent[events[i].data.u32], now);
            }
            sent[events[i].data.u32] = now;
            if (got > 0 || c->owed > 0 || c->unsent > 0) {
                send_frames(c, got);
            }
        }
    }
}

/* Sends what is due, each frame on the next connection. */
static uint64_t send_due(uint32_t count, uint64_t sent, int64_t start, double gap, int64_t now)
{
    for (;;) {
        int64_t due = start + (int64_t)((double)sent * gap);
        if (due > now) {
            return sent;
        }
        struct connection *c = &connections[sent % count];
        if (c->flying >= 64) {
            errno = EBUSY;
            die("64 frames in flight on a connection: the rate is above what the server does");
        }
        c->due[(c->due_head + c->flying) % 64] = due;
        send_frames(c, 1);
        sent++;
    }
}

static void open_loop(int poll, uint32_t count, double rate, int64_t start, int64_t end)
{
    struct epoll_event events[256];
    uint64_t sent = 0;
    for (int64_t now = now_ns(); now < end;) {
        sent = send_due(count, sent, start, 1e9 / rate, now);
        int n = epoll_wait(poll, events, 256, 0);
        now = now_ns();
        for (int i = 0; i < n; i++) {
            struct connection *c = &connections[events[i].data.u32];
            uint32_t head = c->due_head;
            uint32_t got = turn(c);
            for (uint32_t k = 0; k < got; k++) {
                if (now >= counting_from) {
                    answers++;
                    note_latency(c->due[(head + k) % 64], now);
                }
            }
            c->due_head = (head + got) % 64;
        }
    }
}

static uint64_t percentile(double share)
{
    uint64_t total = 0;
    uint64_t seen = 0;
    for (uint32_t i = 0; i < LOAD_BUCKETS; i++) {
        total += histogram[i];
    }
    for (uint32_t i = 0; i < LOAD_BUCKETS; i++) {
        seen += histogram[i];
        if ((double)seen >= share * (double)total) {
            return i;
        }
    }
    return LOAD_BUCKETS;
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        (void)fprintf(stderr,
                      "usage: bench_load PORT CONNECTIONS IN_FLIGHT SECONDS [BATCH [RATE]]\n");
        return 2;
    }
    uint32_t count = (uint32_t)atoi(argv[2]);
    uint32_t batch = argc > 5 ? (uint32_t)atoi(argv[5]) : 1;
    double rate = argc > 6 ? atof(argv[6]) : 0;
    double seconds = atof(argv[4]);
    if (count == 0 || count > LOAD_CONNECTIONS || batch == 0 || batch > 1000) {
        (void)fprintf(stderr, "bench_load: 1 to 4096 connections, batches of 1 to 1000\n");
        return 2;
    }
    prepare(batch);
    int poll = epoll_create1(0);
    open_connections((uint16_t)atoi(argv[1]), count, poll);
    int64_t start = now_ns();
    counting_from = start + 500000000;
    int64_t end = counting_from + (int64_t)(seconds * 1e9);
    if (rate > 0) {
        open_loop(poll, count, rate, start, end);
    } else {
        closed_loop(poll, count, (uint32_t)atoi(argv[3]), end);
    }
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    double cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                 (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    (void)printf("{\"per_second\":%.0f,\"p50_us\":%llu,\"p99_us\":%llu,\"p999_us\":%llu,"
                 "\"client_cpu\":%.2f}\n",
                 (double)answers * batch / seconds, (unsigned long long)percentile(0.5),
                 (unsigned long long)percentile(0.99), (unsigned long long)percentile(0.999),
                 cpu / (seconds + 0.5));
    return 0;
}
