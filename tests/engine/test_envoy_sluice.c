/* The domain `sluice`: descriptors as requests to the limits file. */
#include "envoy_fixture.h"

static struct envoy_fixture e;

static void open_rules(void)
{
    envoy_fixture_open(&e, "domain: rl\ndescriptors: []\n");
}

static void close_rules(void)
{
    fixture_close(&e.f);
}

TestSuite(envoy_sluice, .init = open_rules, .fini = close_rules);

Test(envoy_sluice, counts_what_the_other_protocols_count)
{
    EXPECT_SLUICE(&e, AT(0), "key=a, route=fw", "o OK 2 3/HOURfw 3600s");
    EXPECT_ALLOWED(fixture_ask(&e.f, AT(0), "a", "fw"), 1);
    EXPECT_SLUICE(&e, AT(0), "route=fw, key=a #1", "o OK 0 3/HOURfw 3600s");
    EXPECT_SLUICE(&e, AT(1), "key=a, route=fw", "X OVER 0 3/HOURfw 3599s");
    EXPECT_SLUICE(&e, AT(1), "key=a, route=fw #0", "o OK 0 3/HOURfw 3599s");
    EXPECT_SLUICE(&e, AT(1), "key=a, route=fw #4", "X OVER 0 3/HOURfw");
    EXPECT_SLUICE(&e, AT(1), "key=a, route=fw #-2", "o OK 2 3/HOURfw 3599s");
    cr_expect_eq(fixture_count(&e.f, "fw", METRICS_ALLOWED), 4);
    cr_expect_eq(fixture_count(&e.f, "fw", METRICS_REFUSED), 1);
}

Test(envoy_sluice, descriptors_together_and_the_routes_cost)
{
    EXPECT_SLUICE(&e, AT(0), "key=a, route=both, ip=192.0.2.1; key=a, route=fw",
                  "o OK 1 3/HOURfw 3600s; OK 0 3/HOURfw 3600s");
    EXPECT_SLUICE(&e, AT(0), "key=b, route=fw; key=a, route=fw",
                  "X OK 3 3/HOURfw 3600s; OVER 0 3/HOURfw 3600s");
    EXPECT_SLUICE(&e, AT(0), "key=b, route=fw #0", "o OK 3 3/HOURfw 3600s");
    EXPECT_SLUICE(&e, AT(0), "key=c, route=fw #-1; key=a, route=fw",
                  "X OK 3 3/HOURfw 3600s; OVER 0 3/HOURfw 3600s");
}

Test(envoy_sluice, units_of_any_window)
{
    EXPECT_SLUICE(&e, AT(0), "key=a, route=odd", "o OK 1 2/UNKNOWNodd 2s");
    EXPECT_SLUICE(&e, AT(0), "key=a, route=monthly",
                  "o OK 4294967295 4294967295/MONTHmonthly 2678400s");
    EXPECT_SLUICE(&e, AT(0), "key=z, route=both, ip=192.0.2.9 #1",
                  "o OK 2 3/HOURfw 3600s");
    EXPECT_SLUICE(&e, AT(0), "key=z, route=both, ip=192.0.2.9 #0; key=y, route=both, "
                             "ip=192.0.2.9 #3",
                  "o OK 2 3/HOURfw 3600s; OK 0 3/HOURfw 3600s");
    EXPECT_SLUICE(&e, AT(0), "key=x, route=both, ip=192.0.2.9 #2",
                  "X OVER 0 4/SECOND*tb90 18s");
}

Test(envoy_sluice, what_does_not_limit)
{
    EXPECT_SLUICE(&e, AT(0), "key=a, route=open", "o OK");
    EXPECT_SLUICE(&e, AT(0), "key=a, route=nowhere", "o OK");
    EXPECT_SLUICE(&e, AT(0), "key=a, route=vip, plan=pro", "o OK 4294967295");
    EXPECT_SLUICE(&e, AT(0), "key=a, route=vip, plan=free", "o OK 0 1/HOURvip 3600s");
}

Test(envoy_sluice, what_is_no_request)
{
    const char *needs = "3 descriptors[0].entries: the domain sluice needs one entry key and one "
                        "entry route";
    EXPECT_SLUICE(&e, AT(0), "key=a", needs);
    EXPECT_SLUICE(&e, AT(0), "route=a", needs);
    EXPECT_SLUICE(&e, AT(0), "key=a, key=b, route=fw", needs);
    EXPECT_SLUICE(&e, AT(0), "key=a, route=fw, route=fw", needs);
    EXPECT_SLUICE(&e, AT(0), "key=a, route=fw @1/HOUR",
                  "3 descriptors[0].limit: the domain sluice is decided by the limits file only");
    EXPECT_SLUICE(&e, AT(0), "key=a, route=fw; key=, route=fw",
                  "3 descriptors[1].key: key is missing or empty; 1 to 1024 bytes were expected");
    EXPECT_SLUICE(&e, AT(0), "key=a, route=fw #0", "o OK 3 3/HOURfw 3600s");
    cr_expect(!envoy_fixture_try(&e, AT(0), "sluice", "key=a, route=both"));
    cr_expect_str_eq(e.error.field, "descriptors[0].attributes.ip");
}
