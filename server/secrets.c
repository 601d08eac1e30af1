#include "secrets.h"

#include <stdio.h>

static enum status secrets_read_tokens(struct secrets *secrets, struct buf *why)
{
    secrets->access = access_create();
    if (secrets->access == NULL) {
        buf_append_text(why, "--tokens: out of memory");
        return STATUS_NO_MEMORY;
    }
    return access_read(secrets->access, secrets->config->tokens, why);
}

enum status secrets_open(struct secrets *secrets, const struct config *config)
{
    struct buf why;
    enum status status = STATUS_OK;
    buf_init(&why, 0);
    secrets->config = config;
    watch_add(&secrets->watch, config->tls.cert);
    watch_add(&secrets->watch, config->tls.key);
    watch_add(&secrets->watch, config->tls.client_ca);
    watch_add(&secrets->watch, config->tokens);
    if (config->tls.cert != NULL) {
        status = tls_create(&config->tls, &secrets->tls, &why);
    }
    if (status == STATUS_OK && config->tokens != NULL) {
        status = secrets_read_tokens(secrets, &why);
    }
    if (status != STATUS_OK) {
        (void)fprintf(stderr, "sluiced: %.*s\n", (int)why.size,
                      (const char *)why.data + why.start);
    }
    buf_deinit(&why);
    return status;
}

void secrets_close(struct secrets *secrets)
{
    tls_destroy(&secrets->tls);
    access_destroy(&secrets->access);
}

/* Says how the reading of one kind of file went. */
static void secrets_log(const char *what, enum status status, const char *file, struct buf *why)
{
    if (status == STATUS_OK) {
        LOG_EVENT(LOG_LEVEL_INFO, "read again", {"what", slice_text(what)},
                  {"file", slice_text(file)});
    } else {
        LOG_EVENT(LOG_LEVEL_ERROR, "not taken, what was in force stays",
                  {"what", slice_text(what)}, {"why", buf_slice(why)});
    }
    buf_clear(why);
}

void secrets_read_again(struct secrets *secrets)
{
    const struct config *config = secrets->config;
    struct buf why;
    buf_init(&why, 0);
    watch_note(&secrets->watch);
    if (secrets->tls != NULL) {
        enum status status = tls_read_files(secrets->tls, &why);
        secrets_log("certificates", status, config->tls.cert, &why);
    }
    if (secrets->access != NULL) {
        enum status status = access_read(secrets->access, config->tokens, &why);
        secrets_log("tokens", status, config->tokens, &why);
    }
    buf_deinit(&why);
}

static void secrets_changed(void *data)
{
    secrets_read_again(data);
}

void secrets_start(struct secrets *secrets, uv_loop_t *loop)
{
    if (secrets->tls == NULL && secrets->access == NULL) {
        return;
    }
    secrets->watch.loop = loop;
    secrets->watch.changed = secrets_changed;
    secrets->watch.data = secrets;
    watch_start(&secrets->watch);
}

void secrets_stop(struct secrets *secrets)
{
    if (secrets->watch.started) {
        watch_stop(&secrets->watch);
    }
}

void secrets_warn(const struct secrets *secrets)
{
    if (secrets->access == NULL) {
        log_event(LOG_LEVEL_WARN,
                  "listening to other machines without --tokens: whoever reaches the port may ask",
                  NULL, 0);
    } else if (secrets->tls == NULL) {
        log_event(LOG_LEVEL_WARN,
                  "tokens are taken from other machines without --tls-cert: the network can read "
                  "them",
                  NULL, 0);
    }
}
