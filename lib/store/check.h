/*
 * The conformance kit's own types, for the check*.c files only.
 *
 * A requirement is a number that never changes, a one-line demand and a function that tries it. It returns true if the
 * demand is kept; otherwise it has left the fault in the kit. Calls wait, one at a time; what they read is copied into the
 * kit's arena before the layer's release. Each requirement works under two owners of its own, which are swept afterwards.
 */
#ifndef UAR_LIB_STORE_CHECK_H
#define UAR_LIB_STORE_CHECK_H

#include <uar/persistence.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "store/record.h"

enum { KIT_HOMES = 16, KIT_OWNER = 80 };

/* An owner and a kind that a requirement has written to. */
typedef struct kit_home {
    uint32_t kind;
    uar_str owner;
} kit_home;

typedef struct kit {
    uar_persistence layer;
    uint32_t patience_ms; /* how long a call may take */
    arena memory;         /* of one requirement */
    char run[UAR_UUID_TEXT];
    char owner_text[KIT_OWNER], other_text[KIT_OWNER];
    uar_str owner, other;
    kit_home homes[KIT_HOMES];
    size_t home_count;
    bool is_hung; /* a call never ended: nothing more may be asked */
    bool is_out_of_memory;
    uar_error fault;
} kit;

typedef struct kit_requirement {
    uint32_t number;
    const char *demand;
    bool (*is_kept)(kit *k);
} kit_requirement;

extern const kit_requirement check_writes[];
extern const size_t check_writes_count;
extern const kit_requirement check_fields[];
extern const size_t check_fields_count;
extern const kit_requirement check_lists[];
extern const size_t check_lists_count;
extern const kit_requirement check_pages[];
extern const size_t check_pages_count;

/* The kit with a patience of its own; uar_persistence_check has 30 s. */
uar_status check_run(uar_persistence_report *report, const uar_persistence *layer, uint32_t patience_ms,
                     uar_requirement_fn each, void *each_ctx, uar_error *err);

/* ---- check_call.c ---- */

typedef struct kit_page {
    const uar_record *records;
    size_t count;
} kit_page;

uar_status kit_get(uar_record *out, kit *k, uint32_t kind, uar_str owner, uar_str id);
uar_status kit_list(kit_page *out, kit *k, const uar_list_query *query);
uar_status kit_commit(kit *k, const uar_write *writes, size_t count);
/* Delete what the requirement wrote, as far as the layer lets it. */
void kit_sweep(kit *k);

/* A sealed record of kind MESSAGE under the kit's owner, at revision 1, with a small body. */
uar_record kit_record(kit *k, uar_str id);
uar_record kit_child(kit *k, uar_str id, uar_str parent);
uar_record kit_sorted(kit *k, uar_str id, uar_str parent, int64_t sort);
/* The record at another revision with another body. */
uar_record kit_newer(kit *k, uar_record record, uint64_t revision);
uar_write kit_put(uar_record record, uint64_t expected);
uar_write kit_delete(uar_record record, uint64_t expected);
uar_write kit_fence(uar_record record, uint64_t expected);
uar_write kit_delete_children(uar_record child);
/* Numbered text in the arena: "<prefix><number>", zero-padded to four digits. */
uar_str kit_name(kit *k, const char *prefix, size_t number);
/* `len` bytes of every value, in the arena. */
uar_str kit_bytes(kit *k, size_t len);

/* Leave a fault; always false. printf-like as error_set. */
#define KIT_FAULT(k, ...) (error_set(&(k)->fault, UAR_E_INVALID, __VA_ARGS__), false)
/* The common demands. Each leaves a fault and returns false if it isn't met; `what` says what was tried. */
bool kit_expect(kit *k, uar_status got, uar_status wanted, const char *what);
bool kit_commits(kit *k, const uar_write *writes, size_t count, const char *what);
bool kit_stores(kit *k, uar_record record);                                        /* puts it as new */
bool kit_refuses(kit *k, const uar_write *writes, size_t count, const char *what); /* UAR_E_CONFLICT */
bool kit_has(kit *k, const uar_record *record);                                    /* get gives exactly this */
bool kit_lacks(kit *k, const uar_record *record);
bool kit_same(kit *k, const uar_record *got, const uar_record *wanted);
/* The list gives exactly these ids in this order. */
bool kit_lists(kit *k, const uar_list_query *query, const uar_str *ids, size_t count);
/* All records of kind MESSAGE and the kit's owner, up to 1,000. */
uar_list_query kit_query(const kit *k, uar_list_order order);

#endif
