/*
 * SQLite's memory behind the same port as the library's, so that one sweep fails both. Only a test may do this: the library
 * never configures SQLite. Blocks are counted apart: SQLite keeps caches for as long as a file is open.
 */
#ifndef UAR_TESTS_FAULT_SQLITE_PORT_H
#define UAR_TESTS_FAULT_SQLITE_PORT_H

#include <sqlite3.h>

#include "fault/folder.h"
#include "fault/port.h"

#define BLOCK_HEAD 16

/* The port of the case that runs; NULL: nothing fails. */
static fault_port *sqlite_port;
static long sqlite_alive;

static inline bool sqlite_fails(void) {
    return sqlite_port != NULL && port_fails(sqlite_port);
}

static inline void *sqlite_block_alloc(int size) {
    if (size <= 0 || sqlite_fails()) return NULL;
    unsigned char *block = malloc((size_t)size + BLOCK_HEAD);
    if (block == NULL) return NULL;
    memcpy(block, &size, sizeof size);
    sqlite_alive++;
    return block + BLOCK_HEAD;
}

static inline void sqlite_block_free(void *ptr) {
    if (ptr == NULL) return;
    sqlite_alive--;
    free((unsigned char *)ptr - BLOCK_HEAD);
}

static inline void *sqlite_block_resize(void *ptr, int size) {
    if (ptr == NULL) return sqlite_block_alloc(size);
    if (sqlite_fails()) return NULL;
    unsigned char *block = realloc((unsigned char *)ptr - BLOCK_HEAD, (size_t)size + BLOCK_HEAD);
    if (block == NULL) return NULL;
    memcpy(block, &size, sizeof size);
    return block + BLOCK_HEAD;
}

static inline int sqlite_block_size(void *ptr) {
    int size = 0;
    if (ptr != NULL) memcpy(&size, (unsigned char *)ptr - BLOCK_HEAD, sizeof size);
    return size;
}

static inline int sqlite_round(int size) {
    return (size + 7) & ~7;
}

static inline int sqlite_port_init(void *arg) {
    (void)arg;
    return SQLITE_OK;
}

static inline void sqlite_port_shutdown(void *arg) {
    (void)arg;
}

/* Before anything uses SQLite. */
static inline void sqlite_port_install(void) {
    static sqlite3_mem_methods methods = { sqlite_block_alloc,   sqlite_block_free,
                                           sqlite_block_resize,  sqlite_block_size,
                                           sqlite_round,         sqlite_port_init,
                                           sqlite_port_shutdown, NULL };
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) != SQLITE_OK) abort();
    if (sqlite3_initialize() != SQLITE_OK) abort();
}

#endif
