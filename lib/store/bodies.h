/*
 * Bodies of records: typed structs to canonical JSON and back. A kind is written in the lowest schema version that holds
 * what is to be said, and read in every version so far; a newer one is refused by name (UAR_E_NEWER), a body that isn't
 * what its kind says is UAR_E_CORRUPT. Docs of each body: docs/records.md.
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

#include <uar/attachments.h>

#include "store/record.h"

/* How a session came and goes. */
typedef enum session_mark {
    SESSION_LIVE,
    SESSION_DELETED, /* a tombstone: what hangs below it is being removed */
    SESSION_UNBORN   /* a branch that is still being copied */
} session_mark;

/* The message that a branch was made from. */
typedef struct session_origin {
    uar_str session; /* of the same owner and user; absent: it is no branch */
    uar_uuid message;
    uint64_t number;
} session_origin;

typedef struct session_life {
    session_mark mark;
    session_origin origin;
} session_life;

/* SESSION: id = record_key(user, session), parent = user. Body {user,session,name?,messages,last}; version 2 adds {mark?,
 * origin?}. session_decode answers UAR_E_NOT_FOUND for a session that isn't live. */
uar_status session_record(uar_record *out, arena *ar, const uar_session *s);
uar_status session_decode(uar_session *out, arena *ar, const uar_record *r, uar_error *err);
uar_status session_record_whole(uar_record *out, arena *ar, const uar_session *s, const session_life *life);
uar_status session_decode_whole(uar_session *out, session_life *life, arena *ar, const uar_record *r, uar_error *err);
bool session_has_origin(const session_life *life);

/* MESSAGE: id = the UUID's text, parent = the session's record id, sort = number.
 * Body {run,role,parts:[{type,...}],interrupted,recalled?}. Parts as in uar_part: text {text}, reasoning {text,opaque?},
 * tool_call {call,tool,arguments(the raw text, a JSON string)}, tool_result {call,tool,text,failed}. Opaque is base64.
 * Version 2: image, audio, file {attachment,text?}; uar_part.opaque is the attachment's id in canonical text. */
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

/* SETTING_TYPE: id = key or pattern. Body {schema,default?,description?}. The schema isn't compiled here. */
uar_status setting_type_record(uar_record *out, arena *ar, uar_str owner, const uar_setting_type *type, uar_error *err);
uar_status setting_type_decode(uar_setting_type *out, arena *ar, const uar_record *r, uar_error *err);
/* A pattern is a key, "*", or a prefix and ".*". */
bool setting_pattern_is_valid(uar_str pattern);
bool setting_pattern_matches(uar_str pattern, uar_str key);
/* The next wider pattern that a key of `pattern` may fall under, written to `out`, which may be where `pattern` lies; absent
 * behind "*". So a key's types are looked for from the narrowest on. */
uar_str setting_pattern_wider(char out[RECORD_ID_MAX], uar_str pattern);

/* SESSION_POLICY: id = record_key(user, session), parent = user. Body {user,session, and what it says}. */
uar_status session_policy_record(uar_record *out, arena *ar, const uar_session_policy *p);
uar_status session_policy_decode(uar_session_policy *out, arena *ar, const uar_record *r, uar_error *err);

/* MEMORY_BLOCK: parent says whose: "agent:" + agent, "user:" + user, or record_key(user, session); id is that and the label.
 * UAR_E_TOO_LARGE: the text has more characters than the limit. */
uar_status block_record(uar_record *out, arena *ar, const uar_block *b);
uar_status block_decode(uar_block *out, arena *ar, const uar_record *r, uar_error *err);
uar_status block_parent(uar_str *out, arena *ar, const uar_block *b);
uar_status block_key(uar_str *out, arena *ar, const uar_block *b);

/* COST: id = record_key(run text, step in 20 digits), parent = record_key(user, session). */
uar_status cost_record(uar_record *out, arena *ar, const uar_cost *c);
uar_status cost_decode(uar_cost *out, arena *ar, const uar_record *r, uar_error *err);

/* COUNTER: id = record_key(name, instance text), parent = name. Body {value}; version 2: {usage,value}. The plain reader
 * takes both. */
uar_status counter_record(uar_record *out, arena *ar, uar_str owner, uar_str name, uar_uuid instance, uint64_t value);
uar_status counter_decode(uint64_t *value, arena *ar, const uar_record *r, uar_error *err);
uar_status usage_counter_record(uar_record *out, arena *ar, uar_str owner, uar_str name, uar_uuid instance,
                                uint64_t value, const uar_usage *usage);
uar_status usage_counter_decode(uint64_t *value, uar_usage *usage, arena *ar, const uar_record *r, uar_error *err);
/* The counter that is committed with cost entries: calls of models, and their tokens. Names that begin so are the library's. */
#define COUNTER_RESERVED '~'
#define COUNTER_USAGE "~usage"

/* ATTACHMENT: id = the UUID's text, parent = user. It exists when this record does. */
#define ATTACHMENT_PART_MAX ((size_t)128 << 10)
#define ATTACHMENT_MAX ((uint64_t)4 << 30)
uint64_t attachment_parts(uint64_t size, uint64_t part_bytes);
uar_status attachment_record(uar_record *out, arena *ar, const uar_attachment *a);
uar_status attachment_decode(uar_attachment *out, arena *ar, const uar_record *r, uar_error *err);

/* ATTACHMENT_PART: id = record_key(UUID text, number in ten digits), parent = the UUID's text, sort = number from 1, the
 * content is the blob. Decoded content points into the record. */
typedef struct attachment_part {
    uar_uuid attachment;
    uint64_t number;
    uar_str content;
} attachment_part;
uar_status attachment_part_record(uar_record *out, arena *ar, uar_str owner, const attachment_part *p);
/* Its id, in the arena. */
uar_status attachment_part_id(uar_str *out, arena *ar, uar_uuid attachment, uint64_t number);
uar_status attachment_part_decode(attachment_part *out, arena *ar, const uar_record *r, uar_error *err);

/* ATTACHMENT of the owner "~": parts of that id are being written or deleted; its revision is the fence of who does it.
 * Body {deleting,owner,parts,user}. */
typedef struct attachment_mark {
    uar_uuid attachment;
    uar_str owner, user;
    uint64_t parts; /* parts that may be there: numbers 1 to this */
    bool deleting;
    int64_t updated_ms;
    uint64_t revision;
} attachment_mark;
uar_status attachment_mark_record(uar_record *out, arena *ar, const attachment_mark *m);
uar_status attachment_mark_decode(attachment_mark *out, arena *ar, const uar_record *r, uar_error *err);

/* LEASE of a session: id = the session's record id. Body {instance,run,held}. It is released by held=false, deleted only with its session,
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
