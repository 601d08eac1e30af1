/* Load for servers of the Redis protocol, the same for all: keeps so many commands in flight on
 * each connection and counts what comes back by its lines. Nothing of the server under test is
 * linked.
 * Usage: bench_resp_load PORT CONNECTIONS IN_FLIGHT SECONDS LINES WORD...
 * LINES: how many a reply has. `#` in a word stands for a random key of 6 digits.
 * Prints {"per_second": N}. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { COMMANDS = 4096, CONNECTIONS_MOST = 1024, READ_BYTES = 65536 };

struct load {
    char *commands; /* COMMANDS of them, all of one size, and as many bytes again of the first */
    size_t command_bytes;
    uint64_t lines_a_reply;
    uint32_t in_flight;
    uint64_t replies;
};

struct peer {
    int fd;
    uint64_t owed_bytes; /* commands that are due and not sent */
    size_t at;           /* in load.commands */
    uint64_t lines;      /* of the reply that is not whole */
};

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static char *write_command(char *at, char **words, int count)
{
    at += sprintf(at, "*%d\r\n", count);
    for (int i = 0; i < count; i++) {
        char word[256];
        size_t size = 0;
        for (const char *from = words[i]; *from != '\0' && size + 8 < sizeof(word); from++) {
            if (*from == '#') {
                size += (size_t)sprintf(word + size, "%06ld", random() % 100000);
            } else {
                word[size++] = *from;
            }
        }
        at += sprintf(at, "$%zu\r\n%.*s\r\n", size, (int)size, word);
    }
    return at;
}

static void prepare(struct load *load, char **words, int count)
{
    char probe[8192];
    load->command_bytes = (size_t)(write_command(probe, words, count) - probe);
    load->commands = malloc(COMMANDS * load->command_bytes + 1);
    if (load->commands == NULL) {
        fail("malloc");
    }
    char *at = load->commands;
    for (int i = 0; i < COMMANDS; i++) {
        at = write_command(at, words, count);
    }
}

/* Sends what is due, as far as the socket takes it. */
static void send_due(const struct load *load, struct peer *peer)
{
    size_t all = COMMANDS * load->command_bytes;
    while (peer->owed_bytes > 0) {
        size_t most = all - peer->at;
        size_t size = peer->owed_bytes < most ? (size_t)peer->owed_bytes : most;
        ssize_t done = send(peer->fd, load->commands + peer->at, size, MSG_DONTWAIT);
        if (done < 0) {
            if (errno == EAGAIN) {
                return;
            }
            fail("send");
        }
        peer->owed_bytes -= (uint64_t)done;
        peer->at = (peer->at + (size_t)done) % all;
    }
}

static void receive(struct load *load, struct peer *peer)
{
    static char bytes[READ_BYTES];
    ssize_t size = recv(peer->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (size <= 0) {
        fail("recv");
    }
    if (bytes[0] == '-') {
        fprintf(stderr, "error: %.60s\n", bytes);
        exit(1);
    }
    for (ssize_t i = 0; i < size; i++) {
        peer->lines += bytes[i] == '\n';
    }
    uint64_t replies = peer->lines / load->lines_a_reply;
    peer->lines %= load->lines_a_reply;
    load->replies += replies;
    peer->owed_bytes += replies * load->command_bytes;
    send_due(load, peer);
}

static int connect_to(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int one = 1;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        fail("connect");
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return fd;
}

static void run(struct load *load, int epoll, uint64_t until_ns)
{
    struct epoll_event events[64];
    while (now_ns() < until_ns) {
        int count = epoll_wait(epoll, events, 64, 100);
        for (int i = 0; i < count; i++) {
            receive(load, events[i].data.ptr);
        }
    }
}

int main(int argc, char **argv)
{
    static struct peer peers[CONNECTIONS_MOST];
    struct load load = {0};
    if (argc < 7) {
        fprintf(stderr, "usage: bench_resp_load PORT CONNECTIONS IN_FLIGHT SECONDS LINES "
                        "WORD...\n");
        return 2;
    }
    int connections = atoi(argv[2]);
    double seconds = atof(argv[4]);
    load.in_flight = (uint32_t)atoi(argv[3]);
    load.lines_a_reply = (uint64_t)atoi(argv[5]);
    prepare(&load, argv + 6, argc - 6);
    int epoll = epoll_create1(0);
    for (int i = 0; i < connections && i < CONNECTIONS_MOST; i++) {
        struct peer *peer = &peers[i];
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = peer};
        peer->fd = connect_to(atoi(argv[1]));
        peer->at = (size_t)(random() % COMMANDS) * load.command_bytes;
        peer->owed_bytes = load.in_flight * load.command_bytes;
        epoll_ctl(epoll, EPOLL_CTL_ADD, peer->fd, &event);
        send_due(&load, peer);
    }
    run(&load, epoll, now_ns() + 300000000u);
    load.replies = 0;
    uint64_t start_ns = now_ns();
    run(&load, epoll, start_ns + (uint64_t)(seconds * 1e9));
    printf("{\"per_second\": %.0f}\n", (double)load.replies * 1e9 / (double)(now_ns() - start_ns));
    return 0;
}
