/*
 * A typical tool's schema: compiling it, checking good and bad arguments, and what a pattern costs for each character of a
 * text, also where others step back.
 */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "schema/pattern.h"
#include "schema/schema.h"

enum { ROUNDS = 10000, COMPILES = 1000, TEXT = 100000 };

static const char tool[] =
    "{\"$schema\":\"https://json-schema.org/draft/2020-12/"
    "schema\",\"type\":\"object\",\"properties\":{\"from\":{\"$ref\":"
    "\"#/$defs/place\"},\"to\":{\"$ref\":\"#/$defs/"
    "place\"},\"date\":{\"type\":\"string\",\"format\":\"date\",\"pattern\":"
    "\"^\\\\d{4}-\\\\d{2}-\\\\d{2}$\"},\"class\":{\"enum\":[\"economy\",\"business\",\"first\"]},\"passengers\":{"
    "\"type\":"
    "\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"minLength\":1,"
    "\"maxLength\":"
    "80},\"age\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":130}},\"required\":[\"name\",\"age\"],"
    "\"additionalProperties\":false},\"minItems\":1,\"maxItems\":9},\"budget\":{\"anyOf\":[{\"type\":\"number\","
    "\"exclusiveMinimum\":0},{\"type\":\"null\"}]}},\"required\":[\"from\",\"to\",\"date\",\"passengers\"],"
    "\"additionalProperties\":false,\"$defs\":{\"place\":{\"type\":\"object\",\"properties\":{\"city\":{\"type\":"
    "\"string\","
    "\"minLength\":1},\"code\":{\"type\":\"string\",\"pattern\":\"^[A-Z]{3}$\"}},\"required\":[\"city\"]}}}";

static const char good[] =
    "{\"from\":{\"city\":\"Oslo\",\"code\":\"OSL\"},\"to\":{\"city\":\"Lisboa\"},\"date\":\"2026-11-30\",\"class\":"
    "\"economy\",\"passengers\":[{\"name\":\"Ada "
    "Lovelace\",\"age\":36},{\"name\":\"Alan\",\"age\":41}],\"budget\":450.5}";
static const char bad[] =
    "{\"from\":{\"city\":\"\"},\"to\":{\"city\":\"Lisboa\",\"code\":\"lis\"},\"date\":\"tomorrow\","
    "\"passengers\":[],\"extra\":1}";

static cJSON *parse(const char *text) {
    cJSON *node = NULL;
    if (json_read(&node, &alloc_default, uar_str_of(text), SIZE_MAX, NULL) != UAR_OK) bench_give_up("no JSON");
    return node;
}

static double compile_us(const cJSON *document) {
    uint64_t began = bench_now();
    for (int i = 0; i < COMPILES; i++) {
        schema *s = NULL;
        if (schema_compile(&s, &alloc_default, document, NULL) != UAR_OK) bench_give_up("the schema doesn't compile");
        schema_free(s);
    }
    return (double)(bench_now() - began) / 1e3 / COMPILES;
}

static double check_us(const schema *s, const cJSON *value, uar_status want) {
    uar_error err = UAR_ERROR_INIT;
    uint64_t began = bench_now();
    for (int i = 0; i < ROUNDS; i++)
        if (schema_check(s, value, &err) != want) bench_give_up("the wrong verdict");
    return (double)(bench_now() - began) / 1e3 / ROUNDS;
}

/* Nanoseconds a character; the text is all `a`, then one `!`. */
static double pattern_ns(const char *written) {
    arena memory;
    arena_init(&memory, &alloc_default);
    const pattern *p = NULL;
    pattern_fault fault;
    size_t room = PATTERN_MAX_SIZE;
    if (pattern_compile(&p, &memory, uar_str_of(written), &room, &fault) != UAR_OK) bench_give_up(fault.text);
    char *text = bench_memory(TEXT + 1);
    memset(text, 'a', TEXT);
    text[TEXT] = '!';
    void *scratch = bench_memory(pattern_scratch(p));
    uint64_t steps = UINT64_MAX, began = bench_now();
    bench_check(pattern_search(p, uar_str_n(text, TEXT + 1), scratch, &steps) == PATTERN_ABSENT,
                "the text doesn't match");
    double ns = (double)(bench_now() - began) / TEXT;
    alloc_free(&alloc_default, text);
    alloc_free(&alloc_default, scratch);
    arena_dispose(&memory);
    return ns;
}

int main(void) {
    bench_begin("schema");
    cJSON *document = parse(tool), *fits = parse(good), *misfits = parse(bad);
    schema *s = NULL;
    if (schema_compile(&s, &alloc_default, document, NULL) != UAR_OK) bench_give_up("the schema doesn't compile");
    bench_report("schema.compile", compile_us(document), "us", BENCH_FACT, 0);
    bench_report("schema.check.good", check_us(s, fits, UAR_OK), "us", BENCH_BELOW, 10);
    bench_report("schema.check.bad", check_us(s, misfits, UAR_E_SCHEMA), "us", BENCH_FACT, 0);
    bench_report("schema.pattern.plain", pattern_ns("^[a-z]+$"), "ns/char", BENCH_FACT, 0);
    bench_report("schema.pattern.nested", pattern_ns("^(a+)+$"), "ns/char", BENCH_FACT, 0);
    bench_report("schema.pattern.counted", pattern_ns("(?:a|b){100}c$"), "ns/char", BENCH_FACT, 0);
    schema_free(s);
    json_free(&alloc_default, document);
    json_free(&alloc_default, fits);
    json_free(&alloc_default, misfits);
    return bench_end();
}
