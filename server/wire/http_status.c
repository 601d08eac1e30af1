#include "wire/http_status.h"

static const struct {
    int status;
    enum request_code code;
    const char *phrase;
} http_statuses[] = {
    {200, REQUEST_OK, "OK"},
    {400, REQUEST_INVALID_ARGUMENT, "Bad Request"},
    {401, REQUEST_UNAUTHENTICATED, "Unauthorized"},
    {403, REQUEST_PERMISSION_DENIED, "Forbidden"},
    {404, REQUEST_NOT_FOUND, "Not Found"},
    {405, REQUEST_UNIMPLEMENTED, "Method Not Allowed"},
    {408, REQUEST_UNAVAILABLE, "Request Timeout"},
    {411, REQUEST_INVALID_ARGUMENT, "Length Required"},
    {413, REQUEST_RESOURCE_EXHAUSTED, "Content Too Large"},
    {415, REQUEST_INVALID_ARGUMENT, "Unsupported Media Type"},
    {417, REQUEST_INVALID_ARGUMENT, "Expectation Failed"},
    {422, REQUEST_INVALID_ARGUMENT, "Unprocessable Content"},
    {429, REQUEST_OK, "Too Many Requests"},
    {431, REQUEST_RESOURCE_EXHAUSTED, "Request Header Fields Too Large"},
    {500, REQUEST_INTERNAL, "Internal Server Error"},
    {501, REQUEST_UNIMPLEMENTED, "Not Implemented"},
    {503, REQUEST_UNAVAILABLE, "Service Unavailable"},
    {505, REQUEST_UNIMPLEMENTED, "HTTP Version Not Supported"},
};

const char *http_status_phrase(int status)
{
    for (size_t i = 0; i < sizeof(http_statuses) / sizeof(http_statuses[0]); i++) {
        if (http_statuses[i].status == status) {
            return http_statuses[i].phrase;
        }
    }
    return "";
}

int http_status_of_code(enum request_code code)
{
    switch (code) {
    case REQUEST_OK:
        return 200;
    case REQUEST_INVALID_ARGUMENT:
        return 400;
    case REQUEST_NOT_FOUND:
        return 404;
    case REQUEST_PERMISSION_DENIED:
        return 403;
    case REQUEST_RESOURCE_EXHAUSTED:
        return 413;
    case REQUEST_UNIMPLEMENTED:
        return 501;
    case REQUEST_INTERNAL:
        return 500;
    case REQUEST_UNAVAILABLE:
        return 503;
    case REQUEST_UNAUTHENTICATED:
        return 401;
    }
    return 500;
}

enum request_code http_status_code(int status)
{
    for (size_t i = 0; i < sizeof(http_statuses) / sizeof(http_statuses[0]); i++) {
        if (http_statuses[i].status == status) {
            return http_statuses[i].code;
        }
    }
    return REQUEST_INTERNAL;
}
