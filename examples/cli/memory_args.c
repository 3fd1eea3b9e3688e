/* What the memory commands read: see memory_args.h. */
#include "memory_args.h"

#include "instant.h"
#include "json_syntax.h"
#include "text.h"

#include <stdlib.h>

uar_identity identity_of(const app *a) {
    uar_identity who;
    uar_identity_init(&who);
    who.owner = uar_str_of(a->owner);
    who.user = uar_str_of(a->user);
    who.agent = uar_str_of(a->agent);
    who.session = uar_str_of(a->session);
    who.task = uar_str_of(a->task);
    if (a->shared_memory) who.flags |= UAR_IDENTITY_WRITE_SHARED;
    if (args_has(&a->args, "all-users")) who.flags |= UAR_IDENTITY_OPERATOR;
    return who;
}

static int scope_of(uar_memory_scope *out, const app *a, const char *name) {
    if (uar_memory_scope_parse(out, uar_str_of(name)) == UAR_OK) return CODE_OK;
    return report_usage(a, "scopes are global, agent, user, session, task", "there is no scope '%s'", name);
}

static int type_of(uar_memory_type *out, const app *a, const char *name) {
    if (uar_memory_type_parse(out, uar_str_of(name)) == UAR_OK) return CODE_OK;
    return report_usage(a, "types are episodic, semantic, procedural, associative", "there is no type '%s'", name);
}

/* An option that holds a date; what isn't given stays as it is. */
static int date_of(int64_t *out, const app *a, const char *name) {
    const char *text = args_get(&a->args, name);
    if (text == NULL || instant_parse(out, text)) return CODE_OK;
    return report_usage(a, "write 2026-01-31 or 2026-01-31T12:30:00Z", "--%s is no date: '%s'", name, text);
}

/* The time from now on, or back from now, that an option names. */
static int span_of(int64_t *out, const app *a, const char *name, int direction) {
    const char *text = args_get(&a->args, name);
    int64_t span = 0;
    if (text == NULL) return CODE_OK;
    if (!instant_span_parse(&span, text))
        return report_usage(a, "write 90s, 15m, 12h, 30d or 4w", "--%s is no time: '%s'", name, text);
    *out = instant_now() + direction * span;
    return CODE_OK;
}

static int expiry_of(int64_t *out, const app *a) {
    const char *text = args_get(&a->args, "expires");
    if (text != NULL && args_has(&a->args, "ttl")) return report_usage(a, NULL, "give --ttl or --expires, not both");
    if (text != NULL && strcmp(text, "never") == 0) {
        *out = UAR_MEMORY_OPEN_END;
        return CODE_OK;
    }
    int code = date_of(out, a, "expires");
    return code == CODE_OK ? span_of(out, a, "ttl", 1) : code;
}

static int metadata_of(uar_str *out, const app *a) {
    const char *text = args_get(&a->args, "metadata");
    if (text == NULL) return CODE_OK;
    size_t at = 0;
    const char *why = NULL;
    cJSON *node = json_parse(uar_str_of(text), &at, &why);
    bool object = cJSON_IsObject(node);
    cJSON_Delete(node);
    if (why != NULL) return report_usage(a, NULL, "--metadata is not JSON: %s at byte %zu", why, at + 1);
    if (!object) return report_usage(a, NULL, "--metadata must be a JSON object");
    *out = uar_str_of(text);
    return CODE_OK;
}

static int importance_of(double *out, const app *a) {
    const char *text = args_get(&a->args, "importance");
    if (text == NULL) return CODE_OK;
    size_t at = 0;
    const char *why = NULL;
    cJSON *node = json_parse(uar_str_of(text), &at, &why);
    double value = cJSON_IsNumber(node) ? node->valuedouble : -1;
    cJSON_Delete(node);
    if (!(value >= 0 && value <= 1)) return report_usage(a, NULL, "--importance takes 0 to 1, not '%s'", text);
    *out = value;
    return CODE_OK;
}

