/* 10 000 questions and 100 batches through the native adapter, warm: not one call of malloc. */
#include "../wire/native_fixture.h"

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

enum { ROUNDS = 100, QUESTIONS = 100 };

static void put_request(struct buf *out, unsigned number)
{
    char key[32];
    (void)snprintf(key, sizeof(key), "key%02u", number % 97);
    buf_append(out, "\x0a\x05", 2);
    buf_append(out, key, 5);
    buf_append_text(out, "\x12\x03");
    buf_append_text(out, "all");
    if (number % 3 == 0) {
        buf_append_text(out, "\x28\x01"); /* details */
    }
    if (number % 5 == 0) {
        buf_append_text(out, "\x22\x0f\x0a\x02ip\x12\x09" "192.0.2.7");
    }
}

static void put_message(struct buf *out, const struct buf *payload)
{
    for (size_t rest = payload->size; ; rest >>= 7) {
        buf_append_byte(out, (uint8_t)(rest < 0x80 ? rest : rest | 0x80));
        if (rest < 0x80) {
            break;
        }
    }
    buf_append_slice(out, buf_slice(payload));
}

/* Single questions, one odd one (an unknown field: protobuf-c's), a refund and a batch. */
static void write_round(struct buf *out)
{
    struct buf body;
    struct buf frame;
    struct buf batch;
    buf_init(&body, 0);
    buf_init(&frame, 0);
    buf_init(&batch, 0);
    for (unsigned i = 0; i <= QUESTIONS; i++) {
        buf_clear(&body);
        put_request(&body, i);
        buf_append_byte(&batch, 0x0a);
        put_message(&batch, &body);
        buf_clear(&frame);
        buf_append(&frame, "\x08\x01", 2);
        buf_append_byte(&frame, i == QUESTIONS ? 0x22 : 0x12);
        if (i == QUESTIONS / 2) {
            buf_append_text(&body, "\x78\x01");
        }
        put_message(&frame, &body);
        put_message(out, &frame);
    }
    buf_clear(&frame);
    buf_append_byte(&frame, 0x1a);
    put_message(&frame, &batch);
    put_message(out, &frame);
    buf_deinit(&body);
    buf_deinit(&frame);
    buf_deinit(&batch);
}

int main(void)
{
    struct fixture fixture;
    struct buf round;
    unsigned long before = 0;
    buf_init(&round, 0);
    write_round(&round);
    fixture_init(&fixture);
    for (int i = 0; i < ROUNDS + 2; i++) {
        if (i == 2) {
            before = calls;
        }
        fixture_require(fixture_feed(&fixture, buf_slice(&round), NULL) == WIRE_MORE, "feed");
    }
    unsigned long warm = calls - before;
    uint64_t answered = fixture.answered;
    fixture_deinit(&fixture);
    buf_deinit(&round);
    (void)printf("%llu answers, %lu allocations once warm\n", (unsigned long long)answered, warm);
    return warm == 0 && answered > (uint64_t)ROUNDS * QUESTIONS * 2 ? 0 : 1;
}
