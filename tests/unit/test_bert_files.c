/* Model files that are missing, damaged or of another sort: each is refused with a status and a name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "bert/config.h"
#include "bert/safetensors.h"
#include "support/probe_alloc.h"
#include "support/tiny_bert.h"

/* Opening must fail so, leave nothing behind and touch nothing. */
static void check_refused(const uar_bert_files *files, uar_status wanted, const char *in_message) {
    probe_alloc probe;
    probe_alloc_init(&probe);
    uar_bert_options o = { .size = UAR_BERT_OPTIONS_INIT };
    o.allocator = &probe.door;
    uar_embedder e = { .dims = 12345 };
    uar_error err = UAR_ERROR_INIT;
    uar_status status = uar_bert_open_memory(&e, files, &o, &err);
    if (status != wanted || strstr(err.message, in_message) == NULL)
        fail_msg("%s '%s', not %s with '%s'", uar_status_name(status), err.message, uar_status_name(wanted),
                 in_message);
    assert_int_equal(err.code, wanted);
    assert_int_equal(e.dims, 12345);
    assert_int_equal(probe.alive, 0);
}

/* ---- config.json and the files about pooling ---- */

#define CONFIG(type, hidden, heads, more)                                                                \
    "{\"model_type\":\"" type "\",\"vocab_size\":32,\"hidden_size\":" hidden ",\"num_hidden_layers\":2," \
    "\"num_attention_heads\":" heads ",\"intermediate_size\":40,\"max_position_embeddings\":20,"         \
    "\"type_vocab_size\":2" more "}"

static void check_config(const char *file, uar_status wanted, const char *in_message) {
    tiny_bert t;
    tiny_bert_make(&t, NULL);
    t.files.config = uar_str_of(file);
    check_refused(&t.files, wanted, in_message);
    tiny_bert_free(&t);
}

static void test_another_architecture_is_refused_by_name(void **state) {
    (void)state;
    check_config(CONFIG("roberta", "24", "2", ""), UAR_E_UNSUPPORTED, "'roberta'");
    check_config("{}", UAR_E_UNSUPPORTED, "model_type");
    check_config(CONFIG("bert", "24", "2", ",\"hidden_act\":\"gelu_new\""), UAR_E_UNSUPPORTED, "hidden_act");
    check_config(CONFIG("bert", "24", "2", ",\"position_embedding_type\":\"relative_key\""), UAR_E_UNSUPPORTED,
                 "position_embedding_type");
    check_config(CONFIG("bert", "24", "2", ",\"is_decoder\":true"), UAR_E_UNSUPPORTED, "decoder");
}

static void test_sizes_that_can_not_be_are_refused(void **state) {
    (void)state;
    check_config(CONFIG("bert", "0", "2", ""), UAR_E_SCHEMA, "hidden_size");
    check_config(CONFIG("bert", "\"24\"", "2", ""), UAR_E_SCHEMA, "hidden_size");
    check_config(CONFIG("bert", "1000000", "2", ""), UAR_E_SCHEMA, "hidden_size");
    check_config(CONFIG("bert", "24", "5", ""), UAR_E_SCHEMA, "num_attention_heads");
    check_config(CONFIG("bert", "24", "2", ",\"layer_norm_eps\":-1"), UAR_E_SCHEMA, "layer_norm_eps");
    check_config("{\"model_type\":\"bert\"", UAR_E_JSON, "config.json");
    check_config(NULL, UAR_E_NOT_FOUND, "config.json");
}

static void check_other(size_t offset, const char *text, uar_status wanted, const char *in_message) {
    tiny_bert t;
    tiny_bert_make(&t, NULL);
    uar_str file = uar_str_of(text);
    memcpy((char *)&t.files + offset, &file, sizeof file);
    check_refused(&t.files, wanted, in_message);
    tiny_bert_free(&t);
}

