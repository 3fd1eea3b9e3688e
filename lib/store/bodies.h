/*
 * Bodies of records: typed structs to canonical JSON and back. One schema version a kind; a newer one is refused by name
 * (UAR_E_NEWER), a body that isn't what its kind says is UAR_E_CORRUPT. Docs of each body: docs/records.md.
 *
 * `*_record` functions fill kind, schema, owner, id, parent, sort, body of `out` from the struct, zero the rest, and copy all
 * texts into the arena; the caller sets revision and times, then seals. Besides UAR_E_NOMEM they refuse what couldn't be read
 * back: UAR_E_INVALID (a value out of range, an id with US in it), UAR_E_UTF8 (text with U+0000 or broken UTF-8),
 * UAR_E_UNSUPPORTED (a part type without a stored shape), UAR_E_JSON (a checkpoint that isn't an object), UAR_E_TOO_LARGE.
 * `*_decode` fill a struct whose texts are copied into the arena (the record may go): UAR_E_NOMEM, UAR_E_NEWER,
 * UAR_E_CORRUPT. They check the body, not the checksum: record_verify first. Outputs stay untouched on failure.
 */
#ifndef UAR_LIB_STORE_BODIES_H
#define UAR_LIB_STORE_BODIES_H

#include <uar/records.h>

#include "store/record.h"

/* SESSION: id = record_key(user, session), parent = user. Body {user,session,name,messages,last}. */
uar_status session_record(uar_record *out, arena *ar, const uar_session *s);
uar_status session_decode(uar_session *out, arena *ar, const uar_record *r, uar_error *err);

/* MESSAGE: id = the UUID's text, parent = the session's record id, sort = number.
 * Body {run,role,parts:[{type,...}],interrupted,recalled?}. Parts as in uar_part: text {text}, reasoning {text,opaque?},
 * tool_call {call,tool,arguments(the raw text, a JSON string)}, tool_result {call,tool,text,failed}. Opaque is base64. */
uar_status message_record(uar_record *out, arena *ar, uar_str owner, uar_str session_key, const uar_message *m);
uar_status message_decode(uar_message *out, arena *ar, const uar_record *r, uar_error *err);

/* RUN: id = the UUID's text, parent = record_key(user, session). Body: all fields of uar_run_info but owner and revision. */
uar_status run_record(uar_record *out, arena *ar, const uar_run_info *run);
uar_status run_decode(uar_run_info *out, arena *ar, const uar_record *r, uar_error *err);

/* OPEN_RUN: owner "~", id = the run's UUID text. Body {owner,user,session,instance}. */
typedef struct open_run {
    uar_run_id run;
    uar_str owner, user, session;
    uar_uuid instance;
} open_run;
uar_status open_run_record(uar_record *out, arena *ar, const open_run *o);
uar_status open_run_decode(open_run *out, arena *ar, const uar_record *r, uar_error *err);

/* CHECKPOINT: id = the run's UUID text, parent = record_key(user, session). Body = the machine's document (JSON object). */
uar_status checkpoint_record(uar_record *out, arena *ar, uar_str owner, uar_str session_key, uar_run_id run,
                             uar_str document);
uar_status checkpoint_decode(uar_str *document, arena *ar, const uar_record *r, uar_error *err);

/* AGENT: id = agent id, parent absent. */
uar_status agent_record(uar_record *out, arena *ar, uar_str owner, const uar_agent *a);
uar_status agent_decode(uar_agent *out, arena *ar, const uar_record *r, uar_error *err);

/* SETTING: id = key. Body {value}. `value` must be strict JSON (UAR_E_JSON). */
uar_status setting_record(uar_record *out, arena *ar, uar_str owner, uar_str key, uar_str value, uar_error *err);
uar_status setting_decode(uar_setting *out, arena *ar, const uar_record *r, uar_error *err);

/* COUNTER: id = record_key(name, instance text), parent = name. Body {value}. */
uar_status counter_record(uar_record *out, arena *ar, uar_str owner, uar_str name, uar_uuid instance, uint64_t value);
uar_status counter_decode(uint64_t *value, arena *ar, const uar_record *r, uar_error *err);

/* LEASE of a session: id = the session's record id. Body {instance,run,held}. It is released by held=false, never deleted,
 * so that its revision is a fence. */
typedef struct lease {
    uar_uuid instance;
    uar_run_id run;
    bool held;
} lease;
uar_status lease_record(uar_record *out, arena *ar, uar_str owner, uar_str session_key, const lease *l);
uar_status lease_decode(lease *out, arena *ar, const uar_record *r, uar_error *err);

/* LEASE of an instance, its heartbeat: owner "~", id = "instance:" + UUID text. Body {beat}; only its revision matters. */
uar_status heartbeat_record(uar_record *out, arena *ar, uar_uuid instance, uint64_t beat);

#endif
