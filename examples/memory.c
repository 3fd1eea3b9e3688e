/*
 * A memory without an agent: records and a search, a graph, a stream, a call that doesn't wait. memory FILE [MODEL_FOLDER]:
 * with a model (fetch_model.sh) records are found by meaning too, else by their words. Needs libuar-bert.
 */
#include <uar/bert.h>
#include <uar/uar.h>

#include <pthread.h>
#include <stdio.h>

static void line(const char *label, uar_str text) {
    printf("%-12s %.*s\n", label, (int)text.len, text.ptr);
}

/* Written again, by the next run of this program, it is the same record, reinforced. */
static uar_status remember(uar_memory *memory, const uar_identity *who, uar_error *err) {
    static const char *const texts[] = { "My sister is allergic to peanuts.", "The train to Bergen leaves at nine.",
                                         "We moved to Oslo in March." };
    uar_status status = UAR_OK;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0] && status == UAR_OK; i++) {
        uar_memory_draft draft = { UAR_MEMORY_DRAFT_INIT, .content = uar_str_of(texts[i]) };
        uar_memory_change change;
        status = uar_memory_add_sync(&change, memory, who, &draft, err);
        if (status == UAR_OK) line(uar_memory_outcome_name(change.outcome), draft.content);
    }
    return status;
}

static uar_status ask(uar_memory *memory, const uar_identity *who, const char *question, uar_error *err) {
    uar_memory_hits *hits = NULL;
    uar_status status = uar_memory_search_sync(&hits, memory, who, uar_str_of(question), NULL, 1, err);
    if (status != UAR_OK) return status;
    printf("\n%s (%s)\n", question, hits->mode);
    for (size_t i = 0; i < hits->count; i++)
        line("", hits->hits[i].record.content);
    uar_memory_hits_free(hits);
    return UAR_OK;
}

static uar_status put(uar_uuid *id, uar_memory *memory, const uar_identity *who, const char *name, const char *kind,
                      uar_error *err) {
    uar_memory_entity_draft draft = { UAR_MEMORY_ENTITY_DRAFT_INIT, .name = uar_str_of(name),
                                      .kind = uar_str_of(kind) };
    uar_memory_change change;
    uar_status status = uar_memory_graph_put_sync(&change, memory, who, &draft, err);
    if (status == UAR_OK) *id = change.id;
    return status;
}

static uar_status relate(uar_memory *memory, const uar_identity *who, uar_uuid from, const char *type, uar_uuid to,
                         uar_error *err) {
    uar_memory_relation_draft draft = { UAR_MEMORY_RELATION_DRAFT_INIT, .from = from, .to = to,
                                        .type = uar_str_of(type) };
    uar_memory_change change;
    return uar_memory_graph_relate_sync(&change, memory, who, &draft, err);
}

static void print_path(const uar_memory_path *path) {
    for (size_t i = 0; i < path->length; i++) {
        const uar_memory_relation *r = path->steps[i].relation;
        const char *arrow = path->steps[i].forward ? "->" : "<-";
        uar_str from = path->steps[i].forward ? r->from_name : r->to_name;
        uar_str to = path->steps[i].forward ? r->to_name : r->from_name;
        if (i == 0) printf("%-12s %.*s", "", (int)from.len, from.ptr);
        printf(" %s %.*s %s %.*s", arrow, (int)r->type.len, r->type.ptr, arrow, (int)to.len, to.ptr);
    }
    printf("\n");
}

/* Who is how far from whom: entities, relations, and the ways between two of them. */
static uar_status graph(uar_memory *memory, const uar_identity *who, uar_error *err) {
    uar_uuid ada, acme, bo;
    uar_memory_paths *paths = NULL;
    uar_status status = put(&ada, memory, who, "Ada", "person", err);
    if (status == UAR_OK) status = put(&acme, memory, who, "Acme", "company", err);
    if (status == UAR_OK) status = put(&bo, memory, who, "Bo", "person", err);
    if (status == UAR_OK) status = relate(memory, who, ada, "works at", acme, err);
    if (status == UAR_OK) status = relate(memory, who, bo, "leads", acme, err);
    if (status == UAR_OK) status = uar_memory_graph_paths_sync(&paths, memory, who, ada, bo, NULL, 3, err);
    if (status != UAR_OK) return status;
    printf("\nFrom Ada to Bo\n");
    for (size_t i = 0; i < paths->count; i++)
        print_path(&paths->paths[i]);
    uar_memory_paths_free(paths);
    return UAR_OK;
}

