/*
 * A persistence layer that is wrong in one way of choice: the proof that the conformance kit can fail. It wraps the volatile
 * layer; with HOSTILE_NONE or HOSTILE_LATE it keeps the contract. As a source it gives layers on the same data, which last
 * until the source is freed.
 */
#ifndef UAR_TESTS_CONTRACT_HOSTILE_H
#define UAR_TESTS_CONTRACT_HOSTILE_H

#include <uar/persistence.h>

/* X(name, requirement that must catch it, what is wrong); 0: nothing is. */
#define HOSTILE_WAYS(X)                                                                 \
    X(NONE, 0, "nothing")                                                               \
    X(LATE, 0, "nothing, but each call ends later, on another thread")                  \
    X(NO_GET, 1, "the door has no get")                                                 \
    X(WONT_OPEN, 2, "open fails")                                                       \
    X(RELATIVE_LOCATION, 3, "the location is a relative path")                          \
    X(BLANK_FOR_MISSING, 10, "a get of nothing succeeds with a blank record")           \
    X(EMPTY_FOR_MISSING, 10, "a get of nothing succeeds with no record")                \
    X(DROPS_CALLS, 10, "some calls are dropped")                                        \
    X(NEVER_ENDS, 10, "gets of what is missing never end")                              \
    X(BROKEN_TEXT, 11, "answers carry a text with a length and no bytes")               \
    X(BLIND_PUT, 13, "puts ignore the expected revision")                               \
    X(OVERWRITES_NEW, 12, "a put with expected 0 overwrites")                           \
    X(UPSERTS, 14, "a put with a revision creates")                                     \
    X(KEEPS_OLD_BLOB, 15, "a put without a blob keeps the old one")                     \
    X(BLIND_DELETE, 17, "deletes ignore the expected revision")                         \
    X(LAX_DELETE, 18, "a delete of nothing succeeds")                                   \
    X(SOFT_DELETE, 19, "a deleted id can't be used again")                              \
    X(BUMPS_ON_CHECK, 20, "a check raises the revision")                                \
    X(BLIND_CHECK, 21, "checks always pass")                                            \
    X(LAX_ABSENCE, 22, "a check for absence always passes")                             \
    X(NOT_ATOMIC, 23, "the writes before a failing one stay")                           \
    X(CHECKS_FIRST, 27, "all expectations are compared before the first write")         \
    X(PREFIX_CHILDREN, 29, "delete_children takes parents that begin alike")            \
    X(FOREIGN_CHILDREN, 30, "delete_children reaches into other kinds")                 \
    X(CHILDREN_MUST_EXIST, 31, "delete_children of nobody is UAR_E_NOT_FOUND")          \
    X(CHILDREN_FIRST, 32, "delete_children runs before the other writes of its commit") \
    X(SMALL_COMMITS, 33, "a commit takes 500 writes")                                   \
    X(OWN_CHECKSUM, 40, "the checksum isn't kept")                                      \
    X(WHOLE_SECONDS, 40, "times are rounded to seconds")                                \
    X(DOUBLES, 41, "integers pass through a double")                                    \
    X(ZERO_IS_NONE, 42, "a sort of 0 counts as none")                                   \
    X(EMPTY_IS_ABSENT, 43, "an empty blob comes back absent")                           \
    X(SMALL_BLOBS, 44, "blobs are cut at 1 MiB")                                        \
    X(C_STRINGS, 45, "blobs end at their first zero byte")                              \
    X(SMALL_BODIES, 46, "bodies are cut at 1 MB")                                       \
    X(REWRITES_BODIES, 47, "bodies lose their number's spelling")                       \
    X(FOLDS_CASE, 48, "ids that differ in case are the same")                           \
    X(TRIMS_PARENTS, 49, "spaces behind a parent are lost")                             \
    X(SHORT_IDS, 50, "ids are cut at 255 bytes")                                        \
    X(TRIMS_OWNERS, 51, "spaces behind an owner are lost")                              \
    X(SHARES_OWNERS, 52, "a get looks for the id under any owner")                      \
    X(SHARES_KINDS, 53, "a delete takes the id in every kind")                          \
    X(KNOWN_KINDS_ONLY, 54, "unknown kinds are refused")                                \
    X(KEEPS_ADDRESSES, 55, "bodies are kept by address")                                \
    X(EMPTY_LIST_FAILS, 60, "a list of nothing is UAR_E_NOT_FOUND")                     \
    X(SIGNED_BYTES, 61, "ids are ordered as signed characters")                         \
    X(UNSIGNED_SORT, 62, "sorts are ordered as unsigned numbers")                       \
    X(TIES_BACKWARDS, 63, "equal sorts are ordered by falling ids")                     \
    X(LISTS_UNSORTED, 64, "a list by sort holds records without one")                   \
    X(ORPHANS_ONLY, 65, "a list without a parent holds only records without one")       \
    X(PREFIX_PARENT, 66, "a list holds parents that begin alike")                       \
    X(ONE_TOO_MANY, 67, "lists pass their limit by one")                                \
    X(ONE_TOO_FEW, 67, "lists stop one before their limit")                             \
    X(CURSOR_MUST_EXIST, 68, "a list behind an id that doesn't exist is empty")         \
    X(CURSOR_BY_SORT, 69, "a list by sort starts behind all of that sort")              \
    X(EMPTY_CURSOR_ID, 70, "an empty cursor id is a place before all of that sort")     \
    X(LISTS_WITHOUT_BLOBS, 71, "listed records lack their blob")                        \
    X(STALE_LISTS, 72, "lists show records as they first were")                         \
    X(REPEATS_CURSOR, 80, "each page begins with the last record of the page before")   \
    X(OFFSETS, 82, "pages count records instead of following the cursor")               \
    X(RACES, 85, "calls overlap, but compare and write in two steps")