static void test_modules_and_poolings_that_are_not_known_are_refused(void **state) {
    (void)state;
    check_other(offsetof(uar_bert_files, modules), "[{\"type\":\"sentence_transformers.models.Dense\"}]",
                UAR_E_UNSUPPORTED, "'Dense'");
    check_other(offsetof(uar_bert_files, modules), "{}", UAR_E_SCHEMA, "modules.json");
    check_other(offsetof(uar_bert_files, pooling), "{}", UAR_E_UNSUPPORTED, "pooling");
    check_other(offsetof(uar_bert_files, pooling), "{\"pooling_mode_lasttoken\":true}", UAR_E_UNSUPPORTED, "pooling");
    check_other(offsetof(uar_bert_files, pooling),
                "{\"pooling_mode_cls_token\":true,\"pooling_mode_mean_tokens\":true}", UAR_E_UNSUPPORTED, "pooling");
    check_other(offsetof(uar_bert_files, pooling), "{\"word_embedding_dimension\":9,\"pooling_mode_cls_token\":true}",
                UAR_E_SCHEMA, "9 dimensions");
    check_other(offsetof(uar_bert_files, sentence), "{\"max_seq_length\":2}", UAR_E_SCHEMA, "max_seq_length");
    check_other(offsetof(uar_bert_files, prompts), "nope", UAR_E_JSON, "config_sentence_transformers.json");
}

static void test_a_tokenizer_with_more_tokens_than_the_model_is_refused(void **state) {
    (void)state;
    check_other(offsetof(uar_bert_files, vocabulary), TINY_VOCABULARY "more\n", UAR_E_SCHEMA, "33 tokens");
}

static void test_the_window_is_the_shortest_that_anything_names(void **state) {
    (void)state;
    uar_bert_files files = { .size = UAR_BERT_FILES_INIT };
    config c;
    files.config = STR(CONFIG("bert", "24", "2", ",\"_name_or_path\":\"someone/Mini-L2/\""));
    assert_int_equal(config_read(&c, &alloc_default, &files, NULL), UAR_OK);
    assert_int_equal(c.window, 20);
    assert_string_equal(c.name, "Mini-L2");
    assert_true(c.normalise && c.pooling == POOLING_MEAN && !c.lower_first);
    config_dispose(&c, &alloc_default);
    files.sentence = STR("{\"max_seq_length\":12,\"do_lower_case\":true}");
    assert_int_equal(config_read(&c, &alloc_default, &files, NULL), UAR_OK);
    assert_int_equal(c.window, 12);
    assert_true(c.lower_first);
    config_dispose(&c, &alloc_default);
    files.sentence = STR("{\"max_seq_length\":1200}");
    assert_int_equal(config_read(&c, &alloc_default, &files, NULL), UAR_OK);
    assert_int_equal(c.window, 20);
    config_dispose(&c, &alloc_default);
}

/* ---- Weights ---- */

static void check_weights(const tiny_options *options, uar_status wanted, const char *in_message) {
    tiny_bert t;
    tiny_bert_make(&t, options);
    check_refused(&t.files, wanted, in_message);
    tiny_bert_free(&t);
}

static void test_a_missing_tensor_is_named(void **state) {
    (void)state;
    check_weights(&(tiny_options){ .leave_out = "encoder.layer.1.attention.self.key.bias" }, UAR_E_NOT_FOUND,
                  "encoder.layer.1.attention.self.key.bias");
    check_weights(&(tiny_options){ .leave_out = "embeddings.LayerNorm.weight" }, UAR_E_NOT_FOUND,
                  "embeddings.LayerNorm.weight");
    check_weights(&(tiny_options){ .leave_out = "embeddings.word_embeddings.weight" }, UAR_E_NOT_FOUND,
                  "word_embeddings");
}

