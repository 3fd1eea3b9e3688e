/*
 * Retrieval quality: each conversation of LoCoMo goes into a fresh memory, a record a turn, and each question is asked as it
 * stands. Recall at k is the share of a question's evidence turns among the first k hits; a question without evidence counts
 * as 1. "Covered" is the share of the evidence in the block that a run would get within so many tokens, categories 1 to 4.
 *
 * Measured is `lexical`; with UAR_BENCH_VECTORS also the encoder whose vectors that file holds (see vectors.h), with
 * UAR_BENCH_MODEL the sentence encoder in that folder. Without the data there is nothing to measure: status 77.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../support/test_data.h"
#include "base/clock.h"
#include "base/str.h"
#include "bench.h"
#include "conversation.h"
#include "memory/recall.h"
#include "vectors.h"
#ifdef BENCH_HAS_BERT
#include <uar/bert.h>
#endif

#define STATUS_SKIPPED 77
#define DATA "locomo/locomo_dev.json"

#define HITS 50
static const size_t depths[] = { 5, 10, 25, 50 };
static const uint32_t budgets[] = { 256, 512, 1000, 2000 };
#define DEPTHS (sizeof depths / sizeof depths[0])
#define BUDGETS (sizeof budgets / sizeof budgets[0])
static const char *const category_names[] = {
    "all", "multi_hop", "temporal", "open_domain", "single_hop", "adversarial"
};

/* What a figure should reach; 0: no aim. */
typedef struct aims {
    double recall[DEPTHS], multi_hop_10, covered[BUDGETS];
} aims;

/* Sums over questions; index 0 of the categories is all of them. */
typedef struct sums {
    double recall[CATEGORIES + 1][DEPTHS];
    double covered[BUDGETS];
    size_t count[CATEGORIES + 1], covered_count;
    double *seconds; /* of each search */
    size_t seconds_count;
} sums;

static void stop(const char *what, const uar_error *err) {
    printf("%s: %s\n", what, err->message);
    bench_give_up(what);
}

/* Ids say which turn it is, so that a hit needs no look-up. */
static uar_uuid id_of(size_t turn_number) {
    uar_uuid id = { .bytes = { 0x01, 0x90, 0, 0, 0, 0, 0x70, 0, 0x80 } };
    for (int i = 0; i < 4; i++)
        id.bytes[15 - i] = (uint8_t)(turn_number >> 8 * i);
    return id;
}

static size_t turn_of(uar_uuid id) {
    size_t n = 0;
    for (int i = 12; i < 16; i++)
        n = n << 8 | id.bytes[i];
    return n;
}

static uar_identity reader(void) {
    uar_identity who = { UAR_IDENTITY_INIT, .user = STR("me") };
    return who;
}

static void write_line(buffer *out, const turn *t, size_t number) {
    char created[TIME_TEXT], session[16];
    time_format(created, t->created_ms);
    snprintf(session, sizeof session, "%u", t->session);
    json_writer w;
    json_writer_init(&w, out);
    json_object_begin(&w);
    json_put_uuid(&w, "id", id_of(number));
    json_put_str(&w, "content", uar_str_of(t->text));
    json_put_str(&w, "session", uar_str_of(session));
    json_put_str(&w, "created", uar_str_of(created));
    json_object_end(&w);
    buffer_append_char(out, '\n');
}

static void fill(uar_memory *memory, const conversation *c) {
    buffer lines;
    buffer_init(&lines, &alloc_default, SIZE_MAX / 4);
    for (size_t i = 0; i < c->turn_count; i++)
        write_line(&lines, &c->turns[i], i);
    uar_identity who = reader();
    uar_memory_imported done = { 0 };
    uar_error err = { 0 };
    uar_status status = lines.status == UAR_OK ? uar_memory_import_sync(&done, memory, &who, buffer_str(&lines),
                                                                        UAR_MEMORY_IMPORT_VERBATIM, NULL, NULL, &err)
                                               : lines.status;
    buffer_dispose(&lines);
    if (status != UAR_OK) stop("the import failed", &err);
    if (done.added != c->turn_count) bench_give_up("not every turn was imported");
}

