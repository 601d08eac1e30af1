#include "engine/network.h"

/* The bits of byte `at` that the prefix covers. */
static uint8_t network_byte_mask(uint32_t prefix_bits, uint32_t at)
{
    uint32_t before = at * 8;
    uint32_t covered = prefix_bits <= before ? 0 : prefix_bits - before;
    return (uint8_t)(covered >= 8 ? 0xffu : 0xff00u >> covered);
}

void network_mask(uint8_t address[16], uint32_t prefix_bits)
{
    for (uint32_t i = 0; i < 16; i++) {
        address[i] &= network_byte_mask(prefix_bits, i);
    }
}

bool network_is_v4(const uint8_t network[16], uint32_t prefix_bits)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    return prefix_bits >= NETWORK_V4_PREFIX_BITS && memcmp(network, mapped, sizeof(mapped)) == 0;
}

bool network_contains(const uint8_t network[16], uint32_t prefix_bits, const uint8_t address[16],
                      bool address_is_v4)
{
    if (network_is_v4(network, prefix_bits) != address_is_v4) {
        return false;
    }
    for (uint32_t i = 0; i < 16 && i * 8 < prefix_bits; i++) {
        if ((address[i] & network_byte_mask(prefix_bits, i)) != network[i]) {
            return false;
        }
    }
    return true;
}

void network_print(const uint8_t network[16], uint32_t prefix_bits, struct buf *out)
{
    if (network_is_v4(network, prefix_bits)) {
        buf_printf(out, "%u.%u.%u.%u/%u", network[12], network[13], network[14], network[15],
                   prefix_bits - NETWORK_V4_PREFIX_BITS);
        return;
    }
    for (uint32_t i = 0; i < 16; i += 2) {
        unsigned group = (unsigned)network[i] << 8 | network[i + 1];
        buf_printf(out, "%s%x", i == 0 ? "" : ":", group);
    }
    buf_printf(out, "/%u", prefix_bits);
}
