/*
 * uar/bert.h: sentence encoders of the BERT family behind the embedder door. A library of its own (libuar-bert, link it
 * beside libuar); uar/uar.h does not include this header.
 *
 * A model is an ordinary folder: config.json, tokenizer.json or vocab.txt, model.safetensors, and where they are there
 * tokenizer_config.json, modules.json, 1_Pooling/config.json, sentence_bert_config.json and
 * config_sentence_transformers.json. It is read once, by open, and needed no more afterwards.
 *
 * An embedder may be used from any thread, also by several at once. The same text gives the same vector, bit by bit,
 * whatever else is in the batch and however many threads work, on one kind of processor; between kinds the vectors differ
 * by rounding. Since 0.1.
 */
#ifndef UAR_BERT_H
#define UAR_BERT_H

#include <uar/sys/embedder.h>
#include <uar/sys/platform.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Longest model name, in bytes. */
#define UAR_BERT_MAX_NAME 64

/** How weights are kept and multiplied. */
typedef enum uar_bert_precision {
    UAR_BERT_FP32 = 0, /**< as the model has them */
    UAR_BERT_INT8 = 1  /**< 8 bits a weight: a quarter of the memory, about twice as fast, a small loss */
} uar_bert_precision;

/** How a model is opened. */
typedef struct uar_bert_options {
    size_t size;                    /**< sizeof(uar_bert_options) */
    const uar_allocator *allocator; /**< NULL: malloc; copied */
    /** Where batches run; NULL: by `threads`. Copied; its `destroy` is not called, it must outlive the embedder. */
    const uar_executor *executor;
    /** At most so many threads work at one batch. Without an executor: threads of its own, 0: the thread that calls `embed`.
     *  With one: tasks posted for a batch, 0: one. At most 64. */
    uint32_t threads;
    uar_bert_precision precision; /**< how weights are kept */
    /** Longest window in tokens, its two marks included; 0: the model's own. Longer texts get several windows. 3 or more. */
    uint32_t max_window;
    uint32_t overlap;           /**< tokens that two windows share at least; 0: an eighth of the window */
    const char *name;           /**< model name in the embedder's id, up to 64 bytes; NULL: as config.json names it */
    const char *query_prefix;   /**< put in front of what searches; NULL: as the model says */
    const char *passage_prefix; /**< put in front of what is searched; NULL: as the model says */
} uar_bert_options;
/** Head of a uar_bert_options. */
#define UAR_BERT_OPTIONS_INIT sizeof(uar_bert_options)
/** The twin of UAR_BERT_OPTIONS_INIT: the defaults. */
static inline void uar_bert_options_init(uar_bert_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
}

/** The files of a model in memory; absent ones (all zero) as if not in the folder. Needed only while open runs. */
typedef struct uar_bert_files {
    size_t size;              /**< sizeof(uar_bert_files) */
    uar_str config;           /**< config.json */
    uar_str tokenizer;        /**< tokenizer.json; it goes before `vocabulary` */
    uar_str vocabulary;       /**< vocab.txt */
    uar_str tokenizer_config; /**< tokenizer_config.json */
    uar_str modules;          /**< modules.json */
    uar_str pooling;          /**< 1_Pooling/config.json */
    uar_str sentence;         /**< sentence_bert_config.json */
    uar_str prompts;          /**< config_sentence_transformers.json */
    uar_str weights;          /**< model.safetensors */
} uar_bert_files;
/** Head of a uar_bert_files. */
#define UAR_BERT_FILES_INIT sizeof(uar_bert_files)
/** The twin of UAR_BERT_FILES_INIT: no file at all. */
static inline void uar_bert_files_init(uar_bert_files *files) {
    memset(files, 0, sizeof *files);
    files->size = sizeof *files;
}

/**
 * Open the model in `folder` and fill `*out`. Whoever takes the embedder over calls its `destroy`; else do it by
 * uar_bert_close. Its id names the model, a digest of everything that shapes its vectors, and the precision.
 * `options` may be NULL. Statuses: UAR_E_NOT_FOUND (a file or a tensor is missing), UAR_E_UNSUPPORTED (another
 * architecture, tokenizer, pooling or number type), UAR_E_SCHEMA (sizes that don't fit), UAR_E_CORRUPT (weights that end too
 * early), UAR_E_TOO_LARGE, UAR_E_JSON, UAR_E_UTF8, UAR_E_IO, UAR_E_INVALID (an option), UAR_E_STRUCT, UAR_E_NOMEM; the
 * message names the file and what is wrong in it. Any thread.
 */
UAR_API uar_status uar_bert_open(uar_embedder *out, const char *folder, const uar_bert_options *options,
                                 uar_error *err);
/** The same from memory. */
UAR_API uar_status uar_bert_open_memory(uar_embedder *out, const uar_bert_files *files, const uar_bert_options *options,
                                        uar_error *err);
/** Free an embedder that nobody took over and empty `*embedder`. NULL and an empty one are accepted. Not while it is used. */
UAR_API void uar_bert_close(uar_embedder *embedder);

/**
 * Vectors at once, without a memory and without a completion: `count` rows of `embedder->dims` floats into `out`, which is
 * untouched on failure. The embedder is one of this header (else UAR_E_INVALID). UAR_E_UTF8, UAR_E_NOMEM; UAR_E_MODEL: the
 * weights give no finite vector. Runs on the calling thread. Any thread.
 */
UAR_API uar_status uar_bert_embed(float *out, const uar_embedder *embedder, uar_embed_purpose purpose,
                                  const uar_str *texts, size_t count, uar_error *err);

/**
 * The tokens of a text as the model counts them, without marks and prefix: at most `room` of their ids into `ids` (NULL
 * with 0), and how many there are into `*count`. UAR_E_INVALID, UAR_E_UTF8, UAR_E_NOMEM. Any thread.
 */
UAR_API uar_status uar_bert_tokens(int32_t *ids, size_t room, size_t *count, const uar_embedder *embedder, uar_str text,
                                   uar_error *err);

/** What the embedder multiplies with here: "scalar", "avx2", "avx512-vnni", "neon" … Static. Any thread. */
UAR_API const char *uar_bert_level(void);

#ifdef __cplusplus
}
#endif
#endif