static uar_status append(uar_memory *memory, const uar_identity *who, uar_uuid stream, uar_error *err) {
    static const char *const steps[] = { "Asked three movers for an offer.", "Chose Acme, for 4 March.",
                                         "Packed the books." };
    uar_status status = UAR_OK;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && status == UAR_OK; i++) {
        /* The key makes it one entry, however often it is tried. */
        uar_memory_stream_entry_draft entry = { UAR_MEMORY_STREAM_ENTRY_DRAFT_INIT, .role = uar_str_of("step"),
                                                .text = uar_str_of(steps[i]), .unique_key = uar_str_of(steps[i]) };
        uar_memory_stream_appended appended;
        status = uar_memory_stream_append_sync(&appended, memory, who, stream, &entry, 0, err);
    }
    return status;
}

/* What was done, in order; and of it what fits into 16 tokens. */
static uar_status stream(uar_memory *memory, const uar_identity *who, uar_error *err) {
    uar_memory_stream_draft draft = { UAR_MEMORY_STREAM_DRAFT_INIT, .name = uar_str_of("moving house") };
    uar_memory_streams *streams = NULL;
    uar_status status = uar_memory_stream_open_sync(&streams, memory, who, &draft, err);
    if (status != UAR_OK) return status;
    uar_uuid id = streams->streams[0].id;
    uar_memory_streams_free(streams);
    uar_memory_stream_window *window = NULL;
    status = append(memory, who, id, err);
    if (status == UAR_OK) status = uar_memory_stream_window_sync(&window, memory, who, id, 16, 0, err);
    if (status != UAR_OK) return status;
    printf("\nMoving house, the newest 16 tokens (%d left out)\n", (int)window->left_out);
    for (size_t i = 0; i < window->count; i++)
        line("", window->entries[i].text);
    uar_memory_stream_window_free(window);
    return UAR_OK;
}

typedef struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool is_done;
    uar_status status;
    uar_error error;
} waiter;

/* On a thread of the memory. The hits are ours to free; the error is borrowed. */
static void on_hits(void *ctx, uar_status status, uar_memory_hits *hits, const uar_error *err) {
    waiter *w = ctx;
    if (hits != NULL && hits->count > 0) line("later:", hits->hits[0].record.content);
    uar_memory_hits_free(hits);
    pthread_mutex_lock(&w->lock);
    w->status = status;
    if (err != NULL) w->error = *err;
    w->is_done = true;
    pthread_cond_signal(&w->ended);
    pthread_mutex_unlock(&w->lock);
}

static uar_status ask_later(uar_memory *memory, const uar_identity *who, uar_error *err) {
    waiter w = { .lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER, .error = UAR_ERROR_INIT };
    printf("\n");
    uar_status status = uar_memory_search(memory, who, uar_str_of("When did we move?"), NULL, 1, on_hits, &w, err);
    if (status != UAR_OK) return status;
    /* An app would go on with its own work here; this one has none left. */
    pthread_mutex_lock(&w.lock);
    while (!w.is_done)
        pthread_cond_wait(&w.ended, &w.lock);
    pthread_mutex_unlock(&w.lock);
    if (w.status != UAR_OK) *err = w.error;
    return w.status;
}

static int fail(const uar_error *err) {
    fprintf(stderr, "memory: %s: %s\n", uar_status_name(err->code), err->message);
    return 1;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: memory FILE [MODEL_FOLDER]\n");
        return 2;
    }
    uar_error err = UAR_ERROR_INIT;
    uar_embedder embedder;
    uar_memory_options options;
    uar_memory_options_init(&options);
    if (argc > 2) {
        uar_bert_options bert = { UAR_BERT_OPTIONS_INIT, .precision = UAR_BERT_INT8 };
        if (uar_bert_open(&embedder, argv[2], &bert, &err) != UAR_OK) return fail(&err);
        options.embedder = &embedder; /* the memory takes it over */
    }
    uar_memory *memory = uar_memory_open(argv[1], &options);
    uar_identity who = { UAR_IDENTITY_INIT, .user = uar_str_of("ada") };
    uar_status status = remember(memory, &who, &err);
    /* Records of a time without this model get its vectors. */
    if (status == UAR_OK) status = uar_memory_reembed_sync(memory, NULL, NULL, &err);
    if (status == UAR_OK) status = ask(memory, &who, "Which foods can't she eat?", &err);
    if (status == UAR_OK) status = graph(memory, &who, &err);
    if (status == UAR_OK) status = stream(memory, &who, &err);
    if (status == UAR_OK) status = ask_later(memory, &who, &err);
    uar_memory_free(memory);
    return status == UAR_OK ? 0 : fail(&err);
}
