/*
 * The step machine. Bytes that begin with '{' are a document, up to the end of the line: it is refused, or loads to a machine
 * that writes it back and keeps its promises whatever outcomes the bytes behind it choose. Any other bytes are the choices of
 * a host from the start of a run to its close. See tests/sim/machine_host.h.
 */
#include "fuzz/property.h"
#include "sim/machine_host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect_kept(const char *fault) {
    if (fault != NULL) fprintf(stderr, "broken: %s\n", fault);
    PROPERTY(fault == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0 || data[0] != '{') {
        choices c = choices_of_bytes(data, size);
        expect_kept(machine_host_play(&c, BREAK_NOTHING, NULL, NULL));
        return 0;
    }
    const uint8_t *end = memchr(data, '\n', size);
    size_t len = end != NULL ? (size_t)(end - data) : size;
    choices c = choices_of_bytes(data + len, size - len);
    bool accepted = false;
    expect_kept(machine_host_read(uar_str_n((const char *)data, len), &c, &accepted));
    return 0;
}
