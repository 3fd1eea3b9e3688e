/* Requirements on what is kept: every field, byte for byte, for every kind and owner. Owns nothing. */
#include "store/check.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool round_trips(kit *k, uar_record r) {
    return kit_stores(k, r) && kit_has(k, &r);
}

static bool all_fields(kit *k) {
    uar_record r = kit_sorted(k, STR("a"), STR("parent"), 42);
    r.schema = 3;
    r.revision = 1;
    r.blob = STR("blob");
    for (size_t i = 0; i < sizeof r.checksum; i++)
        r.checksum[i] = (uint8_t)(0xf0 + i);
    return round_trips(k, r);
}

static bool extreme_integers(kit *k) {
    uar_record low = kit_sorted(k, STR("low"), STR("parent"), INT64_MIN);
    low.created_ms = INT64_MIN;
    low.updated_ms = -1;
    uar_record high = kit_sorted(k, STR("high"), STR("parent"), INT64_MAX);
    high.created_ms = high.updated_ms = INT64_MAX;
    high.schema = UINT32_MAX;
    high.revision = UINT64_MAX - 1;
    /* What a double can't hold: odd numbers above 2^53. */
    uar_record odd = kit_sorted(k, STR("odd"), STR("parent"), INT64_MIN + 1);
    odd.created_ms = (INT64_C(1) << 53) + 1;
    odd.updated_ms = INT64_MAX - 2;
    uar_record next = high;
    next.revision = UINT64_MAX;
    const uar_write put = kit_put(next, UINT64_MAX - 1);
    return round_trips(k, low) && round_trips(k, odd) && round_trips(k, high) &&
           kit_commits(k, &put, 1, "a put at a revision above 2^63") && kit_has(k, &next);
}

static bool zero_sort_is_a_sort(kit *k) {
    return round_trips(k, kit_sorted(k, STR("zero"), STR("parent"), 0)) &&
           round_trips(k, kit_child(k, STR("none"), STR("parent")));
}

static bool absent_is_not_empty(kit *k) {
    uar_record absent = kit_record(k, STR("absent"));
    uar_record empty = kit_record(k, STR("empty"));
    empty.parent = STR("");
    empty.blob = STR("");
    uar_list_query query = kit_query(k, UAR_ORDER_KEY);
    query.parent = STR("");
    const uar_str ids[] = { STR("empty") };
    return round_trips(k, absent) && round_trips(k, empty) && kit_lists(k, &query, ids, 1);
}

static bool large_blob(kit *k) {
    uar_record r = kit_record(k, STR("a"));
    r.blob = kit_bytes(k, ((size_t)1 << 20) + 17);
    return round_trips(k, r);
}

static bool small_blobs(kit *k) {
    for (size_t len = 1; len <= 3; len++) {
        uar_record r = kit_record(k, kit_name(k, "blob-", len));
        r.blob = uar_str_n("\0\0\xff", len);
        if (!round_trips(k, r)) return false;
    }
    return true;
}

/* JSON text of that length. */
static uar_str long_text(kit *k, size_t len) {
    char *text = kit_memory(k, len);
    if (text == NULL) return STR("{}");
    memset(text, 'x', len);
    memcpy(text, "{\"t\":\"", 6);
    memcpy(text + len - 2, "\"}", 2);
    return uar_str_n(text, len);
}

static bool large_body(kit *k) {
    uar_record r = kit_record(k, STR("a"));
    r.body = long_text(k, 1200000);
    return round_trips(k, r);
}

static bool bodies_are_kept_as_text(kit *k) {
    uar_record numbers = kit_record(k, STR("numbers"));
    numbers.body = STR("{\"b\":9007199254740993,\"a\":1.0,\"c\":1e400}");
    uar_record text = kit_record(k, STR("text"));
    text.body = STR("{\"t\":\"caf\xc3\xa9 \xf0\x9f\x98\x80 '\\\" %s ?1 \\u0001\"}");
    uar_record empty = kit_record(k, STR("empty"));
    empty.body = STR("{}");
    return round_trips(k, numbers) && round_trips(k, text) && round_trips(k, empty);
}

/* Ids that a careless layer confuses, escapes or cuts. */
static const uar_str odd_ids[] = {
    STR_INIT("A"),
    STR_INIT("a"),
    STR_INIT("a "),
    STR_INIT("a\0b"),
    STR_INIT("a\x1f"
             "b"),
    STR_INIT("it's"),
    STR_INIT("say \"so\""),
    STR_INIT("%"),
    STR_INIT("_"),
    STR_INIT("*"),
    STR_INIT("1"),
    STR_INIT("01"),
    STR_INIT("1.0"),
    STR_INIT("NULL"),
    STR_INIT("../a"),
    STR_INIT("a/b"),
    STR_INIT("a\\b"),
    STR_INIT("\xc3\xa9"),  /* one character */
    STR_INIT("e\xcc\x81"), /* the same letter as two */
    STR_INIT("\xc3\x9f"),
    STR_INIT("ss"),
    STR_INIT("\xe6\x97\xa5\xe6\x9c\xac"),
    STR_INIT("\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x9a\x80"),
    STR_INIT("\xff\xfe"),
    STR_INIT("\x00\x00\x00\x00\x00\x00\x00\x01"),
};

