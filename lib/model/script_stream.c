/* Scripts for hosts: a line of a script on a uar_stream. */
#include "base/error.h"
#include "model/script.h"
#include "model/sink_stream.h"

uar_status uar_script_find(uar_str *line, size_t *number, uar_str script) {
    return script_find(line, number, script) ? UAR_OK : UAR_E_SCRIPT_EXHAUSTED;
}

uar_status uar_script_open(uar_script **out, uar_str line, size_t number, const uar_allocator *allocator,
                           uar_error *err) {
    return script_line_read(out, allocator != NULL ? allocator : &alloc_default, line, number, err);
}

uar_status uar_script_play(uint32_t *wait_ms, uar_script *script, uar_stream *stream) {
    model_sink sink = sink_of_stream(stream);
    script_step step = SCRIPT_PUSHED;
    uint32_t wait = 0;
    uar_status status = UAR_OK;
    while (status == UAR_OK && step == SCRIPT_PUSHED)
        status = script_line_next(&step, &wait, script, &sink);
    sink.release(sink.ctx);
    *wait_ms = step == SCRIPT_WAIT ? wait : UAR_FOREVER;
    return status;
}

void uar_script_free(uar_script *script) {
    script_line_free(script);
}