static int categories_of(uar_str *labels, size_t *count, const app *a) {
    const char *label = NULL;
    *count = 0;
    while ((label = args_nth(&a->args, "category", *count)) != NULL) {
        if (*count == CATEGORIES_MOST) return report_usage(a, NULL, "at most %d --category", CATEGORIES_MOST);
        labels[(*count)++] = uar_str_of(label);
    }
    return CODE_OK;
}

/* Filters that name what a record must be. */
static int filter_sets(uar_memory_filter *out, const app *a) {
    int code = CODE_OK;
    const char *name = NULL;
    for (size_t n = 0; code == CODE_OK && (name = args_nth(&a->args, "scope", n)) != NULL; n++) {
        uar_memory_scope scope;
        code = scope_of(&scope, a, name);
        if (code == CODE_OK) out->scopes |= 1u << scope;
    }
    for (size_t n = 0; code == CODE_OK && (name = args_nth(&a->args, "type", n)) != NULL; n++) {
        uar_memory_type type;
        code = type_of(&type, a, name);
        if (code == CODE_OK) out->types |= 1u << type;
    }
    if (code == CODE_OK && args_nth(&a->args, "category", 1) != NULL)
        return report_usage(a, NULL, "a filter takes one --category");
    out->category = uar_str_of(args_get(&a->args, "category"));
    return code;
}

int filter_from_args(uar_memory_filter *out, bool *given, const app *a) {
    static const char *const names[] = { "scope", "type",   "category",   "metadata",
                                         "since", "before", "older-than", "as-of" };
    uar_memory_filter_init(out);
    int code = filter_sets(out, a);
    if (code == CODE_OK) code = metadata_of(&out->metadata, a);
    if (code == CODE_OK) code = date_of(&out->after_ms, a, "since");
    if (code == CODE_OK) code = date_of(&out->before_ms, a, "before");
    if (code == CODE_OK && out->before_ms != 0 && args_has(&a->args, "older-than"))
        return report_usage(a, NULL, "give --before or --older-than, not both");
    if (code == CODE_OK) code = span_of(&out->before_ms, a, "older-than", -1);
    if (code == CODE_OK) code = date_of(&out->as_of_ms, a, "as-of");
    out->include_past = args_has(&a->args, "include-past");
    if (given != NULL) *given = false;
    for (size_t i = 0; given != NULL && i < sizeof names / sizeof names[0]; i++)
        *given = *given || args_has(&a->args, names[i]);
    /* An operator narrows by what it names; for others the identity says it all. The user is what --all-users is about. */
    if (args_has(&a->args, "all-users")) {
        const struct {
            const char *name;
            uar_str *to;
        } narrow[] = { { "agent", &out->agent }, { "session", &out->session }, { "task", &out->task } };
        for (size_t i = 0; i < sizeof narrow / sizeof narrow[0]; i++) {
            *narrow[i].to = uar_str_of(args_get(&a->args, narrow[i].name));
            if (given != NULL) *given = *given || narrow[i].to->ptr != NULL;
        }
    }
    return code;
}

/* One name, or an array of names, as bits. */
static bool json_names(uint32_t *bits, const cJSON *value, bool scopes) {
    const cJSON *each = cJSON_IsArray(value) ? value->child : value;
    if (each == NULL) return false;
    *bits = 0;
    for (; each != NULL; each = cJSON_IsArray(value) ? each->next : NULL) {
        uar_memory_scope scope;
        uar_memory_type type;
        if (!cJSON_IsString(each)) return false;
        uar_str name = uar_str_of(each->valuestring);
        if (scopes ? uar_memory_scope_parse(&scope, name) != UAR_OK : uar_memory_type_parse(&type, name) != UAR_OK)
            return false;
        *bits |= scopes ? 1u << scope : 1u << type;
    }
    return true;
}

static bool json_date(int64_t *out, const cJSON *value) {
    return cJSON_IsString(value) && instant_parse(out, value->valuestring);
}

static bool json_name(uar_str *out, const cJSON *value) {
    if (!cJSON_IsString(value)) return false;
    *out = uar_str_of(value->valuestring);
    return true;
}