static void test_a_tensor_of_another_shape_is_named(void **state) {
    (void)state;
    check_weights(&(tiny_options){ .misshape = "encoder.layer.0.intermediate.dense.weight" }, UAR_E_SCHEMA,
                  "encoder.layer.0.intermediate.dense.weight: its shape is not 40 by 24");
    check_weights(&(tiny_options){ .misshape = "encoder.layer.0.output.LayerNorm.bias" }, UAR_E_SCHEMA,
                  "encoder.layer.0.output.LayerNorm.bias: its shape is not 24");
}

static void test_weights_that_are_no_finite_floats_are_refused(void **state) {
    (void)state;
    check_weights(&(tiny_options){ .type = TINY_I32 }, UAR_E_UNSUPPORTED, "floats");
    check_weights(&(tiny_options){ .not_finite = true }, UAR_E_SCHEMA, "finite");
}

static void test_weights_that_end_anywhere_too_early_are_refused(void **state) {
    (void)state;
    tiny_bert t;
    tiny_bert_make(&t, NULL);
    for (size_t len = 0; len < t.file_len; len = len < 4000 ? len + 97 : len + 1777) {
        t.files.weights.len = len;
        check_refused(&t.files, UAR_E_CORRUPT, "end");
    }
    t.files.weights.len = t.file_len - 1;
    check_refused(&t.files, UAR_E_CORRUPT, "ends before");
    t.files.weights = uar_str_of(NULL);
    check_refused(&t.files, UAR_E_NOT_FOUND, "weights");
    tiny_bert_free(&t);
}

static uar_status open_header(const char *header, size_t data, uar_error *err) {
    size_t len = strlen(header);
    char *file = calloc(1, 8 + len + data);
    assert_non_null(file);
    for (int i = 0; i < 8; i++)
        file[i] = (char)(len >> 8 * i & 0xFFu);
    memcpy(file + 8, header, len);
    source from;
    source_of_memory(&from, uar_str_n(file, 8 + len + data));
    safetensors s;
    uar_status status = safetensors_open(&s, &alloc_default, &from, err);
    if (status == UAR_OK) safetensors_dispose(&s);
    free(file);
    return status;
}

static void test_a_header_that_lies_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *header;
        uar_status wanted;
    } cases[] = {
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", UAR_OK },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]}}", UAR_E_CORRUPT },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", UAR_E_SCHEMA },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}", UAR_E_SCHEMA },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8,9]}}", UAR_E_SCHEMA },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}", UAR_E_SCHEMA },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":2,\"data_offsets\":[0,8]}}", UAR_E_SCHEMA },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", UAR_E_SCHEMA },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,2],\"data_offsets\":[0,8]}}", UAR_E_SCHEMA },
        { "{\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[8],\"data_offsets\":[0,8]}}", UAR_E_UNSUPPORTED },
        { "{\"a\":{},\"a\":{}}", UAR_E_JSON },
        { "[]", UAR_E_SCHEMA },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uar_error err = UAR_ERROR_INIT;
        assert_int_equal(open_header(cases[i].header, 8, &err), cases[i].wanted);
        assert_int_equal(err.code, cases[i].wanted);
    }
}

static void test_a_header_above_16_mib_is_refused_before_it_is_read(void **state) {
    (void)state;
    char head[8] = { 0, 0, 0, 2 }; /* 32 MiB */
    source from;
    source_of_memory(&from, uar_str_n(head, sizeof head));
    safetensors s;
    assert_int_equal(safetensors_open(&s, &alloc_default, &from, NULL), UAR_E_TOO_LARGE);
}

/* ---- A folder ---- */

static void write_file(const char *folder, const char *name, uar_str bytes) {
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes.ptr, 1, bytes.len, f), bytes.len);
    assert_int_equal(fclose(f), 0);
}