/* The same, of those that break one requirement and no other. */
#define HOSTILE_NARROW_WAYS(X)                                                               \
    X(DELETE_NEEDS_RECORD, 34, "a delete with expected 0 of nothing fails")                  \
    X(COMPARES_CHILDREN, 35, "delete_children wants expected to be 0")                       \
    X(PORTIONS, 36, "large commits are written in portions of a hundred")                    \
    X(SKIPS_SAME_BODY, 37, "a put of the same body is skipped")                              \
    X(KEEPS_BEFORE_DELETE, 38, "the writes before a failing delete stay")                    \
    X(CUTS_LARGE, 56, "blobs are cut at the largest size")                                   \
    X(LOSES_PAGE_END, 57, "the last byte of a blob of 4,096 is lost")                        \
    X(DELETES_C_STRINGS, 58, "the id of a delete ends at its first zero byte")               \
    X(WILD_PARENTS, 59, "delete_children of the parent % takes every parent")                \
    X(SIGNED_LIMIT, 75, "a limit above 2^31 counts as negative")                             \
    X(KEY_CURSOR_SORT, 76, "a list by key leaves out sorts before the cursor's")             \
    X(HALF_CURSOR, 77, "a cursor id counts without has_after")                               \
    X(HALF_SEEN, 86, "calls overlap, and lists see half of a commit")                        \
    X(RACING_PAGES, 87, "calls overlap, and a page is found by its place in an older list")  \
    X(ONE_WALK, 88, "the layer remembers one place for all walks")                           \
    X(CURSOR_C_STRINGS, 89, "the id of a cursor ends at its first zero byte")                \
    X(ONE_THREAD, 90, "calls fail on another thread than the opener's")                      \
    X(READS_LATE, 91, "ids are read after the call has returned")                            \
    X(FINISHES_TWICE, 92, "calls are finished twice")                                        \
    X(KEEPS_CALLS, 93, "a reference to each call is kept")                                   \
    X(LOSES_BLOBS, 100, "small blobs don't outlive the process")                             \
    X(REVIVES, 101, "deleted records come back when the data is opened again")               \
    X(REPLAYS_REFUSED, 102, "refused commits are carried out when the data is opened again") \
    X(LOSES_SORTS, 103, "lists by sort are in the order of keys after opening again")        \
    X(FORGETS_REVISIONS, 104, "the first put after opening again isn't compared")            \
    X(FORGETS_LARGE, 105, "large blobs are cut when the data is opened again")               \
    X(TIRES, 106, "opened again often, it loses the last put")                               \
    X(CACHES_GETS, 110, "a layer answers gets from what it saw before")                      \
    X(CACHES_LISTS, 111, "a layer answers a list from what it saw before")                   \
    X(OWN_REVISIONS, 112, "a layer compares with the revision that it wrote itself")         \
    X(OWN_DELETES, 113, "a layer doesn't hear of deletes through others")                    \
    X(OWN_CHECKS, 114, "a layer checks the revision that it wrote itself")                   \
    X(SPLIT_LAYERS, 115, "two layers compare and write in two steps")                        \
    X(OFFSETS_BESIDE, 116, "pages count records while another layer is open")                \
    X(CLOSES_ALL, 117, "destroying one layer closes the others")                             \
    X(HALF_SEEN_BESIDE, 118, "another layer sees half of a commit")                          \
    X(HOLDS_LOCK, 119, "a refused commit keeps the lock")                                    \
    X(LOSES_AT_SUSPEND, 120, "a suspend loses the last put if it has a sort")                \
    X(SLEEPS_ON, 121, "after a resume, gets are answered from what was seen before")         \
    X(LOSES_ASLEEP, 122, "destroyed while suspended, it loses the last put")                 \
    X(TIDIES_AWAY, 123, "maintenance takes a record away")                                   \
    X(CRIES_WOLF, 124, "a check finds a fault in whole data")                                \
    X(EMPTY_BACKUP, 125, "a backup is empty")                                                \
    X(LATE_BACKUP, 125, "a backup shows what came after it")                                 \
    X(OVERWRITES, 126, "a backup overwrites what is there")

/* The size of the largest values that these layers are to be asked for. */
enum { HOSTILE_LARGE = 300000 };

typedef enum hostile_way {
#define HOSTILE_ENUM(name, number, what) HOSTILE_##name,
    HOSTILE_WAYS(HOSTILE_ENUM) HOSTILE_NARROW_WAYS(HOSTILE_ENUM)
#undef HOSTILE_ENUM
        HOSTILE_COUNT
} hostile_way;

const uar_persistence *hostile_new(hostile_way way);

/* Layers on the same data, which are gone before the source is freed. `backup_path` is borrowed. */
typedef struct hostile_source {
    uar_persistence_source door;
    struct hostile_world *world;
} hostile_source;

hostile_source hostile_source_new(hostile_way way, const char *backup_path);
void hostile_source_free(hostile_source *source);

#endif
