#include "sluice_url.h"

#include <criterion/criterion.h>
#include <string.h>

static void expect_host(const char *text, const char *host, const char *port)
{
    struct sluice_url url;
    char why[200] = "";
    cr_assert_eq(sluice_url_parse(text, &url, why, sizeof why), SLUICE_OK, "%s: %s", text, why);
    cr_expect_not(url.is_unix);
    cr_expect_str_eq(url.host, host);
    cr_expect_str_eq(url.port, port);
}

static void expect_path(const char *text, const char *path)
{
    struct sluice_url url;
    cr_assert_eq(sluice_url_parse(text, &url, NULL, 0), SLUICE_OK, "%s", text);
    cr_expect(url.is_unix);
    cr_expect_str_eq(url.path, path);
}

static void expect_refused(const char *text, enum sluice_status status, const char *word)
{
    struct sluice_url url;
    char why[400] = "";
    cr_expect_eq(sluice_url_parse(text, &url, why, sizeof why), status, "%s", text);
    cr_expect(strstr(why, word) != NULL, "%s: %s", text, why);
}

Test(url, hosts)
{
    expect_host("native://127.0.0.1:7070", "127.0.0.1", "7070");
    expect_host("native://limits.example:1", "limits.example", "1");
    expect_host("native://[::1]:65535", "::1", "65535");
    expect_host("native://localhost", "localhost", "7070");
    expect_host("native://[fe80::1%eth0]", "fe80::1%eth0", "7070");
}

Test(url, schemes)
{
    static const struct {
        const char *text;
        enum sluice_url_scheme scheme;
        bool tls;
        const char *port;
    } rows[] = {{"native://h", SLUICE_URL_NATIVE, false, "7070"},
                {"http://h", SLUICE_URL_HTTP, false, "7080"},
                {"https://h", SLUICE_URL_HTTP, true, "7080"},
                {"grpc://h", SLUICE_URL_GRPC, false, "7081"},
                {"grpcs://h", SLUICE_URL_GRPC, true, "7081"},
                {"resp://h", SLUICE_URL_RESP, false, "7379"},
                {"unix:h", SLUICE_URL_NATIVE, false, ""}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sluice_url url;
        cr_assert_eq(sluice_url_parse(rows[i].text, &url, NULL, 0), SLUICE_OK);
        cr_expect_eq(url.scheme, rows[i].scheme, "%s", rows[i].text);
        cr_expect_eq(url.tls, rows[i].tls, "%s", rows[i].text);
        cr_expect_str_eq(url.port, rows[i].port);
    }
}

Test(url, unix_sockets)
{
    expect_path("unix:/run/sluice.sock", "/run/sluice.sock");
    expect_path("unix:///run/sluice.sock", "/run/sluice.sock");
    expect_path("unix:here.sock", "here.sock");
    expect_path("unix://here.sock", "here.sock");
}

Test(url, what_is_refused)
{
    char path[200] = "unix:/";
    memset(path + 6, 'p', 150);
    expect_refused("natives://127.0.0.1:7070", SLUICE_UNSUPPORTED, "natives is not in this build");
    expect_refused("resps://127.0.0.1:7379", SLUICE_UNSUPPORTED, "resps is not in this build");
    expect_refused("ftp://127.0.0.1", SLUICE_INVALID, "native://HOST:PORT");
    expect_refused("127.0.0.1:7070", SLUICE_INVALID, "native://HOST:PORT");
    expect_refused("", SLUICE_INVALID, "native://HOST:PORT");
    expect_refused("native://", SLUICE_INVALID, "no host");
    expect_refused("native://:7070", SLUICE_INVALID, "no host");
    expect_refused("native://h:0", SLUICE_INVALID, "port");
    expect_refused("native://h:65536", SLUICE_INVALID, "port");
    expect_refused("native://h:70x", SLUICE_INVALID, "port");
    expect_refused("native://h:-1", SLUICE_INVALID, "port");
    expect_refused("native://h:", SLUICE_INVALID, "port");
    expect_refused("native://h:7070/", SLUICE_INVALID, "port");
    expect_refused("native://h/x", SLUICE_INVALID, "no host");
    expect_refused("native://[::1:7070", SLUICE_INVALID, "bracket");
    expect_refused("native://[::1]7070", SLUICE_INVALID, "port");
    expect_refused("unix:", SLUICE_INVALID, "socket");
    expect_refused(path, SLUICE_INVALID, "107 bytes");
}

Test(url, a_short_buffer_gets_what_fits)
{
    struct sluice_url url;
    char why[8];
    cr_expect_eq(sluice_url_parse("nonsense", &url, why, sizeof why), SLUICE_INVALID);
    cr_expect_eq(strlen(why), 7);
}
