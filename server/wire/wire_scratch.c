#include "wire/wire_scratch.h"

#include <stdlib.h>

struct wire_scratch *wire_scratch_create(void)
{
    return calloc(1, sizeof(struct wire_scratch));
}

void wire_scratch_destroy(struct wire_scratch **scratch)
{
    free(*scratch);
    *scratch = NULL;
}
