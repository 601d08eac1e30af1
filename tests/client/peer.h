/* A server made of a thread and a script, for a client to meet what a daemon never does. It takes
 * one connection after the other and treats each as told. */
#ifndef PEER_H
#define PEER_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum peer_deed {
    PEER_ANSWER,   /* "allowed" to every question */
    PEER_REFUSE,   /* "refused" to every question */
    PEER_ERROR,    /* an Error to every question */
    PEER_SILENT,   /* reads and says nothing */
    PEER_CLOSE,    /* closes once something came */
    PEER_GARBAGE,  /* text that is no frame */
    PEER_HUGE,     /* a length above 16 MiB */
    PEER_WRONG_ID, /* an answer to another question */
    PEER_WRONG_KIND, /* a reset's answer */
    PEER_DRIBBLE,  /* a byte of a frame now and then, never the last */
    PEER_GOODBYE   /* says that it shuts down, and closes */
};

struct peer {
    int listener;
    pthread_t thread;
    atomic_bool stop;
    atomic_int accepted;
    enum peer_deed deeds[8]; /* of the first, second … connection; the last one goes on */
    int deed_count;
    char url[64];
    int port;
};

/* The id of the question at hand: the frames of a test's questions begin length, 08, id, and are
 * short, and its ids have at most two bytes. Waits until the whole frame is there; false when the
 * connection ended or the test is over. */
static inline bool peer_question(struct peer *peer, int fd, unsigned *id)
{
    uint8_t frame[512];
    size_t size = 0;
    while (!atomic_load(&peer->stop)) {
        ssize_t got = recv(fd, frame + size, size == 0 ? 1 : frame[0] + 1 - size, MSG_DONTWAIT);
        if (got == 0) {
            return false;
        }
        if (got < 0) {
            usleep(500);
            continue;
        }
        size += (size_t)got;
        if (size == (size_t)frame[0] + 1) {
            *id = frame[2] < 0x80 ? frame[2] : (frame[2] & 0x7fu) | (unsigned)frame[3] << 7;
            return true;
        }
    }
    return false;
}

static inline void peer_say(int fd, const void *bytes, size_t size)
{
    (void)!send(fd, bytes, size, MSG_NOSIGNAL);
}

/* Ids go back in two bytes, also where one would do. */
static inline void peer_answer(int fd, enum peer_deed deed, unsigned id)
{
    const uint8_t low = (uint8_t)(id | 0x80);
    const uint8_t high = (uint8_t)(id >> 7);
    const uint8_t allowed[] = {13, 8, low, high, 0x12, 8, 8, 1, 16, 9, 24, 8, 64, 1};
    const uint8_t refused[] = {11, 8, low, high, 0x12, 6, 16, 9, 64, 5, 24, 0};
    const uint8_t error[] = {16, 8, low, high, 0x7a, 11,  8,   3,  18,
                             3,  'k', 'e', 'y', 26,   2, 'n', 'o'};
    const uint8_t counters[] = {7, 8, low, high, 0x2a, 2, 8, 1};
    switch (deed) {
    case PEER_ANSWER:
        peer_say(fd, allowed, sizeof allowed);
        break;
    case PEER_REFUSE:
        peer_say(fd, refused, sizeof refused);
        break;
    case PEER_ERROR:
        peer_say(fd, error, sizeof error);
        break;
    case PEER_WRONG_ID:
        peer_answer(fd, PEER_ANSWER, id + 1000);
        break;
    case PEER_WRONG_KIND:
        peer_say(fd, counters, sizeof counters);
        break;
    case PEER_GARBAGE:
        peer_say(fd, "\x1fHTTP/1.1 400 Bad Request\r\n\r\nxxxxxxx", 35);
        break;
    case PEER_HUGE:
        peer_say(fd, "\xff\xff\xff\x7f", 4);
        break;
    case PEER_GOODBYE:
        peer_say(fd, "\x08\x7a\x06\x08\x0e\x1a\x02ok", 9);
        break;
    default:
        break;
    }
}

static inline void peer_serve(struct peer *peer, int fd, enum peer_deed deed)
{
    unsigned id;
    while (peer_question(peer, fd, &id)) {
        peer_answer(fd, deed, id);
        if (deed == PEER_CLOSE || deed == PEER_GOODBYE) {
            return;
        }
        for (int i = 0; deed == PEER_DRIBBLE && i < 200 && !atomic_load(&peer->stop); i++) {
            peer_say(fd, i == 0 ? "\x7f" : "\x08", 1);
            usleep(3000);
        }
    }
}

static inline void *peer_run(void *argument)
{
    struct peer *peer = argument;
    while (!atomic_load(&peer->stop)) {
        int fd = accept(peer->listener, NULL, NULL);
        if (fd < 0) {
            break;
        }
        int turn = atomic_fetch_add(&peer->accepted, 1);
        int last = peer->deed_count - 1;
        peer_serve(peer, fd, peer->deeds[turn < last ? turn : last]);
        close(fd);
    }
    return NULL;
}

/* port 0: any. Give deeds and deed_count before. */
static inline bool peer_start(struct peer *peer, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    socklen_t size = sizeof address;
    int one = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    peer->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)setsockopt(peer->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(peer->listener, (struct sockaddr *)&address, size) != 0 ||
        listen(peer->listener, 16) != 0 ||
        getsockname(peer->listener, (struct sockaddr *)&address, &size) != 0) {
        return false;
    }
    peer->port = ntohs(address.sin_port);
    (void)snprintf(peer->url, sizeof peer->url, "native://127.0.0.1:%d", peer->port);
    atomic_store(&peer->stop, false);
    atomic_store(&peer->accepted, 0);
    return pthread_create(&peer->thread, NULL, peer_run, peer) == 0;
}

static inline void peer_stop(struct peer *peer)
{
    atomic_store(&peer->stop, true);
    (void)shutdown(peer->listener, SHUT_RDWR);
    pthread_join(peer->thread, NULL);
    close(peer->listener);
}

#endif
