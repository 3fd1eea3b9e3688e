/* How memory is printed: see memory_out.h. */
#include "memory_out.h"

#include "instant.h"
#include "output.h"
#include "text.h"

#include <inttypes.h>
#include <stdio.h>

/* Print a line that a projection wrote, or say why it couldn't. */
static void print_line(const app *a, text_buffer *line, uar_status status) {
    if (status != UAR_OK) {
        notice(a, false, status, "%s", uar_status_text(status));
    } else {
        text_add_z(line, "\n");
        output_bytes(line->data, line->len);
    }
    text_free(line);
}

/* "0.53"; no locale has a say in it. */
static void add_score(text_buffer *out, double score) {
    char text[32];
    long hundredths = (long)(score * 100 + 0.5);
    snprintf(text, sizeof text, "%ld.%02ld", hundredths / 100, hundredths % 100);
    text_add_z(out, text);
}

static void add_record(text_buffer *out, const uar_memory_record *r) {
    char id[UAR_UUID_TEXT];
    char when[INSTANT_TEXT];
    uar_uuid_format(id, r->id);
    instant_show(when, r->created_ms);
    text_add_z(out, id);
    text_add_z(out, "  ");
    text_add_z(out, when);
    text_add_z(out, "  ");
    text_add_z(out, uar_memory_scope_name(r->scope));
    text_add_z(out, r->current ? "  " : "  (past)  ");
    text_add_visible(out, r->content, false);
}

void print_record(const app *a, const uar_memory_record *record) {
    text_buffer line = { 0 };
    uar_status status = UAR_OK;
    if (a->json) {
        status = uar_memory_record_json(record, NULL, text_write_piece, &line);
    } else {
        add_record(&line, record);
    }
    print_line(a, &line, status);
}

void print_hits(const app *a, const uar_memory_hits *hits) {
    text_buffer line = { 0 };
    if (a->json) {
        uar_status status = uar_memory_hits_json(hits, NULL, text_write_piece, &line);
        print_line(a, &line, status);
        return;
    }
    for (size_t i = 0; i < hits->count; i++) {
        add_score(&line, hits->hits[i].score);
        text_add_z(&line, "  ");
        add_record(&line, &hits->hits[i].record);
        print_line(a, &line, UAR_OK);
    }
    if (hits->count == 0 && !a->quiet) fprintf(stderr, "uar: nothing found\n");
}

void print_change(const app *a, const uar_memory_change *change) {
    text_buffer line = { 0 };
    uar_status status = UAR_OK;
    if (a->json) {
        status = uar_memory_change_json(change, NULL, text_write_piece, &line);
    } else {
        char id[UAR_UUID_TEXT];
        uar_uuid_format(id, change->id);
        text_add_z(&line, id);
        text_add_z(&line, "  ");
        text_add_z(&line, uar_memory_outcome_name(change->outcome));
    }
    print_line(a, &line, status);
}

void print_stats(const app *a, const uar_memory_stats *stats, const uar_memory_embedding *embedding) {
    text_buffer line = { 0 };
    uar_status status = UAR_OK;
    if (a->json) {
        status = uar_memory_stats_json(stats, embedding, NULL, text_write_piece, &line);
    } else {
        char text[160];
        snprintf(text, sizeof text, "%" PRIu64 " records (%s, ", stats->total, uar_memory_status_name(stats->state));
        text_add_z(&line, text);
        text_add_visible(&line, uar_str_of(embedding->model), false);
        snprintf(text, sizeof text, ", %" PRIu64 " without a vector", embedding->unembedded);
        if (embedding->unembedded > 0) text_add_z(&line, text);
        text_add_z(&line, ")");
        for (int scope = UAR_MEMORY_SCOPE_GLOBAL; scope <= UAR_MEMORY_SCOPE_TASK; scope++) {
            snprintf(text, sizeof text, "\n  %-8s %" PRIu64, uar_memory_scope_name((uar_memory_scope)scope),
                     stats->by_scope[scope]);
            text_add_z(&line, text);
        }
    }
    print_line(a, &line, status);
}
