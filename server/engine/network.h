/* Networks of addresses: 16 bytes and a prefix length, IPv4 as ::ffff:a.b.c.d/96+n. */
#ifndef ENGINE_NETWORK_H
#define ENGINE_NETWORK_H

#include "base/buf.h"

#define NETWORK_V4_PREFIX_BITS 96u /* of ::ffff:0:0/96 */

/* Clears the bits beyond the prefix. */
void network_mask(uint8_t address[16], uint32_t prefix_bits);

/* Is it a network of IPv4 addresses? An IPv6 network never holds one, not even ::/0. */
bool network_is_v4(const uint8_t network[16], uint32_t prefix_bits);

bool network_contains(const uint8_t network[16], uint32_t prefix_bits, const uint8_t address[16],
                      bool address_is_v4);

/* "10.0.0.0/8", "2001:db8:0:0:0:0:0:0/32". */
void network_print(const uint8_t network[16], uint32_t prefix_bits, struct buf *out);

#endif