static void test_a_folder_gives_the_same_embedder_as_memory(void **state) {
    (void)state;
    static const char *const names[] = { "config.json", "vocab.txt", "model.safetensors", "1_Pooling/config.json" };
    char folder[] = "/tmp/uar-bert-XXXXXX", path[512];
    assert_non_null(mkdtemp(folder));
    uar_embedder e = { .dims = 12345 }, same;
    uar_error err = UAR_ERROR_INIT;
    tiny_bert t;
    tiny_bert_make(&t, NULL);
    t.files.pooling = STR("{\"pooling_mode_cls_token\":true}");
    assert_int_equal(uar_bert_open(&e, folder, NULL, &err), UAR_E_NOT_FOUND);
    assert_non_null(strstr(err.message, "config.json"));
    write_file(folder, names[0], t.files.config);
    write_file(folder, names[1], t.files.vocabulary);
    assert_int_equal(uar_bert_open(&e, folder, NULL, &err), UAR_E_NOT_FOUND);
    assert_non_null(strstr(err.message, "model.safetensors"));
    assert_int_equal(e.dims, 12345);
    write_file(folder, names[2], t.files.weights);
    (void)snprintf(path, sizeof path, "%s/1_Pooling", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    write_file(folder, names[3], t.files.pooling);
    uar_error untouched = UAR_ERROR_INIT;
    assert_int_equal(uar_bert_open(&e, folder, NULL, &untouched), UAR_OK);
    assert_int_equal(untouched.code, UAR_OK);
    assert_int_equal(uar_bert_open_memory(&same, &t.files, NULL, &err), UAR_OK);
    assert_string_equal(e.id, same.id);
    uar_bert_close(&e);
    uar_bert_close(&same);
    for (size_t i = 4; i-- > 0;) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        assert_int_equal(unlink(path), 0);
    }
    (void)snprintf(path, sizeof path, "%s/1_Pooling", folder);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(folder), 0);
    tiny_bert_free(&t);
}

static void test_a_folder_survives_every_lack_of_memory(void **state) {
    (void)state;
    char folder[] = "/tmp/uar-bert-XXXXXX", path[512];
    assert_non_null(mkdtemp(folder));
    tiny_bert t;
    tiny_bert_make(&t, NULL);
    write_file(folder, "config.json", t.files.config);
    write_file(folder, "vocab.txt", t.files.vocabulary);
    write_file(folder, "model.safetensors", t.files.weights);
    probe_alloc probe;
    probe_alloc_init(&probe);
    uar_bert_options o = { .size = UAR_BERT_OPTIONS_INIT };
    o.allocator = &probe.door;
    for (int for_good = 0; for_good < 2; for_good++)
        for (unsigned long at = 1;; at++) {
            uar_embedder e;
            probe_alloc_arm(&probe, at, for_good != 0);
            uar_status status = uar_bert_open(&e, folder, &o, NULL);
            assert_int_equal(status, probe_alloc_has_failed(&probe) ? UAR_E_NOMEM : UAR_OK);
            if (status == UAR_OK) uar_bert_close(&e);
            assert_int_equal(probe.alive, 0);
            if (status == UAR_OK) break;
        }
    static const char *const names[] = { "config.json", "vocab.txt", "model.safetensors" };
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(folder), 0);
    tiny_bert_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_another_architecture_is_refused_by_name),
        cmocka_unit_test(test_sizes_that_can_not_be_are_refused),
        cmocka_unit_test(test_modules_and_poolings_that_are_not_known_are_refused),
        cmocka_unit_test(test_a_tokenizer_with_more_tokens_than_the_model_is_refused),
        cmocka_unit_test(test_the_window_is_the_shortest_that_anything_names),
        cmocka_unit_test(test_a_missing_tensor_is_named),
        cmocka_unit_test(test_a_tensor_of_another_shape_is_named),
        cmocka_unit_test(test_weights_that_are_no_finite_floats_are_refused),
        cmocka_unit_test(test_weights_that_end_anywhere_too_early_are_refused),
        cmocka_unit_test(test_a_header_that_lies_is_refused),
        cmocka_unit_test(test_a_header_above_16_mib_is_refused_before_it_is_read),
        cmocka_unit_test(test_a_folder_gives_the_same_embedder_as_memory),
        cmocka_unit_test(test_a_folder_survives_every_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
