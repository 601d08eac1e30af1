#include "config_listen.h"

#include "wire/admin.h"
#include "wire/native.h"
#include "wire/resp.h"
#include "wire/web.h"
#include "wire/web_grpc.h"

#include <arpa/inet.h>

static const struct wire_protocol *const config_listen_protocols[] = {
    &native_protocol,
    &web_protocol,
    &web_grpc_protocol,
    &resp_protocol,
    &admin_protocol,
};

static const char *const config_listen_default_texts[] = {
    "native=127.0.0.1:7070",
    "http=127.0.0.1:7080",
    "grpc=127.0.0.1:7081",
    "resp=127.0.0.1:7379",
    "admin=127.0.0.1:7090",
};

#define CONFIG_LISTEN_COUNT(table) (sizeof(table) / sizeof((table)[0]))

static bool config_listen_expected(struct buf *why)
{
    buf_append_text(why, "expected PROTOCOL=ADDRESS, such as native=127.0.0.1:7070");
    return false;
}

static bool config_listen_protocol(struct config_listen *listen, struct slice name,
                                   struct buf *why)
{
    for (size_t i = 0; i < CONFIG_LISTEN_COUNT(config_listen_protocols); i++) {
        if (slice_equal_text(name, config_listen_protocols[i]->name)) {
            listen->protocol = config_listen_protocols[i];
            return true;
        }
    }
    return config_listen_expected(why);
}

/* http and grpc are told apart by their first bytes. */
static bool config_listen_is_web(const struct config_listen *listen)
{
    return listen->protocol == &web_protocol || listen->protocol == &web_grpc_protocol;
}

/* Port 0 picks another each time it is asked. */
static bool config_listen_picks_port(const struct address *address)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address->bytes;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address->bytes;
    return !address->is_unix &&
           (address->bytes.ss_family == AF_INET6 ? v6->sin6_port : v4->sin_port) == 0;
}

/* Whose socket this one uses: an earlier http or grpc listener's at the same address, or its
 * own. */
static uint32_t config_listen_shares(const struct config *config, uint32_t index)
{
    const struct config_listen *listen = &config->listens[index];
    for (uint32_t i = 0; i < index && config_listen_is_web(listen); i++) {
        const struct config_listen *other = &config->listens[i];
        if (config_listen_is_web(other) && other->protocol != listen->protocol &&
            !config_listen_picks_port(&listen->address) &&
            address_equal(&other->address, &listen->address)) {
            return i;
        }
    }
    return index;
}

bool config_listen_add(struct config *config, const char *text, struct buf *why)
{
    const char *equals = strchr(text, '=');
    const char *reason = NULL;
    if (config->listen_count == CONFIG_LISTENS) {
        buf_printf(why, "at most %d addresses", CONFIG_LISTENS);
        return false;
    }
    uint32_t index = config->listen_count++;
    struct config_listen *listen = &config->listens[index];
    listen->text = text;
    if (equals == NULL) {
        return config_listen_expected(why);
    }
    if (!config_listen_protocol(listen, slice_make(text, (size_t)(equals - text)), why)) {
        return false;
    }
    if (address_parse(equals + 1, &listen->address, &reason) != STATUS_OK) {
        buf_append_text(why, reason);
        return false;
    }
    listen->shares = config_listen_shares(config, index);
    return true;
}

bool config_listen_defaults(struct config *config, struct buf *why)
{
    for (size_t i = 0; i < CONFIG_LISTEN_COUNT(config_listen_default_texts); i++) {
        if (!config_listen_add(config, config_listen_default_texts[i], why)) {
            return false;
        }
    }
    return true;
}
