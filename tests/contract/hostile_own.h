/*
 * The hostile layer's own types, for hostile*.c only. A layer alone owns its world, a source's layers share one. What layers
 * on several threads touch is guarded by the world's lock or belongs to the layer.
 */
#ifndef UAR_TESTS_CONTRACT_HOSTILE_OWN_H
#define UAR_TESTS_CONTRACT_HOSTILE_OWN_H

#include <stdatomic.h>

#include "base/completion.h"
#include "base/lock.h"
#include "base/str.h"
#include "contract/hostile.h"
#include "store/record.h"

enum { PLENTY = 100000, KEPT = 4096, HANDLES = 4, REMEMBERED = 512 };

typedef struct hostile hostile;

/* The data, and what the wrong ways remember of it. */
typedef struct hostile_world {
    hostile_way way;
    const uar_persistence *inner;
    mutex lock;
    hostile *handles[HANDLES];
    size_t open_now;
    size_t openings;             /* how often the data was opened with no layer open before */
    const hostile *holder;       /* HOLDS_LOCK */
    uar_record last[REMEMBERED]; /* the last puts, oldest first */
    size_t last_count;
    uar_record lost[REMEMBERED]; /* REVIVES, REPLAYS_REFUSED */
    size_t lost_count;
    arena memory;                /* of `last` and `lost` */
    const uar_persistence *copy; /* a backup */
} hostile_world;

struct hostile {
    uar_persistence door;
    hostile_world *world;
    bool owns_world;
    const uar_persistence *inner;
    hostile_way way;
    size_t calls;
    size_t paged;          /* OFFSETS: records given since a list began */
    uar_record kept[KEPT]; /* STALE_LISTS, KEEPS_ADDRESSES, SOFT_DELETE: what was seen first */
    size_t kept_count;
    arena memory;                     /* of what the layer remembers */
    uar_completion *held;             /* NEVER_ENDS: the call it sits on */
    uar_completion *refs[REMEMBERED]; /* KEEPS_CALLS */
    size_t ref_count;
    atomic_int late; /* LATE: threads that have not ended */
    thread_id opener;
    bool is_walking; /* ONE_WALK */
    uar_str walk_last;
    uar_record seen[REMEMBERED]; /* CACHES_GETS and its like: gets since the last own commit */
    size_t seen_count;
    uar_list_query listed; /* CACHES_LISTS; owner absent: nothing */
    uar_record *page;
    size_t page_count;
    uar_record wrote[REMEMBERED]; /* OWN_REVISIONS, OWN_CHECKS: own puts that nobody asked for since */
    size_t wrote_count;
    size_t opening;      /* of the world, when this layer was opened */
    bool compares_again; /* FORGETS_REVISIONS: a put came */
    bool is_struck;      /* CLOSES_ALL */
    bool is_asleep, has_slept;
};

typedef struct reply {
    arena *memory;
    uar_status status;
    uar_record *records;
    size_t count;
} reply;

reply inner_get(const hostile *h, arena *memory, uint32_t kind, uar_str owner, uar_str id);
reply inner_list(const hostile *h, arena *memory, const uar_list_query *query);
uar_status inner_commit(const hostile *h, const uar_write *writes, size_t count);
uint64_t revision_of(const hostile *h, arena *memory, const uar_record *r);
size_t delete_listed(const hostile *h, arena *memory, uint32_t kind, uar_str owner, uar_str parent, bool by_prefix);
void pause_us(long us);
/* Where the record of that key is, or `count`. */
size_t record_at(const uar_record *records, size_t count, const uar_record *key);
bool has_company(const hostile *h);

/* ---- hostile_shared.c: ways that need more than one layer, or one opened again ---- */

hostile_world *world_new(hostile_way way);
void world_free(hostile_world *w);
void world_enter(hostile *h); /* a layer opens */
void world_leave(hostile *h);
/* Before a commit: a status other than UAR_OK answers it. May change the writes. */
uar_status shared_before(hostile *h, arena *memory, uar_write *writes, size_t count);
void shared_after(hostile *h, const uar_write *writes, size_t count, uar_status status);
/* A layer that was struck fails its next call. */
bool shared_strike(hostile *h);
void shared_got(hostile *h, const uar_record *key, reply *r);
void shared_listed(hostile *h, const uar_list_query *query, reply *r);
/* Give the door the optional slots that its way is about. */
void shared_slots(hostile *h);

#endif
