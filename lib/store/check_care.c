/*
 * Requirements on the optional slots: suspend and resume, maintain, check, backup. Owns the copy that a backup makes, which
 * is removed.
 */
#include <stdio.h>

#include "store/check.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool answers(kit *k, uar_status got, uar_status wanted, const uar_error *err, const char *what) {
    memset(k->said, 0, sizeof k->said);
    if (got != UAR_OK) memcpy(k->said, err->message, sizeof k->said - 1);
    return kit_expect(k, got, wanted, what);
}

static bool suspends(kit *k) {
    uar_error err = UAR_ERROR_INIT;
    uar_status status = k->layer.suspend(k->layer.ctx, &err);
    return answers(k, status, UAR_OK, &err, "a suspend while no call is open");
}

static bool resumes(kit *k) {
    uar_error err = UAR_ERROR_INIT;
    uar_status status = k->layer.resume(k->layer.ctx, &err);
    return answers(k, status, UAR_OK, &err, "a resume after a suspend");
}

/* ---- suspend ---- */

static bool goes_on_after_resume(kit *k) {
    uar_record made[3];
    for (size_t i = 0; i < COUNT(made); i++) {
        made[i] = kit_sorted(k, kit_name(k, "s-", i), STR("parent"), (int64_t)i);
        if (!kit_stores(k, made[i]) || !suspends(k) || !resumes(k)) return false;
        for (size_t j = 0; j <= i; j++)
            if (!kit_has(k, &made[j])) return false;
    }
    const uar_str ids[] = { made[0].id, made[1].id, made[2].id };
    uar_list_query query = kit_query(k, UAR_ORDER_SORT);
    query.parent = STR("parent");
    return kit_lists(k, &query, ids, COUNT(ids));
}

/* The layer that is suspended holds no lock, and sees afterwards what it missed. */
static bool others_work_meanwhile(kit *k) {
    const uar_record first = kit_record(k, STR("a"));
    const uar_record second = kit_newer(k, first, 2);
    const uar_write raise = kit_put(second, 1), late = kit_put(kit_newer(k, first, 3), 1);
    if (!kit_stores(k, first) || !kit_has(k, &first) || !suspends(k)) return false;
    kit_swap(k);
    bool is_raised = kit_commits(k, &raise, 1, "a put through a second layer while the first is suspended");
    kit_swap(k);
    return resumes(k) && is_raised && kit_has(k, &second) &&
           kit_refuses(k, &late, 1, "after a resume, a put with the revision that another layer has overtaken");
}

static bool suspended_layers_can_go(kit *k) {
    const uar_record r = kit_record(k, STR("a"));
    return kit_stores(k, r) && suspends(k) && kit_reopen(k) && kit_has(k, &r);
}

/* ---- maintain and check ---- */

/* Records with free space between them. */
static bool stores_and_deletes(kit *k, uar_record kept[5]) {
    for (size_t i = 0; i < 10; i++) {
        uar_record r = kit_sorted(k, kit_name(k, "m-", i), STR("parent"), (int64_t)i);
        r.blob = kit_bytes(k, 20000);
        if (record_seal(&r) != UAR_OK) k->is_out_of_memory = true;
        const uar_write gone = kit_delete(r, 1);
        if (!kit_stores(k, r)) return false;
        if (i % 2 == 0)
            kept[i / 2] = r;
        else if (!kit_commits(k, &gone, 1, "a delete with the right revision"))
            return false;
    }
    return true;
}

static bool maintenance_changes_nothing(kit *k) {
    uar_record kept[5];
    if (!stores_and_deletes(k, kept)) return false;
    for (int whole = 0; whole < 2; whole++) {
        uar_care_options options;
        uar_care_options_init(&options);
        options.whole = whole == 1;
        const uar_care_progress nobody = { 0 };
        uar_store_care care = { .size = sizeof care };
        uar_error err = UAR_ERROR_INIT;
        uar_status status = k->layer.maintain(k->layer.ctx, &options, &nobody, &care, &err);
        if (!answers(k, status, UAR_OK, &err, whole ? "maintain of the whole store" : "maintain of a part"))
            return false;
        uar_str ids[COUNT(kept)];
        for (size_t i = 0; i < COUNT(kept); i++) {
            ids[i] = kept[i].id;
            if (!kit_has(k, &kept[i])) return false;
        }
        uar_list_query query = kit_query(k, UAR_ORDER_SORT);
        query.parent = STR("parent");
        if (!kit_lists(k, &query, ids, COUNT(ids))) return false;
    }
    return true;
}

static void count_finding(void *ctx, const uar_store_finding *finding) {
    (void)finding;
    ++*(size_t *)ctx;
}

