/* links: libsluice */
/* What a server may send to the client: whatever the bytes, nothing but a clear "broken", and what
 * is taken is consistent. The first byte chooses what was asked. */
#include "sluice_decode.h"
#include "sluice_keep.h"

#include <stdlib.h>
#include <string.h>

#define ANSWERS 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
    if (!ok) {
        abort();
    }
}

static void check_text(struct sluice_bytes text)
{
    require(text.data != NULL && text.data[text.size] == '\0');
}

static void check_answer(const struct sluice_answer *answer)
{
    check_text(answer->limit_name);
    check_text(answer->lease_id);
    check_text(answer->error.field);
    check_text(answer->error.message);
    require(answer->retry_after_ns >= SLUICE_ABSENT && answer->delay_ns >= SLUICE_ABSENT);
    require(answer->decided == (answer->error.status == SLUICE_OK));
    require(answer->decided || !answer->allowed);
    for (size_t i = 0; i < answer->row_count; i++) {
        check_text(answer->rows[i].limit_name);
        check_text(answer->rows[i].algorithm);
        require(answer->rows[i].window_ns >= SLUICE_ABSENT);
    }
}

static void take_frame(const struct sluice_decode_frame *frame, uint8_t choice)
{
    static const unsigned kinds[] = {SLUICE_DECODE_ASK, SLUICE_DECODE_BATCH, SLUICE_DECODE_REFUND,
                                     SLUICE_DECODE_RESET};
    struct sluice_keep keep = {0};
    struct sluice_answer answers[ANSWERS];
    struct sluice_reset_answer reset;
    unsigned kind = kinds[choice & 3];
    size_t count = kind == SLUICE_DECODE_BATCH ? (size_t)(choice >> 2) % (ANSWERS + 1) : 1;
    if (kind == SLUICE_DECODE_RESET) {
        require((sluice_keep_reset(&keep, frame, &reset) == SLUICE_OK) == reset.decided);
        check_text(reset.error.field);
        check_text(reset.error.message);
    } else {
        (void)sluice_keep_answers(&keep, frame, kind, SLUICE_ON_ERROR_DENY, answers, count);
        for (size_t i = 0; i < count; i++) {
            check_answer(&answers[i]);
        }
    }
    sluice_keep_deinit(&keep);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sluice_decode_view bytes;
    struct sluice_decode_frame frame;
    size_t consumed;
    if (size == 0) {
        return 0;
    }
    uint8_t choice = data[0];
    data++;
    size--;
    while (sluice_decode_next(data, size, &bytes, &consumed) == SLUICE_DECODE_OK) {
        require(consumed > 0 && consumed <= size);
        if (sluice_decode_frame(bytes, &frame)) {
            take_frame(&frame, choice);
        }
        data += consumed;
        size -= consumed;
    }
    return 0;
}