static bool odd_ids_stay_apart(kit *k) {
    uar_record made[COUNT(odd_ids)];
    for (size_t i = 0; i < COUNT(odd_ids); i++) {
        made[i] = kit_record(k, odd_ids[i]);
        made[i].created_ms = (int64_t)i;
        if (!kit_stores(k, made[i])) return false;
    }
    for (size_t i = 0; i < COUNT(odd_ids); i++)
        if (!kit_has(k, &made[i])) return false;
    return true;
}

static bool odd_parents_stay_apart(kit *k) {
    for (size_t i = 0; i < COUNT(odd_ids); i++)
        if (!kit_stores(k, kit_child(k, kit_name(k, "child-", i), odd_ids[i]))) return false;
    for (size_t i = 0; i < COUNT(odd_ids); i++) {
        uar_list_query query = kit_query(k, UAR_ORDER_KEY);
        query.parent = odd_ids[i];
        const uar_str ids[] = { kit_name(k, "child-", i) };
        if (!kit_lists(k, &query, ids, 1)) return false;
    }
    return true;
}

static bool long_ids(kit *k) {
    char *text = kit_memory(k, RECORD_ID_MAX);
    if (text == NULL) return false;
    memset(text, 'x', RECORD_ID_MAX);
    const uar_str whole = uar_str_n(text, RECORD_ID_MAX);
    const uar_str cut = uar_str_n(text, RECORD_ID_MAX - 1);
    const uar_record a = kit_child(k, whole, whole);
    const uar_record b = kit_child(k, cut, cut);
    return round_trips(k, a) && round_trips(k, b) && kit_has(k, &a);
}

static bool odd_owners_stay_apart(kit *k) {
    /* The kit's own name in front keeps it out of other owners' data. */
    static const char *const tails[] = { "", " ", "'", "\"", "%", "\xc3\xa9", "e\xcc\x81", "A", "a" };
    uar_record made[COUNT(tails)];
    for (size_t i = 0; i < COUNT(tails); i++) {
        size_t len = strlen(tails[i]);
        char *owner = kit_memory(k, k->owner.len + len);
        if (owner == NULL) return false;
        memcpy(owner, k->owner.ptr, k->owner.len);
        memcpy(owner + k->owner.len, tails[i], len);
        made[i] = kit_record(k, STR("same"));
        made[i].owner = uar_str_n(owner, k->owner.len + len);
        made[i].created_ms = (int64_t)i;
        if (!kit_stores(k, made[i])) return false;
    }
    for (size_t i = 0; i < COUNT(tails); i++)
        if (!kit_has(k, &made[i])) return false;
    return true;
}

static bool owners_are_apart(kit *k) {
    const uar_record mine = kit_record(k, STR("a"));
    uar_record theirs = kit_newer(k, mine, 1);
    theirs.owner = k->other;
    const uar_record only_mine = kit_record(k, STR("b"));
    const uar_write gone = kit_delete(theirs, 1);
    uar_list_query query = kit_query(k, UAR_ORDER_KEY);
    query.owner = k->other;
    const uar_str ids[] = { STR("a") };
    if (!kit_stores(k, mine) || !kit_stores(k, only_mine) || !kit_stores(k, theirs)) return false;
    if (!kit_has(k, &mine) || !kit_has(k, &theirs) || !kit_lists(k, &query, ids, 1)) return false;
    return kit_commits(k, &gone, 1, "a delete with the right revision") && kit_has(k, &mine) && kit_lacks(k, &theirs);
}

static bool kinds_are_apart(kit *k) {
    const uar_record message = kit_record(k, STR("a"));
    uar_record run = kit_newer(k, message, 1);
    run.kind = UAR_RECORD_RUN;
    uar_list_query query = kit_query(k, UAR_ORDER_KEY);
    const uar_str ids[] = { STR("a") };
    const uar_write gone = kit_delete(run, 1);
    return kit_stores(k, message) && kit_stores(k, run) && kit_has(k, &message) && kit_has(k, &run) &&
           kit_lists(k, &query, ids, 1) && kit_commits(k, &gone, 1, "a delete with the right revision") &&
           kit_has(k, &message) && kit_lacks(k, &run);
}

static bool unknown_kinds_are_stored(kit *k) {
    static const uint32_t kinds[] = { 4, 999, 65536, 2147483647 };
    for (size_t i = 0; i < COUNT(kinds); i++) {
        uar_record r = kit_sorted(k, STR("a"), STR("parent"), 1);
        r.kind = kinds[i];
        uar_list_query query = kit_query(k, UAR_ORDER_SORT);
        query.kind = kinds[i];
        query.parent = r.parent;
        if (!round_trips(k, r) || !kit_lists(k, &query, &r.id, 1)) return false;
    }
    return true;
}

