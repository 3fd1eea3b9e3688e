/*
 * The searches of bench_vectors by hnswlib: a graph in memory, approximate. M 16, ef_construction 200, one thread, built for
 * this processor; ef, how far a search looks, is raised until ten queries' worth in a thousand are missed.
 */
#include <hnswlib/hnswlib.h>

#include <cstdio>
#include <cstdlib>

/* bench.h is C; these two of its words C++ spells otherwise. */
#define _Noreturn
extern "C" {
#include "bench.h"
}
#include "vector_sets.h"

static void report(set_kind kind, const char *what, double value, const char *unit) {
    char name[80];
    std::snprintf(name, sizeof name, "vectors.%s.hnswlib.%s", set_name(kind), what);
    bench_report(name, value, unit, BENCH_FACT, 0);
}

/* Seconds inside of the graph. */
static double fill(hnswlib::HierarchicalNSW<float> &graph, set_kind kind, size_t count) {
    float v[SET_DIMS];
    double ns = 0;
    set_stream rows;
    set_open(&rows, kind, false);
    for (size_t n = 1; n <= count; n++) {
        set_next(&rows, v);
        uint64_t began = bench_now();
        graph.addPoint(v, n);
        ns += (double)(bench_now() - began);
    }
    set_close(&rows);
    return ns / 1e9;
}

static double ask_all(double *median, hnswlib::HierarchicalNSW<float> &graph, const set_truth *truth) {
    double ms[SET_QUERIES], recall = 0;
    for (size_t q = 0; q < SET_QUERIES; q++) {
        int64_t found[SET_NEAREST];
        size_t count = 0;
        uint64_t began = bench_now();
        auto nearest = graph.searchKnn(truth->queries[q], SET_NEAREST);
        ms[q] = (double)(bench_now() - began) / 1e6;
        for (; !nearest.empty(); nearest.pop())
            found[count++] = (int64_t)nearest.top().second;
        recall += set_recall(truth, q, found, count);
    }
    *median = bench_quantile(ms, SET_QUERIES, 0.5);
    return recall / SET_QUERIES;
}

static void measure(set_kind kind, size_t count) {
    set_truth *truth = set_truth_new(kind, count);
    set_settle();
    size_t before = set_resident();
    {
        hnswlib::InnerProductSpace space(SET_DIMS);
        hnswlib::HierarchicalNSW<float> graph(&space, count, 16, 200);
        report(kind, "build", fill(graph, kind, count), "s");
        double median = 0, recall = 0;
        size_t ef = 25;
        while (recall < 0.99 && ef < 3200) {
            ef *= 2;
            graph.setEf(ef);
            recall = ask_all(&median, graph, truth);
        }
        report(kind, "median", median, "ms");
        report(kind, "recall", recall, "of the nearest 10");
        report(kind, "ef", (double)ef, "rows looked at");
        report(kind, "resident", (double)(set_resident() - before) / 1e6, "MB");
    }
    std::free(truth);
}

int main() {
    bench_begin("vectors_hnswlib");
    measure(SET_CLUSTERED, 100000);
    measure(SET_HARD, 100000);
    return bench_end();
}
