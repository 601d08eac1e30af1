/* The status codes that Sluice answers with, and their phrases. */
#ifndef WIRE_HTTP_STATUS_H
#define WIRE_HTTP_STATUS_H

#include "engine/request.h"

/* "Too Many Requests"; "" for a status that no endpoint chooses by itself. */
const char *http_status_phrase(int status);

/* How a failed request is answered. */
int http_status_of_code(enum request_code code);

/* The code under which a failed request is counted. */
enum request_code http_status_code(int status);

#endif
