/* Lists that come in pages: see pages.h. */
#include "pages.h"

#include "json_out.h"
#include "output.h"
#include "stores.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>

int pages_limit(uint64_t *limit, const app *a) {
    const char *text = args_get(&a->args, "limit");
    *limit = 0;
    if (text == NULL) return CODE_OK;
    if (parse_number(limit, text, UINT32_MAX) && *limit > 0) return CODE_OK;
    return report_usage(a, NULL, "--limit takes a whole number from 1, not '%s'", text);
}

static bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
}

static int hex_of(char c) {
    const char *digits = "0123456789ABCDEF";
    const char *at = c != '\0' ? strchr(digits, c) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

int pages_after(text_buffer *cursor, const app *a) {
    const char *text = args_get(&a->args, "after");
    for (const char *p = text; p != NULL && *p != '\0'; p++) {
        char byte = *p;
        if (byte == '%') {
            int high = hex_of(p[1]);
            int low = high >= 0 ? hex_of(p[2]) : -1;
            if (low < 0) return report_usage(a, NULL, "--after '%s' is no cursor", text);
            byte = (char)(high * 16 + low);
            p += 2;
        }
        text_add(cursor, &byte, 1);
    }
    return CODE_OK;
}

void pages_more(const app *a, uar_str cursor) {
    text_buffer shown = { 0 };
    for (size_t i = 0; i < cursor.len; i++) {
        char code[4];
        snprintf(code, sizeof code, "%%%02X", (unsigned)(unsigned char)cursor.ptr[i]);
        text_add(&shown, is_plain(cursor.ptr[i]) ? &cursor.ptr[i] : code, is_plain(cursor.ptr[i]) ? 1 : 3);
    }
    if (a->json) {
        cJSON *line = cJSON_CreateObject();
        node_set(line, "cursor", node_text(text_str(&shown)));
        char *text = node_line(line);
        fprintf(stderr, "%s\n", text);
        free(text);
    } else if (!a->quiet) {
        fprintf(stderr, "uar: there is more: --after %s\n", shown.data);
    }
    text_free(&shown);
}

/* One page; moves *cursor to the next, which is absent behind the last. */
static int print_page(text_buffer *cursor, uint64_t *left, const page_call *call, page_fn ask, page_item_fn print) {
    uar_error err = UAR_ERROR_INIT;
    uar_reply *reply = NULL;
    size_t limit = *left < PAGE_MOST ? (size_t)*left : PAGE_MOST;
    if (ask(&reply, call, text_str(cursor), limit, &err) != UAR_OK) {
        uar_reply_free(reply);
        return report_error(call->app, &err, "");
    }
    for (size_t i = 0; i < reply->count; i++)
        *left -= print(call, reply, i);
    text_buffer next = { 0 };
    if (reply->cursor.ptr != NULL) text_add(&next, reply->cursor.ptr, reply->cursor.len);
    uar_reply_free(reply);
    text_free(cursor);
    *cursor = next;
    return CODE_OK;
}

int pages_print(const app *a, page_fn ask, page_item_fn print) {
    uint64_t limit = 0;
    page_call call = { a, NULL };
    text_buffer cursor = { 0 };
    int code = pages_limit(&limit, a);
    if (code == CODE_OK) code = pages_after(&cursor, a);
    if (code == CODE_OK) code = stores_open(&call.rt, a, &(stores_extras){ .with_model = false });
    if (code != CODE_OK) {
        text_free(&cursor);
        return code;
    }
    uint64_t left = limit > 0 ? limit : UINT64_MAX;
    do {
        code = print_page(&cursor, &left, &call, ask, print);
    } while (code == CODE_OK && left > 0 && cursor.len > 0 && output_fault() == 0);
    if (code == CODE_OK && cursor.len > 0 && output_fault() == 0) pages_more(a, text_str(&cursor));
    text_free(&cursor);
    stores_close(call.rt);
    return code;
}