bool filter_from_json(uar_memory_filter *filter, uar_str line, const cJSON *member) {
    const char *key = member->string;
    if (strcmp(key, "scope") == 0) return json_names(&filter->scopes, member, true);
    if (strcmp(key, "type") == 0) return json_names(&filter->types, member, false);
    if (strcmp(key, "category") == 0) return json_name(&filter->category, member);
    if (strcmp(key, "user") == 0) return json_name(&filter->user, member);
    if (strcmp(key, "agent") == 0) return json_name(&filter->agent, member);
    if (strcmp(key, "session") == 0) return json_name(&filter->session, member);
    if (strcmp(key, "task") == 0) return json_name(&filter->task, member);
    if (strcmp(key, "since") == 0) return json_date(&filter->after_ms, member);
    if (strcmp(key, "before") == 0) return json_date(&filter->before_ms, member);
    if (strcmp(key, "as_of") == 0) return json_date(&filter->as_of_ms, member);
    if (strcmp(key, "include_past") == 0) {
        filter->include_past = cJSON_IsTrue(member);
        return cJSON_IsBool(member);
    }
    if (strcmp(key, "metadata") != 0 || !cJSON_IsObject(member)) return false;
    filter->metadata = json_raw_member(line, key);
    return filter->metadata.ptr != NULL;
}

static int fact_of(uar_memory_draft *out, const app *a) {
    const char *fact = args_get(&a->args, "fact");
    if (fact == NULL) return CODE_OK;
    const char *slash = strchr(fact, '/');
    if (slash == NULL || slash == fact || slash[1] == '\0')
        return report_usage(a, NULL, "--fact takes SUBJECT/ATTRIBUTE, not '%s'", fact);
    out->subject = uar_str_n(fact, (size_t)(slash - fact));
    out->attribute = uar_str_of(slash + 1);
    return CODE_OK;
}

int draft_from_args(uar_memory_draft *out, uar_str *labels, const app *a, const char *content) {
    int code = CODE_OK;
    const char *scope = args_get(&a->args, "scope");
    const char *type = args_get(&a->args, "type");
    uar_memory_draft_init(out);
    out->content = uar_str_of(content);
    out->categories = labels;
    if (scope != NULL) code = scope_of(&out->scope, a, scope);
    if (code == CODE_OK && type != NULL) code = type_of(&out->type, a, type);
    if (code == CODE_OK) code = categories_of(labels, &out->category_count, a);
    if (code == CODE_OK) code = metadata_of(&out->metadata, a);
    if (code == CODE_OK) code = importance_of(&out->importance, a);
    if (code == CODE_OK) code = fact_of(out, a);
    if (code == CODE_OK) code = date_of(&out->created_ms, a, "created");
    if (code == CODE_OK) code = date_of(&out->valid_until_ms, a, "valid-until");
    if (code == CODE_OK) code = expiry_of(&out->expires_ms, a);
    return code;
}

int patch_from_args(uar_memory_patch *out, uar_str *labels, const app *a, const char *content) {
    int code = CODE_OK;
    const char *type = args_get(&a->args, "type");
    const char *revision = args_get(&a->args, "revision");
    uar_memory_patch_init(out);
    out->content = uar_str_of(content);
    out->categories = labels;
    if (type != NULL) code = type_of(&out->type, a, type);
    if (code == CODE_OK) code = categories_of(labels, &out->category_count, a);
    out->set_categories = out->category_count > 0;
    if (code == CODE_OK) code = metadata_of(&out->metadata, a);
    if (code == CODE_OK) code = importance_of(&out->importance, a);
    if (code == CODE_OK) code = expiry_of(&out->expires_ms, a);
    if (code == CODE_OK && revision != NULL && (!parse_number(&out->expected, revision, INT64_MAX) || !out->expected))
        return report_usage(a, NULL, "--revision takes a whole number from 1, not '%s'", revision);
    return code;
}

int record_id(uar_uuid *out, const app *a, const char *text) {
    if (uar_uuid_parse(out, uar_str_of(text)) == UAR_OK) return CODE_OK;
    return report(a, UAR_E_NOT_FOUND, "the id of a record has 36 characters; see 'uar memory list'",
                  "there is no record '%s'", text);
}
