/* links: sluice_wire
 *
 * Any bytes as a file of tokens: refused with one line that names file and line, or a table that,
 * written out again, is read as the same. */
#include "wire/access_file.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_require(bool good)
{
    if (!good) {
        abort();
    }
}

static void fuzz_write(const struct access_table *table, struct buf *out)
{
    for (uint32_t i = 0; i < table->count; i++) {
        const struct access_token *token = &table->tokens[i];
        fuzz_require(token->name_size > 0 && token->name_size <= LIMITS_TOKEN_NAME_BYTES_MAX);
        fuzz_require(token->rights != 0 && (token->rights & ~(unsigned)ACCESS_ALL) == 0);
        buf_append(out, token->name, token->name_size);
        buf_append_byte(out, ':');
        for (size_t j = 0; j < HASH_SECRET_BYTES; j++) {
            buf_printf(out, "%02X", token->hash[j]);
        }
        buf_append_text(out, (token->rights & ACCESS_ADMIN) != 0 ? " admin" : "");
        buf_append_text(out, (token->rights & ACCESS_REFUND) != 0 ? ",refund" : "");
        buf_append_text(out, (token->rights & ACCESS_ASK) != 0 ? " ask" : "");
        buf_append_byte(out, '\n');
    }
}

static void fuzz_equal(const struct access_table *a, const struct access_table *b)
{
    fuzz_require(a->count == b->count);
    for (uint32_t i = 0; i < a->count; i++) {
        fuzz_require(memcmp(&a->tokens[i], &b->tokens[i], sizeof(a->tokens[i])) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf why;
    struct buf text;
    buf_init(&why, 0);
    buf_init(&text, 0);
    struct access_table *table = access_file_parse(slice_make(data, size), "tokens", &why);
    fuzz_require((table == NULL) == (why.size > 0));
    if (table == NULL) {
        fuzz_require(memcmp(why.data + why.start, "tokens:", 7) == 0);
        fuzz_require(memchr(why.data + why.start, '\n', why.size) == NULL);
    } else {
        fuzz_write(table, &text);
        struct access_table *again = access_file_parse(buf_slice(&text), "again", &why);
        fuzz_require(again != NULL);
        fuzz_equal(table, again);
        free(again);
    }
    free(table);
    buf_deinit(&why);
    buf_deinit(&text);
    return 0;
}
