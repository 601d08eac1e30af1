#include "store/door_batch.h"

#include <stdlib.h>

struct door_batch *door_batch_create(void)
{
    struct door_batch *batch = calloc(1, sizeof(*batch));
    if (batch == NULL) {
        return NULL;
    }
    batch->records = malloc(DOOR_BATCH_RECORDS * sizeof(*batch->records));
    batch->uppers = malloc(DOOR_BATCH_RECORDS * sizeof(*batch->uppers));
    batch->logs = malloc(DOOR_BATCH_RECORDS * sizeof(*batch->logs));
    batch->entries = malloc(DOOR_BATCH_ENTRIES * sizeof(*batch->entries));
    if (batch->records == NULL || batch->uppers == NULL || batch->logs == NULL ||
        batch->entries == NULL) {
        door_batch_destroy(&batch);
    }
    return batch;
}

void door_batch_destroy(struct door_batch **batch)
{
    if (*batch != NULL) {
        free((*batch)->entries);
        free((*batch)->logs);
        free((*batch)->uppers);
        free((*batch)->records);
        free(*batch);
        *batch = NULL;
    }
}

void door_batch_clear(struct door_batch *batch)
{
    batch->record_count = 0;
    batch->upper_count = 0;
    batch->log_count = 0;
    batch->entry_count = 0;
}
