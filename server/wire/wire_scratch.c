#include "wire/wire_scratch.h"

#include <stdlib.h>

struct wire_scratch *wire_scratch_create(void)
{
    struct wire_scratch *scratch = calloc(1, sizeof(*scratch));
    if (scratch == NULL) {
        return NULL;
    }
    scratch->http2 = http2_pool_create();
    if (scratch->http2 == NULL) {
        wire_scratch_destroy(&scratch);
    }
    return scratch;
}

void wire_scratch_destroy(struct wire_scratch **scratch)
{
    if (*scratch != NULL) {
        http2_pool_destroy(&(*scratch)->http2);
    }
    free(*scratch);
    *scratch = NULL;
}
