/*
 * docs/events.md against the vocabulary: its part below the marker is exactly what the lists in uar/event.h and the examples
 * of test_event_examples.h say. With UAR_WRITE_DOCS=1 in the environment this program writes that part anew instead.
 */
#include "test_event_examples.h"
#include "test_event_fixture.h"

#include "event/shape.h"

static const char marker[] = "<!-- kinds: written by tests/unit/test_event_docs.c -->\n";

static const char *path_of_docs(void) {
    static char path[4096];
    const char *root = getenv("UAR_SOURCE_ROOT");
    snprintf(path, sizeof path, "%s/docs/events.md", root != NULL && root[0] != '\0' ? root : ".");
    return path;
}

static char *read_docs(size_t *len) {
    static char bytes[1 << 17];
    FILE *file = fopen(path_of_docs(), "rb");
    if (file == NULL) fail_msg("%s can't be read", path_of_docs());
    *len = fread(bytes, 1, sizeof bytes - 1, file);
    assert_int_equal(fclose(file), 0);
    bytes[*len] = '\0';
    return bytes;
}

static const char *type_name(field_type type) {
    static const char *const names[] = {
        [FIELD_STR] = "text",           [FIELD_JSON] = "JSON",   [FIELD_UUID] = "UUID",
        [FIELD_U64] = "integer",        [FIELD_I64] = "integer", [FIELD_F64] = "number",
        [FIELD_BOOL] = "true or false", [FIELD_USAGE] = "usage", [FIELD_HITS] = "hits",
    };
    return names[type];
}

static void write_kind(page *p, uar_event_kind kind) {
    static char line[8192];
    const event_shape *shape = event_shape_of(kind);
    char first = shape->docs[0];
    bool small = first >= 'a' && first <= 'z';
    snprintf(line, sizeof line, "\n## %s\n\n%c%s.\n\n| field | type | what it says |\n|---|---|---|\n", shape->name,
             small ? first - 'a' + 'A' : first, shape->docs + 1);
    page_write(p, line, strlen(line));
    for (size_t i = 0; i < shape->field_count; i++) {
        snprintf(line, sizeof line, "| `%s` | %s | %s |\n", shape->fields[i].name, type_name(shape->fields[i].type),
                 shape->fields[i].docs);
        page_write(p, line, strlen(line));
    }
    page_write(p, "\n```json\n", 9);
    uar_event example = example_of(kind);
    assert_int_equal(uar_event_write_json(&example, page_write, p), UAR_OK);
    page_write(p, "\n```\n", 5);
}

static void test_the_documented_kinds_fields_and_examples_are_those_of_the_vocabulary(void **state) {
    (void)state;
    static page kinds;
    for (int kind = 0; kind < UAR_EVENT_KIND_COUNT; kind++)
        write_kind(&kinds, (uar_event_kind)kind);
    size_t len;
    char *docs = read_docs(&len);
    char *at = strstr(docs, marker);
    assert_non_null(at);
    at += strlen(marker);
    if (getenv("UAR_WRITE_DOCS") != NULL) {
        FILE *file = fopen(path_of_docs(), "wb");
        assert_non_null(file);
        assert_int_equal(fwrite(docs, 1, (size_t)(at - docs), file), at - docs);
        assert_int_equal(fwrite(kinds.bytes, 1, kinds.len, file), kinds.len);
        assert_int_equal(fclose(file), 0);
        return;
    }
    assert_string_equal(at, kinds.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_documented_kinds_fields_and_examples_are_those_of_the_vocabulary),
    };
    return cmocka_run_group_tests_name("event docs", tests, NULL, NULL);
}
