/* uar memory search: one question, or a batch of them, one JSON object a line. */
#include "commands.h"
#include "file.h"
#include "json_syntax.h"
#include "memory_args.h"
#include "memory_out.h"
#include "output.h"
#include "pages.h"
#include "stores.h"
#include "text.h"

#include <stdlib.h>

enum { LIMIT_DEFAULT = 10, LIMIT_MOST = 1000 };

/* One line of a batch, read. */
typedef struct question {
    cJSON *line;  /* what the filter points into, */
    uar_str text; /* and its text */
    uar_memory_filter filter;
    const char *query;
    size_t limit;
} question;

typedef struct batch {
    uar_memory_filter filter; /* of lines that don't say otherwise: the options */
    size_t limit;             /* the same */
    question *items;
    size_t count;
    size_t capacity;
} batch;

static void batch_free(batch *b) {
    for (size_t i = 0; i < b->count; i++)
        cJSON_Delete(b->items[i].line);
    free(b->items);
}

static question *batch_grow(batch *b) {
    if (b->count == b->capacity) {
        size_t capacity = b->capacity > 0 ? b->capacity * 2 : 64;
        question *items = must_alloc(capacity * sizeof *items);
        if (b->count > 0) memcpy(items, b->items, b->count * sizeof *items);
        free(b->items);
        b->items = items;
        b->capacity = capacity;
    }
    question *q = &b->items[b->count++];
    memset(q, 0, sizeof *q);
    return q;
}

static bool read_limit(size_t *out, const cJSON *value) {
    double number = cJSON_IsNumber(value) ? value->valuedouble : 0;
    if (!(number >= 1 && number <= LIMIT_MOST) || number != (double)(size_t)number) return false;
    *out = (size_t)number;
    return true;
}

/* Fill a question from its parsed line; `fault` names the key that is wrong. */
static bool read_members(question *q, const char **fault) {
    for (const cJSON *member = q->line->child; member != NULL; member = member->next) {
        bool fine = true;
        *fault = member->string;
        if (strcmp(member->string, "query") == 0) {
            fine = cJSON_IsString(member);
            q->query = member->valuestring;
        } else if (strcmp(member->string, "limit") == 0) {
            fine = read_limit(&q->limit, member);
        } else {
            fine = filter_from_json(&q->filter, q->text, member);
        }
        if (!fine) return false;
    }
    *fault = "query";
    return q->query != NULL;
}

static int read_question(batch *b, const app *a, const char *path, size_t number, uar_str line) {
    size_t at = 0;
    const char *why = NULL;
    const char *key = "";
    question *q = batch_grow(b);
    q->filter = b->filter;
    q->limit = b->limit;
    q->text = line;
    q->line = json_parse(line, &at, &why);
    if (why != NULL) return report_usage(a, NULL, "%s:%zu:%zu: %s", path, number, at + 1, why);
    if (!cJSON_IsObject(q->line)) return report_usage(a, NULL, "%s:%zu: a line must be a JSON object", path, number);
    if (!read_members(q, &key))
        return report_usage(a, "a line is {\"query\":\"…\",\"limit\":1–1000,…filters}",
                            "%s:%zu: \"%s\" is missing, unknown or not usable", path, number, key);
    return CODE_OK;
}

static int read_batch(batch *b, const app *a, const char *path, uar_str text) {
    size_t number = 0;
    text = text_without_mark(text);
    for (size_t begin = 0; begin < text.len;) {
        const char *feed = memchr(text.ptr + begin, '\n', text.len - begin);
        size_t end = feed != NULL ? (size_t)(feed - text.ptr) : text.len;
        uar_str line = uar_str_n(text.ptr + begin, end - begin);
        begin = end + 1;
        number++;
        if (line.len > 0 && line.ptr[line.len - 1] == '\r') line.len--;
        if (line.len == 0) continue;
        int code = read_question(b, a, path, number, line);
        if (code != CODE_OK) return code;
    }
    return CODE_OK;
}

static int search(const app *a, uar_memory *memory, const char *text, const uar_memory_filter *filter, size_t limit) {
    uar_identity who = identity_of(a);
    uar_memory_hits *hits = NULL;
    uar_error err = UAR_ERROR_INIT;
    if (uar_memory_search_sync(&hits, memory, &who, uar_str_of(text), filter, limit, &err) != UAR_OK)
        return report_error(a, &err, "");
    print_hits(a, hits);
    uar_memory_hits_free(hits);
    return CODE_OK;
}

static int search_batch(app *a, const char *path, const uar_memory_filter *filter, size_t limit) {
    text_buffer text = { 0 };
    batch questions = { .filter = *filter, .limit = limit };
    uar_memory *memory = NULL;
    int code = file_read(&text, a, path, "the batch");
    if (code == CODE_OK) code = read_batch(&questions, a, path, text_str(&text));
    if (code == CODE_OK) code = stores_memory_open(&memory, a);
    app lines = *a;
    lines.json = true;
    for (size_t i = 0; code == CODE_OK && i < questions.count && output_fault() == 0; i++) {
        const question *q = &questions.items[i];
        code = search(&lines, memory, q->query, &q->filter, q->limit);
    }
    uar_memory_free(memory);
    batch_free(&questions);
    text_free(&text);
    return code;
}

static int search_one(app *a, const uar_memory_filter *filter, size_t limit) {
    uar_memory *memory = NULL;
    const char *text = a->args.operands[0];
    size_t len = strlen(text);
    if (text_fault(text, len) < len) return report(a, UAR_E_UTF8, NULL, "the question is not valid UTF-8");
    int code = stores_memory_open(&memory, a);
    if (code != CODE_OK) return code;
    code = search(a, memory, text, filter, limit);
    uar_memory_free(memory);
    return code;
}

int cmd_memory_search(app *a) {
    const char *path = args_get(&a->args, "batch");
    bool asked = a->args.operand_count == 1;
    if ((path != NULL) == asked)
        return report_usage(a, "see 'uar memory search --help'", "search takes a question or --batch FILE");
    uar_memory_filter filter;
    uint64_t limit = 0;
    int code = pages_limit(&limit, a);
    if (code == CODE_OK && limit > LIMIT_MOST) return report_usage(a, NULL, "--limit takes 1 to %d", LIMIT_MOST);
    if (code == CODE_OK) code = filter_from_args(&filter, NULL, a);
    if (code != CODE_OK) return code;
    size_t most = limit > 0 ? (size_t)limit : LIMIT_DEFAULT;
    return path != NULL ? search_batch(a, path, &filter, most) : search_one(a, &filter, most);
}
