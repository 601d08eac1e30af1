#include "simulate_identity.h"

#include "base/text.h"

#include <arpa/inet.h>

#define LABEL_PART_BYTES 120u
#define V4_OFFSET 12u /* of the IPv4 address in ::ffff:a.b.c.d */

struct network {
    uint8_t bytes[16];
    bool is_v4;
    uint8_t bits;
};

/* The network that the limit counts an address under. False: it is no address. */
static bool fold(const struct policy_limit *limit, struct slice address, struct network *out)
{
    if (!policy_parse_address(address, out->bytes, &out->is_v4)) {
        return false;
    }
    out->bits = out->is_v4 ? limit->ip_v4_bits : limit->ip_v6_bits;
    unsigned kept = out->is_v4 ? V4_OFFSET * 8 + out->bits : out->bits;
    for (unsigned bit = kept; bit < 128; bit++) {
        out->bytes[bit / 8] = (uint8_t)(out->bytes[bit / 8] & ~(0x80u >> bit % 8));
    }
    return true;
}

static bool folds(const struct policy_limit *limit, uint32_t part)
{
    return limit->ip_prefix && limit->ip_part == part;
}

void simulate_identity_bytes(const struct policy_limit *limit, const struct request *request,
                             struct slice route, struct buf *out)
{
    buf_clear(out);
    for (uint32_t i = 0; i < limit->part_count; i++) {
        struct slice value = slice_make(NULL, 0);
        struct network network;
        (void)policy_part_value(&limit->parts[i], request, route, &value);
        if (folds(limit, i) && fold(limit, value, &network)) {
            value = slice_make(network.bytes, sizeof(network.bytes));
        }
        buf_append(out, &value.size, sizeof(value.size));
        buf_append_slice(out, value);
    }
}

static void append_network(struct buf *out, const struct network *network)
{
    char text[INET6_ADDRSTRLEN];
    const uint8_t *bytes = network->is_v4 ? network->bytes + V4_OFFSET : network->bytes;
    int family = network->is_v4 ? AF_INET : AF_INET6;
    if (inet_ntop(family, bytes, text, sizeof(text)) != NULL) {
        buf_append_text(out, text);
    }
    if (network->bits < (network->is_v4 ? 32 : 128)) {
        buf_printf(out, "/%u", network->bits);
    }
}

void simulate_identity_label(const struct policy_limit *limit, const struct request *request,
                             struct slice route, struct buf *out)
{
    buf_clear(out);
    if (limit->part_count == 0) {
        buf_append_text(out, "everybody");
    }
    for (uint32_t i = 0; i < limit->part_count; i++) {
        struct slice value = slice_make(NULL, 0);
        struct network network;
        buf_append_text(out, i > 0 ? " " : "");
        (void)policy_part_value(&limit->parts[i], request, route, &value);
        if (folds(limit, i) && fold(limit, value, &network)) {
            append_network(out, &network);
        } else {
            text_append_escaped(out, value, LABEL_PART_BYTES);
        }
    }
}
