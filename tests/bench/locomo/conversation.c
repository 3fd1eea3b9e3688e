/* Owns: the reading of the LoCoMo files. Invariant: turns are in the order in which they were said. */
#include "conversation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define DOCUMENT_MAX ((size_t)64 * 1024 * 1024)

static size_t items_of(const cJSON *list) {
    size_t n = 0;
    for (const cJSON *item = list != NULL ? list->child : NULL; item != NULL; item = item->next)
        n++;
    return n;
}

/* Days since 1970 of a day of the Gregorian calendar. */
static int64_t day_number(int year, int month, int day) {
    int y = month <= 2 ? year - 1 : year;
    int era = y / 400, of_era = y - era * 400;
    int of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return (int64_t)era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* "1:56 pm on 8 May, 2023" */
static bool read_date(int64_t *out, const char *text) {
    static const char months[12][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
    int hour, minute, day, year;
    char half[3], name[16];
    if (text == NULL || sscanf(text, "%d:%d %2s on %d %15[A-Za-z], %d", &hour, &minute, half, &day, name, &year) != 6)
        return false;
    for (int m = 0; m < 12; m++) {
        if (strncmp(name, months[m], 3) != 0) continue;
        hour = hour % 12 + (half[0] == 'p' ? 12 : 0);
        *out = (day_number(year, m + 1, day) * 1440 + hour * 60 + minute) * 60000;
        return true;
    }
    return false;
}

static char *unit_of(const cJSON *said) {
    const char *speaker = cJSON_GetStringValue(json_member(said, "speaker"));
    const char *text = cJSON_GetStringValue(json_member(said, "text"));
    const char *caption = cJSON_GetStringValue(json_member(said, "blip_caption"));
    if (speaker == NULL || text == NULL) return NULL;
    size_t size = strlen(speaker) + strlen(text) + (caption != NULL ? strlen(caption) : 0) + 64;
    char *unit = bench_memory(size);
    snprintf(unit, size, "%s said, \"%s\"%s%s", speaker, text, caption != NULL ? " and shared " : "",
             caption != NULL ? caption : "");
    return unit;
}

static const cJSON *session_of(const cJSON *talk, unsigned number, const char *end) {
    char key[48];
    snprintf(key, sizeof key, "session_%u%s", number, end);
    return json_member(talk, key);
}

#define SESSIONS_MAX 1000

static bool read_turns(conversation *c, const cJSON *talk) {
    size_t count = 0;
    for (unsigned s = 1; s < SESSIONS_MAX; s++)
        count += items_of(session_of(talk, s, ""));
    c->turns = bench_memory((count + 1) * sizeof *c->turns);
    for (unsigned s = 1; s < SESSIONS_MAX; s++) {
        const cJSON *said = session_of(talk, s, "");
        if (said == NULL || said->child == NULL) continue;
        int64_t created;
        if (!read_date(&created, cJSON_GetStringValue(session_of(talk, s, "_date_time")))) return false;
        for (said = said->child; said != NULL; said = said->next) {
            turn t = { json_text(said, "dia_id"), unit_of(said), s, created };
            if (t.text == NULL || t.name.ptr == NULL) return false;
            c->turns[c->turn_count++] = t;
        }
    }
    return c->turn_count != 0;
}

static size_t turn_named(const conversation *c, uar_str name) {
    for (size_t i = 0; i < c->turn_count; i++)
        if (c->turns[i].name.len == name.len && memcmp(c->turns[i].name.ptr, name.ptr, name.len) == 0) return i;
    return NO_TURN;
}

static bool read_question(conversation *c, const cJSON *asked) {
    question q = { .text = json_text(asked, "question") };
    uint64_t category;
    if (q.text.ptr == NULL || !json_u64(asked, "category", &category) || category == 0 || category > CATEGORIES)
        return false;
    const cJSON *evidence = json_member(asked, "evidence");
    q.category = (unsigned)category;
    q.evidence = bench_memory((items_of(evidence) + 1) * sizeof *q.evidence);
    for (const cJSON *e = evidence != NULL ? evidence->child : NULL; e != NULL; e = e->next)
        q.evidence[q.evidence_count++] = turn_named(c, json_node_text(e));
    c->questions[c->question_count++] = q;
    return true;
}

static bool read_conversation(conversation *c, const cJSON *item) {
    const cJSON *asked = json_member(item, "qa");
    if (!read_turns(c, json_member(item, "conversation")) || asked == NULL) return false;
    c->questions = bench_memory((items_of(asked) + 1) * sizeof *c->questions);
    for (asked = asked->child; asked != NULL; asked = asked->next)
        if (!read_question(c, asked)) return false;
    return true;
}

bool conversations_read(conversations *out, uar_str json) {
    conversations all = { 0 };
    if (json_read(&all.document, &alloc_default, json, DOCUMENT_MAX, NULL) != UAR_OK) return false;
    size_t count = items_of(all.document);
    all.items = bench_memory((count + 1) * sizeof *all.items);
    bool whole = count != 0;
    for (const cJSON *item = all.document->child; whole && item != NULL; item = item->next)
        whole = read_conversation(&all.items[all.count++], item);
    if (whole)
        *out = all;
    else
        conversations_free(&all);
    return whole;
}

void conversations_free(conversations *all) {
    for (size_t i = 0; i < all->count; i++) {
        conversation *c = &all->items[i];
        for (size_t k = 0; k < c->turn_count; k++)
            free(c->turns[k].text);
        for (size_t k = 0; k < c->question_count; k++)
            free(c->questions[k].evidence);
        free(c->turns);
        free(c->questions);
    }
    free(all->items);
    json_free(&alloc_default, all->document);
    *all = (conversations){ 0 };
}
