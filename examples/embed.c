/* Sentences ranked by meaning: embed MODEL_FOLDER QUESTION SENTENCE... Needs libuar-bert and a model (fetch_model.sh). */
#include <uar/bert.h>

#include <stdio.h>
#include <stdlib.h>

static int fail(const uar_error *err) {
    fprintf(stderr, "embed: %s\n", err->message);
    return 1;
}

/* Vectors have length 1, so their product is their cosine. */
static double cosine(const float *a, const float *b, size_t dims) {
    double sum = 0;
    for (size_t i = 0; i < dims; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

static int rank(const uar_embedder *embedder, const char *question, char *const *sentences, size_t count) {
    size_t dims = embedder->dims;
    uar_error err = UAR_ERROR_INIT;
    uar_str asked = uar_str_of(question), *texts = calloc(count, sizeof *texts);
    float *query = calloc(dims, sizeof *query), *vectors = calloc(count * dims, sizeof *vectors);
    int code = 1;
    if (texts != NULL && query != NULL && vectors != NULL) {
        for (size_t i = 0; i < count; i++)
            texts[i] = uar_str_of(sentences[i]);
        if (uar_bert_embed(query, embedder, UAR_EMBED_QUERY, &asked, 1, &err) == UAR_OK &&
            uar_bert_embed(vectors, embedder, UAR_EMBED_PASSAGE, texts, count, &err) == UAR_OK) {
            for (size_t i = 0; i < count; i++)
                printf("%6.3f  %s\n", cosine(query, vectors + i * dims, dims), sentences[i]);
            code = 0;
        } else {
            code = fail(&err);
        }
    }
    free(texts);
    free(query);
    free(vectors);
    return code;
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: embed MODEL_FOLDER QUESTION SENTENCE...\n");
        return 2;
    }
    uar_error err = UAR_ERROR_INIT;
    uar_embedder embedder;
    uar_bert_options options = { UAR_BERT_OPTIONS_INIT, .precision = UAR_BERT_INT8 };
    if (uar_bert_open(&embedder, argv[1], &options, &err) != UAR_OK) return fail(&err);
    int code = rank(&embedder, argv[2], argv + 3, (size_t)argc - 3);
    uar_bert_close(&embedder);
    return code;
}
