/* A folder for the files of a test, where there is one in memory, for memory is faster than a disk. */
#ifndef UAR_TESTS_FAULT_FOLDER_H
#define UAR_TESTS_FAULT_FOLDER_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static inline void folder_make(char folder[64]) {
    struct stat info;
    const char *base = stat("/dev/shm", &info) == 0 && access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    (void)snprintf(folder, 64, "%s/uar-fault-XXXXXX", base);
    if (mkdtemp(folder) == NULL) abort();
}

static inline void store_files_remove(const char *path) {
    static const char *const tails[] = { "", "-wal", "-shm", "-journal" };
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        char name[160];
        (void)snprintf(name, sizeof name, "%s%s", path, tails[i]);
        (void)unlink(name);
    }
}

static inline void file_copy(const char *to, const char *from) {
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    char bytes[65536];
    if (in == NULL || out == NULL) abort();
    for (size_t n = fread(bytes, 1, sizeof bytes, in); n > 0; n = fread(bytes, 1, sizeof bytes, in))
        if (fwrite(bytes, 1, n, out) != n) abort();
    (void)fclose(in);
    if (fclose(out) != 0) abort();
}

#endif
