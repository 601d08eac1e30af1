/* 10 000 commands through the Redis adapter, warm: not one call of malloc. */
#include "../wire/resp_fixture.h"

/* The C library's own names for them. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *at, size_t size);

static unsigned long calls;

void *malloc(size_t size)
{
    calls++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    calls++;
    return __libc_calloc(count, size);
}

void *realloc(void *at, size_t size)
{
    calls++;
    return __libc_realloc(at, size);
}

enum { ROUNDS = 100, COMMANDS = 100 };

/* Both questions, a fraction of a nanosecond (a wide counter), an error, a quoted line, PING. */
static void write_round(struct buf *out)
{
    for (unsigned i = 0; i < COMMANDS; i++) {
        switch (i % 8) {
        case 0:
            buf_printf(out, "CL.THROTTLE \"key%u\" 1000 1 86400\r\n", i);
            break;
        case 1:
            buf_printf(out, "CL.THROTTLE key%u 1000 999999937 86400\r\n", i);
            break;
        case 2:
            buf_printf(out, "SLUICE.ALLOW key%u all 1 ATTR ip 192.0.2.7\r\n", i);
            break;
        case 3:
            buf_append_text(out, "CL.THROTTLE key 4 0 50\r\n");
            break;
        case 4:
            buf_append_text(out, "PING\r\n");
            break;
        default:
            buf_printf(out, "*5\r\n$11\r\nCL.THROTTLE\r\n$3\r\nk%02u\r\n$2\r\n15\r\n$2\r\n30\r\n"
                            "$2\r\n60\r\n", i);
            break;
        }
    }
}

int main(void)
{
    struct fixture fixture;
    struct buf round;
    unsigned long before = 0;
    buf_init(&round, 0);
    write_round(&round);
    resp_fixture_init(&fixture);
    for (int i = 0; i < ROUNDS + 2; i++) {
        if (i == 2) {
            before = calls;
        }
        fixture_require(resp_fixture_feed(&fixture, buf_slice(&round), NULL) == WIRE_MORE, "feed");
    }
    unsigned long warm = calls - before;
    uint64_t answered = fixture.answered;
    resp_fixture_deinit(&fixture);
    buf_deinit(&round);
    (void)printf("%llu answers, %lu allocations once warm\n", (unsigned long long)answered, warm);
    return warm == 0 && answered > (uint64_t)ROUNDS * COMMANDS / 2 ? 0 : 1;
}
