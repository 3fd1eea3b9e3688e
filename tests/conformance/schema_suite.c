/* Loading and running the public JSON Schema suite. */
#include "conformance/schema_suite.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "schema/schema.h"
#include "support/test_data.h"

#define FOLDER "json-schema/tests/draft2020-12"

static int by_name(const void *a, const void *b) {
    return strcmp(((const suite_file *)a)->name, ((const suite_file *)b)->name);
}

static void load_file(suite_file *file) {
    char path[200];
    snprintf(path, sizeof path, FOLDER "/%s.json", file->name);
    size_t len = 0;
    char *text = test_data_read(path, &len);
    if (text == NULL) fail_msg("%s can't be read", path);
    json_notes notes = { 0 };
    uar_error err = UAR_ERROR_INIT;
    uar_status status =
        json_read_mode(&file->groups, &alloc_default, uar_str_n(text, len), SIZE_MAX, JSON_PROVIDER, &notes, &err);
    free(text);
    if (status != UAR_OK) fail_msg("%s: %s", path, err.message);
}

/* The .json files of a folder below the draft's, "" for that itself. */
static bool list_folder(suite *s, const char *folder) {
    char path[200];
    snprintf(path, sizeof path, FOLDER "/%s", folder);
    DIR *dir = opendir(test_data_path(path));
    if (dir == NULL) return false;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        size_t len = strlen(entry->d_name);
        if (len <= 5 || strcmp(entry->d_name + len - 5, ".json") != 0) continue;
        assert_true(s->count < SUITE_FILES);
        suite_file *file = &s->files[s->count++];
        int wrote = snprintf(file->name, sizeof file->name, "%s%.*s", folder, (int)(len - 5), entry->d_name);
        assert_true(wrote > 0 && (size_t)wrote < sizeof file->name);
    }
    closedir(dir);
    return true;
}

bool suite_load(suite *s) {
    *s = (suite){ .count = 0 };
    if (!list_folder(s, "")) return false;
    assert_true(list_folder(s, "optional/"));
    assert_true(list_folder(s, "optional/format/"));
    qsort(s->files, s->count, sizeof s->files[0], by_name);
    for (size_t i = 0; i < s->count; i++)
        load_file(&s->files[i]);
    return true;
}

void suite_free(suite *s) {
    for (size_t i = 0; i < s->count; i++)
        json_free(&alloc_default, s->files[i].groups);
    s->count = 0;
}

/* One field of a line, without the blanks around it; what comes behind its bar, or NULL at the end. */
static const char *read_field(const char *line, char *out, size_t room) {
    const char *stop = strstr(line, " | ");
    size_t len = stop != NULL ? (size_t)(stop - line) : strcspn(line, "\n");
    assert_true(len > 0 && len < room);
    memcpy(out, line, len);
    out[len] = '\0';
    return stop != NULL ? stop + 3 : NULL;
}

void suite_exclusions_load(suite_exclusions *e) {
    char path[4096], line[512];
    const char *root = getenv("UAR_SOURCE_ROOT");
    snprintf(path, sizeof path, "%s/tests/conformance/schema_excluded.txt", root != NULL ? root : ".");
    *e = (suite_exclusions){ .count = 0 };
    FILE *file = fopen(path, "r");
    if (file == NULL) fail_msg("%s can't be read", path);
    while (fgets(line, sizeof line, file) != NULL) {
        if (line[0] == '#' || line[0] == '\n') continue;
        assert_true(e->count < sizeof e->lines / sizeof e->lines[0]);
        suite_exclusion *x = &e->lines[e->count++];
        const char *rest = read_field(line, x->file, sizeof x->file);
        if (rest != NULL) rest = read_field(rest, x->group, sizeof x->group);
        if (rest == NULL) fail_msg("a line without its three fields: %s", line);
        read_field(rest, x->reason, sizeof x->reason);
    }
    fclose(file);
}

suite_exclusion *suite_excluded(suite_exclusions *e, const char *file, const char *group) {
    for (size_t i = 0; i < e->count; i++) {
        suite_exclusion *x = &e->lines[i];
        if (strcmp(x->file, file) != 0 || (strcmp(x->group, "*") != 0 && strcmp(x->group, group) != 0)) continue;
        x->is_used = true;
        return x;
    }
    return NULL;
}

const char *suite_group_name(const cJSON *group) {
    return json_member(group, "description")->valuestring;
}

bool suite_has_replacement(const cJSON *node) {
    static const char mark[] = "\xEF\xBF\xBD";
    if (node->valuestring != NULL && strstr(node->valuestring, mark) != NULL) return true;
    if (node->string != NULL && strstr(node->string, mark) != NULL) return true;
    for (const cJSON *child = node->child; child != NULL; child = child->next)
        if (suite_has_replacement(child)) return true;
    return false;
}

suite_result suite_run_group(const suite_file *file, const cJSON *group) {
    suite_result result = { .agreed = 0 };
    schema *s = NULL;
    uar_error err = UAR_ERROR_INIT;
    result.compiled = schema_compile(&s, &alloc_default, json_member(group, "schema"), &err);
    if (result.compiled != UAR_OK) {
        snprintf(result.first_difference, sizeof result.first_difference, "%s: %s: %.200s", file->name,
                 suite_group_name(group), err.message);
        return result;
    }
    const cJSON *test = NULL;
    cJSON_ArrayForEach(test, json_member(group, "tests")) {
        bool want = json_flag(test, "valid", false);
        uar_status status = schema_check(s, json_member(test, "data"), &err);
        /* The message is for people; the verdict must not depend on whether one is asked for. */
        if (schema_check(s, json_member(test, "data"), NULL) != status) fail_msg("%s: two verdicts", file->name);
        if (status == (want ? UAR_OK : UAR_E_SCHEMA)) {
            result.agreed++;
            continue;
        }
        if (result.differed++ == 0)
            snprintf(result.first_difference, sizeof result.first_difference, "%s: %s: %s: %.100s", file->name,
                     suite_group_name(group), json_member(test, "description")->valuestring,
                     want ? err.message : "accepted");
    }
    schema_free(s);
    return result;
}
