/* What the operator asked for, from the command line, the environment and a file, checked. Only
 * main.c and control.c see it. */
#ifndef CONFIG_H
#define CONFIG_H

#include "base/arena.h"
#include "base/log.h"
#include "net/address.h"
#include "net/tls.h"
#include "store/store.h"
#include "wire/wire.h"

#define CONFIG_LISTENS 64

struct config_listen {
    const char *text; /* "native=127.0.0.1:7070", as given */
    const struct wire_protocol *protocol;
    struct address address;
    uint32_t shares; /* the listen whose socket this one uses: its own, or an earlier http's or
                      * grpc's at the same address */
};

struct config {
    struct arena arena; /* holds the texts */
    const char *limits;
    const char *envoy_config; /* NULL: none */
    bool envoy_classic;
    struct config_listen listens[CONFIG_LISTENS];
    uint32_t listen_count;
    uint32_t workers;
    bool no_state;
    const char *state_dir;
    int64_t snapshot_interval_ns;
    bool empty_bad_state; /* what cannot be loaded is put aside; else it is a reason not to start */
    uint64_t max_counters;     /* 0: no bound */
    uint64_t max_memory_bytes; /* 0: no bound */
    enum store_when_full when_full;
    uint64_t max_connections;
    int64_t idle_timeout_ns; /* 0: never */
    int64_t request_timeout_ns;
    int64_t shutdown_timeout_ns;
    enum wire_changes allow_changes;
    bool shadow_all;
    bool x_ratelimit_headers;
    struct tls_files tls; /* cert NULL: no TLS */
    const char *tokens;   /* NULL: none are asked for */
    enum log_level log_level;
    bool log_json;
};

enum config_result {
    CONFIG_RUN,     /* go on */
    CONFIG_PRINTED, /* what was asked for (--help …) is on stdout: exit 0 */
    CONFIG_WRONG    /* one sentence is on stderr: exit 2 */
};

enum config_result config_load(struct config *config, int argc, char **argv);
void config_deinit(struct config *config);

/* Raises the soft limit of open files to the hard one, and settles max_connections by it. */
void config_raise_files(struct config *config);

#endif
