/* What the operator of a running daemon may ask on an admin listener (wire/admin.h): gathers what
 * the parts of the daemon know. Called by the admin thread. */
#ifndef OPERATOR_H
#define OPERATOR_H

#include "control.h"
#include "wire/admin.h"

struct operator {
    struct wire_admin admin; /* for wire_config */
    struct control *control;
    struct metrics *metrics;
    struct engine *engine;
    int64_t start_ns;
};

/* control, metrics and engine are set. */
void operator_init(struct operator *operator);

#endif
