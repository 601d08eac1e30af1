/* links: sluice_client */
/* Any bytes as recorded traffic, in a format told or detected: never a crash, every line is either
 * an item or a complaint, and what comes out is in bounds. */
#include "traffic.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void touch(struct slice slice)
{
    volatile uint8_t sum = 0;
    for (size_t i = 0; i < slice.size; i++) {
        sum = (uint8_t)(sum + slice.data[i]);
    }
}

static void check_item(const struct traffic_item *item)
{
    const struct request *request = &item->request;
    touch(request->key);
    touch(request->route);
    touch(item->limits);
    touch(item->limits_file);
    for (uint32_t i = 0; i < request->attribute_count && i < LIMITS_ATTRIBUTES_MAX; i++) {
        touch(request->attributes[i].name);
        touch(request->attributes[i].value);
    }
    require(request->cost <= LIMITS_COST_MAX);
    require(item->op <= TRAFFIC_RELEASE && item->line > 0);
    require(item->op != TRAFFIC_RELOAD || item->has_limits != item->has_limits_file);
}

static uint64_t count_lines(const uint8_t *data, size_t size)
{
    uint64_t lines = size > 0 && data[size - 1] != '\n';
    for (size_t i = 0; i < size; i++) {
        lines += data[i] == '\n';
    }
    return lines;
}

static void read_all(const struct traffic_options *options, uint64_t lines)
{
    struct buf message;
    buf_init(&message, 0);
    struct traffic *traffic = traffic_open(options, &message);
    require(traffic != NULL || message.size > 0);
    uint64_t items = 0;
    struct traffic_item item;
    bool access_log = traffic != NULL && traffic_format_used(traffic) >= TRAFFIC_COMBINED;
    int64_t latest = INT64_MIN;
    while (traffic != NULL && traffic_next(traffic, &item, &message) == TRAFFIC_ITEM) {
        check_item(&item);
        require(!access_log || item.t_ns >= latest);
        latest = item.t_ns;
        items++;
    }
    require(traffic == NULL || items + traffic_unreadable(traffic) <= lines);
    traffic_close(&traffic);
    buf_deinit(&message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) {
        return 0;
    }
    char path[64];
    int fd = memfd_create("traffic", MFD_CLOEXEC);
    require(fd >= 0 && write(fd, data + 1, size - 1) == (ssize_t)(size - 1));
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    struct traffic_options options = {.path = path,
                                      .format = (enum traffic_format)(data[0] % 5),
                                      .key = (enum traffic_key)(data[0] / 5 % 3),
                                      .route = (enum traffic_route)(data[0] / 15 % 2)};
    read_all(&options, count_lines(data + 1, size - 1));
    (void)close(fd);
    return 0;
}
