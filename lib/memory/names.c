/* Owns: JSON names of the memory's enums. Constant. */
#include <uar/memory.h>

#include "base/str.h"

#define X_CASE(name, number, json) \
    case number:                   \
        return json;
#define X_MATCH(name, number, json) \
    if (str_is(text, json)) return number;

const char *uar_memory_status_name(uar_memory_status state) {
    switch ((int)state) { UAR_MEMORY_STATES(X_CASE) default : return "disabled"; }
}

const char *uar_memory_scope_name(uar_memory_scope scope) {
    switch ((int)scope) { UAR_MEMORY_SCOPES(X_CASE) default : return NULL; }
}

const char *uar_memory_type_name(uar_memory_type type) {
    switch ((int)type) { UAR_MEMORY_TYPES(X_CASE) default : return NULL; }
}

const char *uar_memory_trust_name(uar_memory_trust trust) {
    switch ((int)trust) { UAR_MEMORY_TRUSTS(X_CASE) default : return NULL; }
}

const char *uar_memory_outcome_name(uar_memory_outcome outcome) {
    switch ((int)outcome) { UAR_MEMORY_OUTCOMES(X_CASE) default : return NULL; }
}

static int match_scope(uar_str text) {
    UAR_MEMORY_SCOPES(X_MATCH)
    return 0;
}

static int match_type(uar_str text) {
    UAR_MEMORY_TYPES(X_MATCH)
    return 0;
}

static int match_trust(uar_str text) {
    UAR_MEMORY_TRUSTS(X_MATCH)
    return 0;
}

uar_status uar_memory_scope_parse(uar_memory_scope *out, uar_str name) {
    int found = match_scope(name);
    if (found == 0) return UAR_E_INVALID;
    *out = (uar_memory_scope)found;
    return UAR_OK;
}

uar_status uar_memory_type_parse(uar_memory_type *out, uar_str name) {
    int found = match_type(name);
    if (found == 0) return UAR_E_INVALID;
    *out = (uar_memory_type)found;
    return UAR_OK;
}

uar_status uar_memory_trust_parse(uar_memory_trust *out, uar_str name) {
    int found = match_trust(name);
    if (found == 0) return UAR_E_INVALID;
    *out = (uar_memory_trust)found;
    return UAR_OK;
}
