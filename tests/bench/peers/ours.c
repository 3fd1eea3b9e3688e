/*
 * libuar's side of the comparison. With facts: fills a new store, then times single adds and searches over it. Without:
 * two processes with fifty writing threads each on one store. Prints the rows that run.sh makes a table of.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <uar/memory.h>

#include "../bench.h"

#define ADDS 50
#define SEARCHES 100
#define PROCESSES 2
#define WRITERS 50

static uar_identity somebody(void) {
    uar_identity who;
    uar_identity_init(&who);
    who.user = uar_str_of("me");
    return who;
}

static uar_memory *open_store(const char *path) {
    uar_memory *memory = uar_memory_open(path, NULL);
    uar_error why = UAR_ERROR_INIT;
    if (uar_memory_state(memory, &why) != UAR_MEMORY_READY) bench_give_up(why.message);
    return memory;
}

static char *read_file(const char *path, size_t *len) {
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) bench_give_up("the facts can't be read");
    long size = ftell(file);
    rewind(file);
    char *text = bench_memory((size_t)size + 1);
    *len = fread(text, 1, (size_t)size, file);
    text[*len] = '\0';
    fclose(file);
    return text;
}

/* Cut the text into its lines. */
static char **split_lines(char *text, size_t *count) {
    size_t lines = 0;
    for (const char *at = strchr(text, '\n'); at != NULL; at = strchr(at + 1, '\n'))
        lines++;
    char **list = bench_memory((lines + 1) * sizeof *list);
    for (size_t i = 0; i < lines; i++) {
        list[i] = text;
        text = strchr(text, '\n');
        *text++ = '\0';
    }
    *count = lines;
    return list;
}

static void write_text(uar_memory *memory, const char *text) {
    uar_identity who = somebody();
    uar_memory_draft draft = { UAR_MEMORY_DRAFT_INIT, .content = uar_str_of(text) };
    uar_memory_change change;
    uar_error err = UAR_ERROR_INIT;
    if (uar_memory_add_sync(&change, memory, &who, &draft, &err) != UAR_OK) bench_give_up(err.message);
}

static void fill(uar_memory *memory, char **facts, size_t count, size_t len) {
    size_t size = len + count * 32 + 1;
    char *lines = bench_memory(size);
    size_t used = 0;
    /* No fact holds a character that JSON escapes. */
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(lines + used, size - used, "{\"content\":\"%s\"}\n", facts[i]);
    uar_identity who = somebody();
    uar_memory_imported done;
    uar_error err = UAR_ERROR_INIT;
    if (uar_memory_import_sync(&done, memory, &who, uar_str_n(lines, used), UAR_MEMORY_IMPORT_VERBATIM, NULL, NULL,
                               &err) != UAR_OK)
        bench_give_up(err.message);
    bench_check(done.added == count, "every fact was imported");
    free(lines);
}

static bool finds(uar_memory *memory, const char *query) {
    uar_identity who = somebody();
    uar_memory_hits *hits = NULL;
    uar_error err = UAR_ERROR_INIT;
    if (uar_memory_search_sync(&hits, memory, &who, uar_str_of(query), NULL, 10, &err) != UAR_OK)
        bench_give_up(err.message);
    bool found = false;
    for (size_t i = 0; i < hits->count && !found; i++) {
        uar_str content = hits->hits[i].record.content;
        size_t len = strlen(query);
        found = content.len >= len && memcmp(content.ptr + content.len - len, query, len) == 0;
    }
    uar_memory_hits_free(hits);
    return found;
}

static double time_adds(uar_memory *memory) {
    double ms[ADDS];
    for (size_t i = 0; i < ADDS; i++) {
        char fact[96];
        (void)snprintf(fact, sizeof fact, "Somebody new works as a guide since 2025 and keeps locker NEW%06zu", i);
        uint64_t before = bench_now();
        write_text(memory, fact);
        ms[i] = (double)(bench_now() - before) / 1e6;
    }
    return bench_quantile(ms, ADDS, 0.5);
}

