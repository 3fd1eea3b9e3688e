/* uar run: one turn. */
#include "commands.h"
#include "desk.h"
#include "file.h"
#include "output.h"

/* The prompt from the command line or from stdin, without its last line feed there. */
static int read_prompt(text_buffer *out, const app *a) {
    const char *operand = a->args.operands[0];
    if (strcmp(operand, "-") == 0) {
        int code = file_read(out, a, "-", "the prompt");
        if (code != CODE_OK) return code;
        if (out->len > 0 && out->data[out->len - 1] == '\n') out->data[--out->len] = '\0';
    } else {
        text_add_z(out, operand);
    }
    size_t bad = text_fault(out->data, out->len);
    if (bad < out->len) return report(a, UAR_E_UTF8, NULL, "the prompt is not valid UTF-8 at byte %zu", bad + 1);
    if (out->len == 0) return report_usage(a, NULL, "the prompt is empty");
    return CODE_OK;
}

int cmd_run(app *a) {
    desk_form form = DESK_TEXT;
    text_buffer prompt = { 0 };
    desk *d = NULL;
    int code = desk_form_of(&form, a);
    if (code == CODE_OK) code = read_prompt(&prompt, a);
    if (code == CODE_OK) code = desk_open(&d, a, form);
    if (code == CODE_OK) {
        desk_greet(d);
        code = desk_turn(d, text_str(&prompt));
        desk_close(d);
    }
    text_free(&prompt);
    return code;
}