static bool checks_whole_data(kit *k) {
    uar_record kept[5];
    if (!stores_and_deletes(k, kept)) return false;
    size_t found = 0;
    const uar_care_progress nobody = { 0 };
    uar_store_check seen = { .size = sizeof seen };
    uar_error err = UAR_ERROR_INIT;
    uar_status status = k->layer.check(k->layer.ctx, count_finding, &found, &nobody, &seen, &err);
    if (!answers(k, status, UAR_OK, &err, "a check")) return false;
    if (found > 0 || seen.lost > 0 || seen.faults > 0)
        return KIT_FAULT(k, "a check of whole data: expected no fault, came %zu findings, %llu lost, %llu faults",
                         found, (unsigned long long)seen.lost, (unsigned long long)seen.faults);
    if (seen.records >= COUNT(kept)) return true;
    return KIT_FAULT(k, "a check of whole data: expected at least %zu records, came %llu", COUNT(kept),
                     (unsigned long long)seen.records);
}

/* ---- backup ---- */

static uar_status back_up(kit *k, uar_error *err) {
    const uar_care_progress nobody = { 0 };
    return k->layer.backup(k->layer.ctx, k->source.backup_path, &nobody, err);
}

/* The layer that calls go to is the copy for a while. */
static bool copy_has(kit *k, const uar_record *kept, size_t count, const uar_record *later) {
    uar_persistence copy;
    if (!kit_open_layer(&copy, k, k->source.open_backup(k->source.ctx, k->source.backup_path), "opening a backup"))
        return false;
    const uar_persistence original = k->layer;
    k->layer = copy;
    bool is_kept = true;
    for (size_t i = 0; i < count && is_kept; i++)
        is_kept = kit_has(k, &kept[i]);
    is_kept = is_kept && kit_lacks(k, later);
    k->layer = original;
    if (!k->is_hung && copy.destroy != NULL) copy.destroy(copy.ctx);
    return is_kept;
}

static bool backups_are_whole(kit *k) {
    uar_record kept[5];
    const uar_record later = kit_record(k, STR("later"));
    if (!stores_and_deletes(k, kept)) return false;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = back_up(k, &err);
    bool is_kept = answers(k, status, UAR_OK, &err, "a backup to a new path") && kit_stores(k, later) &&
                   copy_has(k, kept, COUNT(kept), &later);
    (void)remove(k->source.backup_path);
    return is_kept;
}

static bool backups_overwrite_nothing(kit *k) {
    static const char mine[] = "not a backup";
    FILE *file = fopen(k->source.backup_path, "wb");
    if (file == NULL) return KIT_FAULT(k, "the source's backup_path can't be written");
    bool is_written = fwrite(mine, sizeof mine, 1, file) == 1;
    is_written = fclose(file) == 0 && is_written;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = back_up(k, &err);
    char found[sizeof mine + 1] = "";
    size_t count = 0;
    if ((file = fopen(k->source.backup_path, "rb")) != NULL) {
        count = fread(found, 1, sizeof found, file);
        (void)fclose(file);
    }
    (void)remove(k->source.backup_path);
    if (!is_written) return KIT_FAULT(k, "the source's backup_path can't be written");
    if (!answers(k, status, UAR_E_EXISTS, &err, "a backup to a path where a file is")) return false;
    if (count == sizeof mine && memcmp(found, mine, sizeof mine) == 0) return true;
    return KIT_FAULT(k, "a backup to a path where a file is: expected that file as it was, it has changed");
}

static const kit_requirement suspend[] = {
    { 120, "after suspend and resume everything is there and the layer works on", goes_on_after_resume },
};
const kit_group check_suspend = { KIT_SUSPENDS, suspend, COUNT(suspend) };

static const kit_requirement beside[] = {
    { 121, "while one layer is suspended another can write, and the first sees it afterwards", others_work_meanwhile },
};
const kit_group check_suspend_beside = { KIT_SUSPENDS_BESIDE, beside, COUNT(beside) };

static const kit_requirement going[] = {
    { 122, "a suspended layer can be destroyed and loses nothing", suspended_layers_can_go },
};
const kit_group check_suspend_reopen = { KIT_SUSPENDS_REOPENS, going, COUNT(going) };

static const kit_requirement maintain[] = {
    { 123, "maintenance changes no record and no list", maintenance_changes_nothing },
};
const kit_group check_maintain = { KIT_MAINTAINS, maintain, COUNT(maintain) };

static const kit_requirement checking[] = {
    { 124, "a check of whole data counts its records and finds nothing", checks_whole_data },
};
const kit_group check_check = { KIT_CHECKS, checking, COUNT(checking) };

static const kit_requirement backup[] = {
    { 125, "a backup holds what was committed before it and nothing of later", backups_are_whole },
    { 126, "a backup to a path where something is fails and leaves it alone", backups_overwrite_nothing },
};
const kit_group check_backup = { KIT_BACKS_UP, backup, COUNT(backup) };