static double time_searches(uar_memory *memory, size_t facts, size_t *found) {
    double ms[SEARCHES];
    *found = 0;
    for (size_t i = 0; i < SEARCHES; i++) {
        char query[32];
        (void)snprintf(query, sizeof query, "POL%06zu", 1 + i * (facts / SEARCHES));
        uint64_t before = bench_now();
        *found += finds(memory, query);
        ms[i] = (double)(bench_now() - before) / 1e6;
    }
    return bench_quantile(ms, SEARCHES, 0.5);
}

/* A fact without its number, as a question. */
static double time_questions(uar_memory *memory, char **facts, size_t count) {
    double ms[SEARCHES];
    for (size_t i = 0; i < SEARCHES; i++) {
        const char *fact = facts[i * (count / SEARCHES)];
        char query[160];
        (void)snprintf(query, sizeof query, "Which locker is it: %.*s?", (int)(strrchr(fact, ' ') - fact), fact);
        uint64_t before = bench_now();
        (void)finds(memory, query);
        ms[i] = (double)(bench_now() - before) / 1e6;
    }
    return bench_quantile(ms, SEARCHES, 0.5);
}

static void time_store(const char *path, const char *file) {
    size_t len = 0, count = 0, found = 0;
    char *text = read_file(file, &len);
    char **facts = split_lines(text, &count);
    uar_memory *memory = open_store(path);
    fill(memory, facts, count, len);
    double add = time_adds(memory);
    double search = time_searches(memory, count, &found);
    double question = time_questions(memory, facts, count);
    printf("libuar (%s)\t%zu\t%.2f\t%.2f\t%.2f\t%zu of %d\n", uar_memory_embedder(memory), count, add, search, question,
           found, SEARCHES);
    uar_memory_free(memory);
    free(facts);
    free(text);
}

typedef struct writer {
    pthread_t thread;
    uar_memory *memory;
    int process, number;
} writer;

static void *write_one(void *arg) {
    const writer *w = arg;
    char text[64];
    (void)snprintf(text, sizeof text, "process %d, writer %d was here", w->process, w->number);
    write_text(w->memory, text);
    return NULL;
}

static void write_fifty(const char *path, int process) {
    uar_memory *memory = open_store(path);
    writer writers[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (writer){ .memory = memory, .process = process, .number = i };
        if (pthread_create(&writers[i].thread, NULL, write_one, &writers[i]) != 0) bench_give_up("no thread");
    }
    for (int i = 0; i < WRITERS; i++)
        (void)pthread_join(writers[i].thread, NULL);
    uar_memory_free(memory);
}

static void write_at_once(const char *path) {
    for (int process = 0; process < PROCESSES; process++) {
        pid_t child = fork();
        if (child < 0) bench_give_up("no process");
        if (child != 0) continue;
        write_fifty(path, process);
        _exit(0);
    }
    for (int process = 0; process < PROCESSES; process++) {
        int status = 0;
        if (wait(&status) < 0 || status != 0) bench_give_up("a writer failed");
    }
    uar_memory *memory = open_store(path);
    uar_identity who = somebody();
    uar_memory_stats stats;
    if (uar_memory_stats_sync(&stats, memory, &who, NULL, NULL) != UAR_OK) bench_give_up("no count");
    printf("at once\tlibuar\t%d\t%llu\t%d processes, %d threads each\n", PROCESSES * WRITERS,
           (unsigned long long)stats.total, PROCESSES, WRITERS);
    uar_memory_free(memory);
}

int main(int argc, char **argv) {
    if (argc == 3)
        time_store(argv[1], argv[2]);
    else if (argc == 2)
        write_at_once(argv[1]);
    else
        bench_give_up("usage: bench_peers STORE [FACTS]");
    return 0;
}