static double share_of(const question *q, const size_t *turns, size_t count) {
    size_t met = 0;
    for (size_t e = 0; e < q->evidence_count; e++) {
        bool found = false;
        for (size_t i = 0; i < count && !found; i++)
            found = q->evidence[e] == turns[i];
        met += found;
    }
    return q->evidence_count != 0 ? (double)met / (double)q->evidence_count : 1;
}

static void ask(sums *s, uar_memory *memory, const question *q, const char *mode) {
    uar_identity who = reader();
    uar_memory_hits *hits = NULL;
    uar_error err = { 0 };
    uint64_t began = bench_now();
    if (uar_memory_search_sync(&hits, memory, &who, q->text, NULL, HITS, &err) != UAR_OK) stop("a search failed", &err);
    s->seconds[s->seconds_count++] = (double)(bench_now() - began) / 1e9;
    if (strcmp(hits->mode, mode) != 0) bench_give_up("the search was of another mode than was measured");
    size_t turns[HITS];
    for (size_t i = 0; i < hits->count; i++)
        turns[i] = turn_of(hits->hits[i].record.id);
    for (size_t d = 0; d < DEPTHS; d++) {
        double share = share_of(q, turns, hits->count < depths[d] ? hits->count : depths[d]);
        s->recall[0][d] += share;
        s->recall[q->category][d] += share;
    }
    s->count[0]++;
    s->count[q->category]++;
    uar_memory_hits_free(hits);
}

static void inject(sums *s, uar_memory *memory, const question *q) {
    uar_identity who = reader();
    if (q->category == CATEGORIES) return;
    s->covered_count++;
    for (size_t b = 0; b < BUDGETS; b++) {
        memory_recalled *recalled = NULL;
        uar_error err = { 0 };
        if (memory_recall_block(&recalled, memory, &who, q->text, budgets[b], &err) != UAR_OK)
            stop("an injection failed", &err);
        size_t turns[256];
        size_t count = recalled->count < 256 ? recalled->count : 256;
        for (size_t i = 0; i < count; i++)
            turns[i] = turn_of(recalled->hits[i].id);
        s->covered[b] += share_of(q, turns, count);
        bench_check(memory_estimate_tokens(recalled->block) <= budgets[b], "the block keeps within its budget");
        memory_recalled_free(recalled);
    }
}

/* A new embedder for each opening, since the memory takes it over; false: there is none any more. */
typedef bool (*embedder_fn)(uar_embedder *out, const char *path);

static uar_memory *open_memory(const char *path, embedder_fn embedder, const char *model, bool read_only) {
    uar_memory_options options = { UAR_MEMORY_OPTIONS_INIT, .read_only = read_only };
    uar_embedder e;
    if (embedder != NULL && !embedder(&e, model)) bench_give_up("the model can't be read");
    if (embedder != NULL) options.embedder = &e;
    uar_memory *memory = uar_memory_open(path, &options);
    uar_error err = { 0 };
    if (uar_memory_state(memory, &err) != UAR_MEMORY_READY) stop("the memory doesn't open", &err);
    return memory;
}

static void remove_store(const char *path) {
    static const char *const ends[] = { "", "-wal", "-shm", "-journal" };
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        char file[256];
        snprintf(file, sizeof file, "%s%s", path, ends[i]);
        (void)remove(file);
    }
}

static void measure(sums *s, const conversation *c, const char *folder, embedder_fn embedder, const char *model) {
    char path[192];
    snprintf(path, sizeof path, "%s/memory.db", folder);
    const char *mode = embedder != NULL ? "hybrid" : "lexical";
    uar_memory *memory = open_memory(path, embedder, model, false);
    fill(memory, c);
    for (size_t i = 0; i < c->question_count; i++)
        ask(s, memory, &c->questions[i], mode);
    uar_memory_free(memory);
    /* Read-only, since counting what was injected is a commit each time and changes no ranking. */
    memory = open_memory(path, embedder, model, true);
    for (size_t i = 0; i < c->question_count; i++)
        inject(s, memory, &c->questions[i]);
    uar_memory_free(memory);
    remove_store(path);
}

