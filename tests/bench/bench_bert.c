/*
 * What a sentence costs with the default model, on one thread: 20 and 128 tokens, batches, opening, memory; and what int8
 * loses. Needs the model (examples/fetch_model.sh).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uar/bert.h>

#include "bench.h"
#include "counting.h"
#include "support/bert_model.h"

enum { TEXTS = 200, ROUNDS = 60 };

static const char *const openings[] = { "Yesterday", "Last winter", "In the small harbour", "Before breakfast",
                                        "Honestly" };
static const char *const doers[] = { "my oldest sister", "the new neighbour", "a tired engineer", "our football team",
                                     "the baker" };
static const char *const deeds[] = { "repaired", "forgot", "kept talking about", "bought", "drew a plan of", "lost",
                                     "sold",     "painted" };

/* Some twenty tokens each, no two the same. */
static void write_texts(char out[TEXTS][160]) {
    for (size_t i = 0; i < TEXTS; i++)
        (void)snprintf(out[i], sizeof out[i], "%s %s %s the blue bicycle with the broken wheel near house %d.",
                       openings[i % 5], doers[i / 5 % 5], deeds[i / 25], (int)i);
}

static uar_embedder opened(const char *folder, uar_bert_precision precision, const uar_allocator *memory) {
    uar_bert_options o = { .size = UAR_BERT_OPTIONS_INIT };
    o.precision = precision;
    o.allocator = memory;
    uar_embedder e;
    uar_error err = UAR_ERROR_INIT;
    if (uar_bert_open(&e, folder, &o, &err) != UAR_OK) bench_give_up(err.message);
    return e;
}

static void embed(float *out, const uar_embedder *e, const uar_str *texts, size_t count) {
    if (uar_bert_embed(out, e, UAR_EMBED_PASSAGE, texts, count, NULL) != UAR_OK)
        bench_give_up("a text could not be embedded");
}

typedef struct cost {
    double wall, cpu; /* median milliseconds */
} cost;

static cost one_text(const uar_embedder *e, uar_str text) {
    double wall[ROUNDS], cpu[ROUNDS];
    float *out = bench_memory(e->dims * sizeof *out);
    embed(out, e, &text, 1);
    for (size_t i = 0; i < ROUNDS; i++) {
        uint64_t from = bench_now(), used = bench_cpu();
        embed(out, e, &text, 1);
        cpu[i] = (double)(bench_cpu() - used) / 1e6;
        wall[i] = (double)(bench_now() - from) / 1e6;
    }
    free(out);
    return (cost){ bench_quantile(wall, ROUNDS, 0.5), bench_quantile(cpu, ROUNDS, 0.5) };
}

/* `words` words of one token each, so words + 2 tokens. */
static uar_str words_of(char *out, size_t words) {
    /* Each is one token. */
    static const char *const all[] = { "river", "stone", "green", "seven", "light", "bread" };
    size_t len = 0;
    for (size_t i = 0; i < words; i++)
        len += (size_t)snprintf(out + len, 16, "%s ", all[i % 6]);
    return uar_str_n(out, len);
}

static void report(const char *what, const char *precision, double value, const char *unit, bench_aim aim,
                   double limit) {
    char name[64];
    (void)snprintf(name, sizeof name, "bert.%s.%s", precision, what);
    bench_report(name, value, unit, aim, limit);
}

static void measure(const uar_embedder *e, const char *precision, const uar_str *texts, float *vectors, double limit) {
    static char words[4096];
    size_t count = 0;
    uar_str twenty = words_of(words, 18);
    bench_check(uar_bert_tokens(NULL, 0, &count, e, twenty, NULL) == UAR_OK && count == 18, "18 words are 18 tokens");
    cost few = one_text(e, twenty), many = one_text(e, words_of(words, 126));
    report("20_tokens", precision, few.wall, "ms", BENCH_BELOW, limit);
    report("20_tokens.cpu", precision, few.cpu, "ms", BENCH_FACT, 0);
    report("128_tokens", precision, many.wall, "ms", BENCH_FACT, 0);
    report("128_tokens.cpu", precision, many.cpu, "ms", BENCH_FACT, 0);
    uint64_t from = bench_now();
    embed(vectors, e, texts, TEXTS);
    report("batch", precision, TEXTS / ((double)(bench_now() - from) / 1e9), "texts/s", BENCH_FACT, 0);
}

static void compare(const float *exact, const float *close, size_t dims) {
    double sum = 0, worst = 1;
    for (size_t i = 0; i < TEXTS; i++) {
        double dot = 0;
        for (size_t j = 0; j < dims; j++)
            dot += (double)exact[i * dims + j] * (double)close[i * dims + j];
        sum += dot;
        worst = fmin(worst, dot);
    }
    bench_report("bert.int8.cosine.mean", sum / TEXTS, "", BENCH_ABOVE, 0.995);
    bench_report("bert.int8.cosine.worst", worst, "", BENCH_ABOVE, 0.98);
}

int main(void) {
    static char lines[TEXTS][160];
    static const char *const names[] = { "fp32", "int8" };
    const char *folder = bert_model_folder();
    if (folder == NULL) bench_give_up("there is no model: run examples/fetch_model.sh");
    bench_begin("bench_bert");
    printf("# level: %s\n", uar_bert_level());
    uar_str texts[TEXTS];
    write_texts(lines);
    for (size_t i = 0; i < TEXTS; i++)
        texts[i] = uar_str_of(lines[i]);
    float *vectors[2] = { NULL, NULL };
    size_t dims = 0;
    for (int p = UAR_BERT_FP32; p <= UAR_BERT_INT8; p++) {
        counting memory;
        counting_init(&memory);
        uint64_t from = bench_now();
        uar_embedder e = opened(folder, (uar_bert_precision)p, &memory.door);
        report("open", names[p], (double)(bench_now() - from) / 1e6, "ms", BENCH_FACT, 0);
        report("memory", names[p], (double)atomic_load(&memory.bytes) / 1e6, "MB", BENCH_FACT, 0);
        dims = e.dims;
        vectors[p] = bench_memory(TEXTS * dims * sizeof(float));
        measure(&e, names[p], texts, vectors[p], p == UAR_BERT_FP32 ? 10 : 5);
        uar_bert_close(&e);
        bench_check(atomic_load(&memory.bytes) == 0, "closing gives all memory back");
    }
    compare(vectors[0], vectors[1], dims);
    free(vectors[0]);
    free(vectors[1]);
    return bench_end();
}
