/* Projections' byte side. The JSON writer of lib/base works on buffers; here it gets one that lives on the stack. */
#include "event/projection.h"

#include <assert.h>

#include "base/json.h"
#include "base/utf8.h"

#define PIECE 256        /* bytes of text escaped at once */
#define SCRATCH_MAX 2048 /* room for a piece of nothing but \u00XX, with quotes */

static_assert(PIECE * 6 + 3 <= SCRATCH_MAX, "a piece fits whatever it holds");

/* One block of fixed size, behind the allocator door. */
typedef struct scratch {
    buffer out;
    uar_allocator alloc;
    char bytes[SCRATCH_MAX];
} scratch;

static void *scratch_alloc(void *ctx, size_t size) {
    return size <= SCRATCH_MAX ? ctx : NULL;
}

static void *scratch_resize(void *ctx, void *ptr, size_t size) {
    assert(ptr == ctx);
    (void)ptr;
    return scratch_alloc(ctx, size);
}

static void scratch_release(void *ctx, void *ptr) {
    (void)ctx;
    (void)ptr;
}

static buffer *scratch_begin(scratch *s) {
    s->alloc = (uar_allocator){ .struct_size = UAR_ALLOCATOR_INIT,
                                .ctx = s->bytes,
                                .alloc = scratch_alloc,
                                .resize = scratch_resize,
                                .release = scratch_release };
    buffer_init(&s->out, &s->alloc, SCRATCH_MAX - 1);
    return &s->out;
}

void projection_begin(projection *p, uar_write_fn write, void *ctx) {
    p->write = write;
    p->ctx = ctx;
    p->status = UAR_OK;
    p->len = 0;
}

static void hand_on(projection *p, const char *bytes, size_t len) {
    if (p->status == UAR_OK && len != 0) p->status = p->write(p->ctx, bytes, len);
}

uar_status projection_end(projection *p) {
    hand_on(p, p->bytes, p->len);
    p->len = 0;
    return p->status;
}

void projection_str(projection *p, uar_str text) {
    if (text.len > sizeof p->bytes - p->len) projection_end(p);
    if (text.len > sizeof p->bytes) {
        hand_on(p, text.ptr, text.len);
        return;
    }
    if (text.len != 0) memcpy(p->bytes + p->len, text.ptr, text.len);
    p->len += text.len;
}

void projection_text(projection *p, const char *text) {
    projection_str(p, uar_str_of(text));
}

void projection_u64(projection *p, uint64_t value) {
    scratch s;
    buffer_append_u64(scratch_begin(&s), value);
    projection_str(p, buffer_str(&s.out));
}

void projection_i64(projection *p, int64_t value) {
    scratch s;
    buffer_append_i64(scratch_begin(&s), value);
    projection_str(p, buffer_str(&s.out));
}

void projection_f64(projection *p, double value) {
    scratch s;
    json_append_double(scratch_begin(&s), value);
    assert(s.out.status == UAR_OK);
    projection_str(p, buffer_str(&s.out));
}

void projection_uuid(projection *p, uar_uuid id) {
    char text[UAR_UUID_TEXT];
    uar_uuid_format(text, id);
    projection_text(p, text);
}

/* Length of the next piece: whole characters, or one byte where the text is broken. */
static size_t next_piece(uar_str text) {
    size_t len = utf8_cut(text, PIECE);
    return len != 0 ? len : 1;
}

void projection_json_string(projection *p, uar_str text) {
    scratch s;
    projection_text(p, "\"");
    while (text.len != 0) {
        size_t len = next_piece(text);
        json_append_string(scratch_begin(&s), uar_str_n(text.ptr, len));
        assert(s.out.status == UAR_OK && s.out.len >= 2);
        projection_str(p, uar_str_n(s.out.ptr + 1, s.out.len - 2));
        text = uar_str_n(text.ptr + len, text.len - len);
    }
    projection_text(p, "\"");
}
