/*
 * A persistence layer that is wrong in one way of choice: the proof that the conformance kit can fail. It wraps the volatile
 * layer; with HOSTILE_NONE or HOSTILE_LATE it keeps the contract.
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

typedef enum hostile_way {
#define HOSTILE_ENUM(name, number, what) HOSTILE_##name,
    HOSTILE_WAYS(HOSTILE_ENUM)
#undef HOSTILE_ENUM
        HOSTILE_COUNT
} hostile_way;

const uar_persistence *hostile_new(hostile_way way);

#endif
