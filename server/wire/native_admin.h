/* The native frames of an admin listener: Stats, Reload, Snapshot. */
#ifndef WIRE_NATIVE_ADMIN_H
#define WIRE_NATIVE_ADMIN_H

#include "wire/native_turn.h"
#include "wire/pb.h"

/* Answers one of the three, or says that they are answered on an admin listener only. False: out
 * has no room. */
bool native_admin_answer(struct native_turn *turn, const Sluice__V1__ClientFrame *message);

#endif