static void report(const char *label, const char *figure, unsigned number, double share, double aim) {
    char name[80];
    snprintf(name, sizeof name, "locomo.%s.%s_%u", label, figure, number);
    bench_report(name, 100 * share, "%", aim > 0 ? BENCH_ABOVE : BENCH_FACT, aim);
}

static void report_all(const char *label, sums *s, const aims *a) {
    for (unsigned k = 0; k <= CATEGORIES; k++) {
        if (s->count[k] == 0) continue;
        for (size_t d = 0; d < DEPTHS; d++) {
            double aim = k == 0 ? a->recall[d] : k == 1 && depths[d] == 10 ? a->multi_hop_10 : 0;
            char figure[48];
            snprintf(figure, sizeof figure, k == 0 ? "recall" : "%s.recall", category_names[k]);
            report(label, figure, (unsigned)depths[d], s->recall[k][d] / (double)s->count[k], aim);
        }
    }
    for (size_t b = 0; b < BUDGETS && s->covered_count != 0; b++)
        report(label, "covered", budgets[b], s->covered[b] / (double)s->covered_count, a->covered[b]);
    char name[80];
    snprintf(name, sizeof name, "locomo.%s.search", label);
    bench_report(name, 1e6 * bench_quantile(s->seconds, s->seconds_count, 0.5), "us", BENCH_FACT, 0);
}

static void run(const char *label, const conversations *all, embedder_fn embedder, const char *model, const aims *a) {
    char folder[] = "/tmp/uar-locomo-XXXXXX";
    if (mkdtemp(folder) == NULL) bench_give_up("there is no place for the memories");
    size_t questions = 0;
    for (size_t i = 0; i < all->count; i++)
        questions += all->items[i].question_count;
    sums s = { 0 };
    s.seconds = bench_memory((questions + 1) * sizeof *s.seconds);
    for (size_t i = 0; i < all->count; i++)
        measure(&s, &all->items[i], folder, embedder, model);
    (void)rmdir(folder);
    report_all(label, &s, a);
    free(s.seconds);
}

#ifdef BENCH_HAS_BERT
static bool bert_open(uar_embedder *out, const char *path) {
    return uar_bert_open(out, path, NULL, NULL) == UAR_OK;
}
#endif

static const aims lexical_aims = { .recall = { 0, 78, 0, 0 }, .covered = { 0, 0, 80, 0 } };
static const aims hybrid_aims = { .recall = { 72, 82, 0, 0 }, .multi_hop_10 = 52, .covered = { 0, 0, 80, 0 } };

int main(void) {
    size_t len = 0;
    char *text = test_data_read(DATA, &len);
    if (text == NULL) {
        printf("# locomo: skipped, there is no %s\n", test_data_path(DATA));
        return test_data_is_required() ? 1 : STATUS_SKIPPED;
    }
    conversations all;
    if (!conversations_read(&all, uar_str_n(text, len))) bench_give_up("the data can't be read");
    free(text);
    bench_begin("locomo");
    run("lexical", &all, NULL, NULL, &lexical_aims);
    const char *vectors = getenv("UAR_BENCH_VECTORS");
    if (vectors != NULL && vectors[0] != '\0') run("vectors", &all, vectors_open, vectors, &hybrid_aims);
#ifdef BENCH_HAS_BERT
    const char *model = getenv("UAR_BENCH_MODEL");
    if (model != NULL && model[0] != '\0') run("bert", &all, bert_open, model, &hybrid_aims);
#endif
    conversations_free(&all);
    return bench_end();
}
