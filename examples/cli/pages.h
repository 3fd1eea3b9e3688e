/*
 * Lists that come in pages: --limit, --after, and where to go on.
 */
#ifndef UAR_CLI_PAGES_H
#define UAR_CLI_PAGES_H

#include "app.h"
#include "text.h"

#include <uar/records.h>

typedef struct page_call {
    const app *app;
    uar_runtime *rt;
} page_call;

/* Ask for one page. */
typedef uar_status (*page_fn)(uar_reply **out, const page_call *call, uar_str cursor, size_t limit, uar_error *err);
/* Print one item; false: it is left out and doesn't count. */
typedef bool (*page_item_fn)(const page_call *call, const uar_reply *reply, size_t index);

/* Open the state, print what --limit and --after ask for, all without them; then say where the next page begins. */
int pages_print(const app *a, page_fn ask, page_item_fn print);

/* --limit: *limit is 0 if it isn't given. CODE_OK, or CODE_USAGE after a report. */
int pages_limit(uint64_t *limit, const app *a);
/* --after, decoded; empty if it isn't given. CODE_OK, or CODE_USAGE after a report. */
int pages_after(text_buffer *cursor, const app *a);
/* Say on stderr where the next page begins. The library's cursors may hold any byte; people get them percent-encoded. */
void pages_more(const app *a, uar_str cursor);

enum { PAGE_MOST = 1000 };

#endif
