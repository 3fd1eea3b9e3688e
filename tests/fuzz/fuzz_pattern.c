/*
 * A pattern, a line end, a text. The pattern is refused with a reason that says where, or it is searched for in the text
 * within its budget, and a slow matcher that steps back comes to the same answer.
 */
#include <stdint.h>
#include <string.h>

#include "base/utf8.h"
#include "fuzz/property.h"
#include "schema/pattern.h"
#include "support/probe_alloc.h"
#include "support/slow_pattern.h"

enum { STEPS = 100000, SLOW_STEPS = 20000, ROOM = 20000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_search(const pattern *p, const uar_allocator *a, uar_str written, uar_str text) {
    void *scratch = alloc_bytes(a, pattern_scratch(p));
    PROPERTY(scratch != NULL);
    uint64_t steps = STEPS, again = STEPS;
    pattern_answer answer = pattern_search(p, text, scratch, &steps);
    PROPERTY(steps < STEPS);
    PROPERTY(pattern_search(p, text, scratch, &again) == answer && again == steps);
    PROPERTY((steps == 0) >= (answer == PATTERN_SPENT));
    /* What a search may take: each instruction twice a character. */
    size_t most = (pattern_scratch(p) / (4 * sizeof(uint32_t))) * 2 * (text.len + 1) / PATTERN_VISITS + ROOM / 16;
    PROPERTY(answer == PATTERN_SPENT || STEPS - steps <= most);
    slow_answer slow = slow_pattern_search(written, text, SLOW_STEPS);
    if (answer != PATTERN_SPENT && slow <= SLOW_FOUND) PROPERTY((answer == PATTERN_FOUND) == (slow == SLOW_FOUND));
    alloc_free(a, scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *stop = size > 0 ? memchr(data, '\n', size) : NULL;
    uar_str written = uar_str_n(size > 0 ? (const char *)data : "", stop != NULL ? (size_t)(stop - data) : size);
    uar_str text = stop != NULL ? uar_str_n((const char *)stop + 1, size - written.len - 1) : uar_str_n("", 0);
    if (!utf8_is_valid(written) || !utf8_is_valid(text)) return 0;
    probe_alloc probe;
    probe_alloc_init(&probe);
    arena memory;
    arena_init(&memory, &probe.door);
    const pattern *p = NULL;
    size_t room = ROOM;
    pattern_fault fault = { "" };
    uar_status status = pattern_compile(&p, &memory, written, &room, &fault);
    PROPERTY(status == UAR_OK || status == UAR_E_SCHEMA || status == UAR_E_UNSUPPORTED);
    PROPERTY((status == UAR_OK) == (p != NULL) && (status == UAR_OK) == (room < ROOM));
    PROPERTY((status == UAR_OK) == (fault.text[0] == '\0'));
    if (status == UAR_OK)
        check_search(p, &probe.door, written, text);
    else
        PROPERTY(strstr(fault.text, " at character ") != NULL);
    arena_dispose(&memory);
    PROPERTY(probe.alive == 0);
    return 0;
}
