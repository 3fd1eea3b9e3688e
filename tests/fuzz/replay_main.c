/*
 * Runs every file of the folders (or the files) given as arguments through a fuzz target, once each and in name order,
 * so that a corpus is a plain test that needs no fuzzer. Status 1 if something can't be read or there is no file at all.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path) {
    struct stat info;
    FILE *file = fopen(path, "rb");
    if (file == NULL || fstat(fileno(file), &info) != 0 || info.st_size < 0) {
        fprintf(stderr, "%s: can't be read\n", path);
        if (file != NULL) fclose(file);
        return -1;
    }
    /* Exactly as large as the input, so that a read beyond its end is seen. */
    size_t size = (size_t)info.st_size;
    uint8_t *data = malloc(size > 0 ? size : 1);
    size_t got = data != NULL ? fread(data, 1, size, file) : 0;
    fclose(file);
    if (data == NULL || got != size) {
        fprintf(stderr, "%s: read %zu of %zu bytes\n", path, got, size);
        free(data);
        return -1;
    }
    /* Before the run: a target that aborts leaves the name behind. */
    printf("%s (%zu bytes)\n", path, size);
    fflush(stdout);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 1;
}

static int is_visible(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

/* Files run, or -1. */
static int replay_folder(const char *folder) {
    struct dirent **entries;
    int count = scandir(folder, &entries, is_visible, alphasort);
    int result = count;
    if (count < 0) {
        fprintf(stderr, "%s: can't be listed\n", folder);
        return -1;
    }
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (replay_file(path) < 0) result = -1;
        free(entries[i]);
    }
    free(entries);
    return result;
}

int main(int argc, char **argv) {
    int total = 0;
    for (int i = 1; i < argc; i++) {
        struct stat info;
        int count = stat(argv[i], &info) == 0 && S_ISDIR(info.st_mode) ? replay_folder(argv[i]) : replay_file(argv[i]);
        if (count < 0) return 1;
        total += count;
    }
    printf("%d inputs\n", total);
    return total > 0 ? 0 : 1;
}