static bool arguments_are_copied(kit *k) {
    /* The texts lie inside larger memory without a NUL behind them, which is overwritten once the call has ended. */
    char block[] = "idX{\"v\":1}Xparent";
    uar_record r = kit_record(k, uar_str_n(block, 2));
    r.body = uar_str_n(block + 3, 7);
    r.parent = uar_str_n(block + 11, 6);
    if (!kit_stores(k, r)) return false;
    memset(block, '#', sizeof block - 1);
    r.id = STR("id");
    r.body = STR("{\"v\":1}");
    r.parent = STR("parent");
    return kit_has(k, &r);
}

static bool sixteen_megabytes(kit *k) {
    uar_record bytes = kit_record(k, STR("bytes"));
    bytes.blob = kit_bytes(k, k->measures.large + 1);
    uar_record text = kit_record(k, STR("text"));
    text.body = long_text(k, k->measures.large);
    const uar_list_query query = kit_query(k, UAR_ORDER_KEY);
    const uar_str ids[] = { STR("bytes"), STR("text") };
    return round_trips(k, bytes) && round_trips(k, text) && kit_lists(k, &query, ids, COUNT(ids));
}

static bool lengths_around_borders(kit *k) {
    static const size_t borders[] = { 1, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072 };
    for (size_t i = 0; i < COUNT(borders); i++)
        for (size_t off = 0; off < 3; off++) {
            uar_record r = kit_record(k, kit_name(k, "length-", i * 3 + off));
            r.blob = kit_bytes(k, borders[i] + off - 1);
            if (r.blob.len >= 10) r.body = long_text(k, r.blob.len);
            if (!round_trips(k, r)) return false;
        }
    return true;
}

/* Each odd id is checked and deleted; those not reached yet must stay. */
static bool odd_ids_are_reached_exactly(kit *k) {
    uar_record made[COUNT(odd_ids)];
    for (size_t i = 0; i < COUNT(odd_ids); i++) {
        made[i] = kit_record(k, odd_ids[i]);
        if (!kit_stores(k, made[i])) return false;
    }
    for (size_t i = COUNT(odd_ids); i-- > 0;) {
        const uar_write writes[] = { kit_fence(made[i], 1), kit_delete(made[i], 1), kit_fence(made[i], 0) };
        if (!kit_commits(k, writes, COUNT(writes), "a check, a delete and a check of absence of an odd id"))
            return false;
        if (!kit_lacks(k, &made[i])) return false;
        for (size_t other = 0; other < i; other++)
            if (!kit_has(k, &made[other])) return false;
    }
    return true;
}

static bool odd_parents_lose_their_own(kit *k) {
    uar_record made[COUNT(odd_ids)];
    for (size_t i = 0; i < COUNT(odd_ids); i++) {
        made[i] = kit_child(k, kit_name(k, "child-", i), odd_ids[i]);
        if (!kit_stores(k, made[i])) return false;
    }
    for (size_t i = COUNT(odd_ids); i-- > 0;) {
        const uar_write sweep = kit_delete_children(made[i]);
        if (!kit_commits(k, &sweep, 1, "a delete of the children of an odd parent") || !kit_lacks(k, &made[i]))
            return false;
        for (size_t other = 0; other < i; other++)
            if (!kit_has(k, &made[other])) return false;
    }
    return true;
}

static const kit_requirement fields[] = {
    { 40, "every field comes back as it was put, checksum and times included", all_fields },
    { 41, "integers at their limits come back unchanged", extreme_integers },
    { 42, "a sort of 0 is not the same as no sort", zero_sort_is_a_sort },
    { 43, "an absent parent or blob stays absent, an empty one stays empty", absent_is_not_empty },
    { 44, "a blob of more than 1 MiB with every byte value comes back whole", large_blob },
    { 45, "blobs of zero bytes and invalid UTF-8 come back unchanged", small_blobs },
    { 46, "a body of more than 1 MB comes back whole", large_body },
    { 47, "a body is kept as text, not read and written anew", bodies_are_kept_as_text },
    { 48, "ids are bytes: quotes, separators, zeros, case and Unicode forms stay apart", odd_ids_stay_apart },
    { 49, "parents are bytes as well", odd_parents_stay_apart },
    { 50, "ids and parents of 400 bytes are neither cut nor refused", long_ids },
    { 51, "owners are bytes as well", odd_owners_stay_apart },
    { 52, "one owner's records are out of reach for another owner", owners_are_apart },
    { 53, "records of one kind are out of reach for another kind", kinds_are_apart },
    { 54, "records of unknown kinds are stored like others", unknown_kinds_are_stored },
    { 55, "what a call is given is copied, not kept by address", arguments_are_copied },
    { 56, "a blob and a body of 16 MiB come back whole", sixteen_megabytes },
    { 57, "blobs and bodies of every length around powers of two come back whole, the empty one too",
      lengths_around_borders },
    { 58, "a check or delete of an odd id reaches exactly that record", odd_ids_are_reached_exactly },
    { 59, "delete_children of an odd parent removes exactly its records", odd_parents_lose_their_own },
};
const kit_group check_fields = { KIT_ALWAYS, fields, COUNT(fields) };
