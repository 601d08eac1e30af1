#include "zipf.h"

#include <math.h>
#include <stdlib.h>

#define EXPONENT 0.99

/* Columns of equal height: one that is too low is filled up from one that is too high, and each
 * step finishes the lower of the two. `order` holds the low ones from the left and the high ones
 * from the right. */
static void fill(struct zipf *zipf, double *weight, uint32_t *order)
{
    uint32_t low = 0;
    uint32_t high = zipf->count;
    for (uint32_t i = 0; i < zipf->count; i++) {
        zipf->columns[i] = (struct zipf_column){UINT32_MAX, i};
        if (weight[i] < 1.0) {
            order[low++] = i;
        } else {
            order[--high] = i;
        }
    }
    while (low > 0 && high < zipf->count) {
        uint32_t small = order[--low];
        uint32_t large = order[high];
        zipf->columns[small] =
            (struct zipf_column){(uint32_t)(weight[small] * (double)UINT32_MAX), large};
        weight[large] -= 1.0 - weight[small];
        if (weight[large] < 1.0) {
            high++;
            order[low++] = large;
        }
    }
}

bool zipf_init(struct zipf *zipf, uint32_t count)
{
    double *weight = calloc(count, sizeof *weight);
    uint32_t *order = calloc(count, sizeof *order);
    zipf->count = count;
    zipf->columns = calloc(count, sizeof *zipf->columns);
    bool ok = weight != NULL && order != NULL && zipf->columns != NULL;
    if (ok) {
        double sum = 0;
        for (uint32_t i = 0; i < count; i++) {
            weight[i] = pow((double)i + 1.0, -EXPONENT);
            sum += weight[i];
        }
        for (uint32_t i = 0; i < count; i++) {
            weight[i] *= (double)count / sum;
        }
        fill(zipf, weight, order);
    }
    free(weight);
    free(order);
    if (!ok) {
        zipf_deinit(zipf);
    }
    return ok;
}

void zipf_deinit(struct zipf *zipf)
{
    free(zipf->columns);
    *zipf = (struct zipf){0};
}
