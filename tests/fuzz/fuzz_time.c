/*
 * Any bytes as a question at any time: a text is refused or read, a range is never empty, nearness is 0 to 1 and is 1
 * exactly inside, an earlier answer comes again. The first eight bytes of the input are the clock.
 */
#include <stdint.h>
#include <string.h>

#include "base/utf8.h"
#include "fuzz/property.h"
#include "index/time_expression.h"
#include "support/probe_alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_nearness(const time_range *r, int64_t ms) {
    double near = time_range_nearness(r, ms);
    bool is_inside = ms >= r->from_ms && ms < r->until_ms;
    PROPERTY(near >= 0 && near <= 1);
    PROPERTY(!is_inside || near >= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint64_t clock = 0;
    for (size_t i = 0; i < 8 && i < size; i++)
        clock = clock << 8 | data[i];
    int64_t now;
    memcpy(&now, &clock, sizeof now);
    uar_str text = size > 8 ? uar_str_n((const char *)data + 8, size - 8) : uar_str_n("", 0);
    probe_alloc probe;
    probe_alloc_init(&probe);
    bool found = false, again = false;
    time_range r = { 7, 9, 0 }, twin = { 7, 9, 0 };
    uar_status status = time_expression_find(&found, &r, &probe.door, text, now);
    PROPERTY(status == (utf8_is_valid(text) ? UAR_OK : UAR_E_UTF8));
    PROPERTY(time_expression_find(&again, &twin, &probe.door, text, now) == status);
    PROPERTY(found == again && r.from_ms == twin.from_ms && r.until_ms == twin.until_ms);
    PROPERTY(found || (r.from_ms == 7 && r.until_ms == 9));
    PROPERTY(r.from_ms < r.until_ms);
    check_nearness(&r, r.from_ms);
    check_nearness(&r, r.until_ms);
    check_nearness(&r, now);
    check_nearness(&r, INT64_MIN);
    check_nearness(&r, INT64_MAX);
    PROPERTY(probe.alive == 0);
    return 0;
}
