/* Golden bodies and their reading and writing: see body_kinds.h. Owns nothing. */
#include "support/body_kinds.h"

#include <string.h>

#include "store/sweep.h"

#define UUID_1 "01010101-0101-0101-0101-010101010101"
#define UUID_2 "02020202-0202-0202-0202-020202020202"
#define SUM "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define USAGE "{\"cache_read\":2,\"cache_write\":3,\"input\":10,\"known\":true,\"output\":7,\"reasoning\":5}"

const golden_body golden_bodies[] = {
    { "session 1", UAR_RECORD_SESSION, 1, "local", "u1\x1fs1", "u1", 0,
      "{\"last\":4,\"messages\":3,\"name\":\"Trip\",\"session\":\"s1\",\"user\":\"u1\"}", NULL },
    { "session 2, a tombstone", UAR_RECORD_SESSION, 2, "local", "u1\x1fs1", "u1", 0,
      "{\"last\":4,\"mark\":\"deleted\",\"messages\":3,\"name\":\"Trip\",\"session\":\"s1\",\"user\":\"u1\"}", NULL },
    { "session 2, a branch", UAR_RECORD_SESSION, 2, "local", "u1\x1fs1", "u1", 0,
      "{\"last\":4,\"messages\":3,\"origin\":{\"message\":\"" UUID_1
      "\",\"number\":2,\"session\":\"s0\"},\"session\":\"s1\",\"user\":\"u1\"}",
      NULL },
    { "message 1", UAR_RECORD_MESSAGE, 1, "local", UUID_1, "u1\x1fs1", 9,
      "{\"interrupted\":true,\"parts\":["
      "{\"text\":\"caf\xc3\xa9 \\\"q\\\" \\\\ \\n \\u0001\",\"type\":\"text\"},"
      "{\"opaque\":\"AP+AIHNpZw==\",\"text\":\"hm\",\"type\":\"reasoning\"},"
      "{\"arguments\":\"{\\\"a\\\":\",\"call\":\"c1\",\"tool\":\"t\",\"type\":\"tool_call\"},"
      "{\"call\":\"c1\",\"failed\":true,\"text\":\"no\",\"tool\":\"t\",\"type\":\"tool_result\"}],"
      "\"recalled\":\"a memory\",\"role\":\"assistant\",\"run\":\"" UUID_2 "\"}",
      NULL },
    { "message 2", UAR_RECORD_MESSAGE, 2, "local", UUID_1, "u1\x1fs1", 9,
      "{\"interrupted\":false,\"parts\":["
      "{\"text\":\"What is this?\",\"type\":\"text\"},"
      "{\"attachment\":\"" UUID_1 "\",\"text\":\"a red kite\",\"type\":\"image\"},"
      "{\"attachment\":\"" UUID_1 "\",\"type\":\"audio\"},"
      "{\"attachment\":\"" UUID_2 "\",\"text\":\"\",\"type\":\"file\"}],\"role\":\"user\"}",
      NULL },
    { "session policy 1", UAR_RECORD_SESSION_POLICY, 1, "local", "u1\x1fs1", "u1", 0,
      "{\"approvals\":\"deny\",\"max_steps\":4,\"memory\":false,\"model\":\"m\",\"session\":\"s1\","
      "\"tools\":[\"clock\",\"weather\"],\"user\":\"u1\"}",
      NULL },
    { "session policy 1 that says nothing", UAR_RECORD_SESSION_POLICY, 1, "local", "u1\x1fs1", "u1", 0,
      "{\"session\":\"s1\",\"user\":\"u1\"}", NULL },
    { "agent 1", UAR_RECORD_AGENT, 1, "local", "helper", NULL, 0,
      "{\"instructions\":\"Be kind.\",\"max_steps\":12,\"memory\":true,\"model\":\"m\",\"name\":\"Helper\"}", NULL },
    { "memory block 1 of an agent", UAR_RECORD_MEMORY_BLOCK, 1, "local", "agent:helper\x1fpersona", "agent:helper", 0,
      "{\"agent\":\"helper\",\"label\":\"persona\",\"limit\":200,\"scope\":\"agent\",\"text\":\"I am kind.\"}", NULL },
    { "memory block 1 of a user", UAR_RECORD_MEMORY_BLOCK, 1, "local", "user:u1\x1fhuman", "user:u1", 0,
      "{\"label\":\"human\",\"limit\":8,\"scope\":\"user\",\"text\":\"\xc3\x85sa, 41.\",\"user\":\"u1\"}", NULL },
    { "memory block 1 of a session", UAR_RECORD_MEMORY_BLOCK, 1, "local", "user:u1\x1fs1\x1fplan", "u1\x1fs1", 0,
      "{\"label\":\"plan\",\"limit\":4294967295,\"scope\":\"session\",\"session\":\"s1\",\"text\":\"\",\"user\":"
      "\"u1\"}",
      NULL },
    { "setting type 1", UAR_RECORD_SETTING_TYPE, 1, "local", "ui.*", NULL, 0,
      "{\"default\":1.50,\"description\":\"how large\",\"schema\":{\"maximum\":1e1,\"type\":\"number\"}}", NULL },
    { "setting 1", UAR_RECORD_SETTING, 1, "local", "ui.theme", NULL, 0, "{\"value\":{\"a\":[true,null],\"b\":1e2}}",
      NULL },
    { "attachment 1", UAR_RECORD_ATTACHMENT, 1, "local", UUID_1, "u1", 0,
      "{\"media\":\"image/png\",\"name\":\"kite.png\",\"part_bytes\":131072,\"parts\":3,\"sha256\":\"" SUM
      "\",\"size\":300000,\"user\":\"u1\"}",
      NULL },
    { "attachment 1, its mark", UAR_RECORD_ATTACHMENT, 1, "~", UUID_1, NULL, 0,
      "{\"deleting\":false,\"owner\":\"local\",\"parts\":8,\"user\":\"u1\"}", NULL },
    { "attachment part 1", UAR_RECORD_ATTACHMENT_PART, 1, "local",
      UUID_1 "\x1f"
             "0000000002",
      UUID_1, 2, "{\"part\":2}", "abc" },
    { "run 1", UAR_RECORD_RUN, 1, "local", UUID_1, "u1\x1fs1", 0,
      "{\"agent\":\"helper\",\"code\":\"UAR_E_PARKED\",\"ended\":1700000000009,\"epoch\":2,\"instance\":\"" UUID_2
      "\",\"message\":\"waits\",\"pending\":["
      "{\"arguments\":\"{\\\"to\\\":\\\"x\\\"}\",\"call\":\"c1\",\"tool\":\"mail\"},"
      "{\"arguments\":\"{}\",\"call\":\"c2\",\"tool\":\"pay\"}],"
      "\"reason\":\"approval\",\"session\":\"s1\",\"started\":-1,\"state\":\"paused\",\"steps\":3,"
      "\"usage\":{\"cache_read\":20,\"cache_write\":30,\"input\":10,\"known\":true,\"output\":18446744073709551615,"
      "\"reasoning\":5},\"user\":\"u1\"}",
      NULL },
    { "checkpoint 1", UAR_RECORD_CHECKPOINT, 1, "local", UUID_1, "u1\x1fs1", 0, "{\"a\":{},\"b\":[1,2.50]}", NULL },
    { "lease 1", UAR_RECORD_LEASE, 1, "local", "u1\x1fs1", NULL, 0,
      "{\"held\":true,\"instance\":\"" UUID_2 "\",\"run\":\"" UUID_1 "\"}", NULL },
    { "counter 1", UAR_RECORD_COUNTER, 1, "local", "tokens\x1f" UUID_2, "tokens", 0, "{\"value\":18446744073709551615}",
      NULL },
    { "counter 2", UAR_RECORD_COUNTER, 2, "local", "~usage\x1f" UUID_2, "~usage", 0,
      "{\"usage\":" USAGE ",\"value\":2}", NULL },
    { "cost 1", UAR_RECORD_COST, 1, "local",
      UUID_1 "\x1f"
             "00000000000000000003",
      "u1\x1fs1", 0,
      "{\"agent\":\"helper\",\"attempts\":2,\"model\":\"m\",\"run\":\"" UUID_1
      "\",\"session\":\"s1\",\"step\":3,\"usage\":" USAGE ",\"user\":\"u1\"}",
      NULL },
    { "outbox 1, a sweep", UAR_RECORD_OUTBOX, 1, "~",
      "sweep:d0a4c8a2c620b9dd48633a4d345b779e28bdb82f96859615b328d1fcd48609a8", NULL, 0,
      "{\"id\":\"u1\\u001fs1\",\"kind\":1,\"maker\":\"" UUID_2
      "\",\"owner\":\"local\",\"revision\":5,\"work\":\"sweep\"}",
      NULL },
    { "open run 1", UAR_RECORD_OPEN_RUN, 1, "~", UUID_1, NULL, 0,
      "{\"instance\":\"" UUID_2 "\",\"owner\":\"local\",\"session\":\"s1\",\"user\":\"u1\"}", NULL },
};
const size_t golden_body_count = sizeof golden_bodies / sizeof golden_bodies[0];

uint32_t body_newest(uint32_t kind) {
    uint32_t newest = 0;
    for (size_t i = 0; i < golden_body_count; i++)
        if (golden_bodies[i].kind == kind && golden_bodies[i].schema > newest) newest = golden_bodies[i].schema;
    return newest;
}

uar_record golden_record(const golden_body *g) {
    uar_record r = { .kind = g->kind,
                     .schema = g->schema,
                     .owner = uar_str_of(g->owner),
                     .id = uar_str_of(g->id),
                     .parent = uar_str_of(g->parent),
                     .revision = 3,
                     .has_sort = g->sort != 0,
                     .sort = g->sort,
                     .created_ms = 5,
                     .updated_ms = 6,
                     .body = uar_str_of(g->body),
                     .blob = uar_str_of(g->blob) };
    return r;
}

/* ---- one reader and writer a kind ---- */

#define RECODE(name, type, decode, encode)                                                                 \
    static uar_status name(uar_record *out, arena *ar, const uar_record *in, uar_error *err) {             \
        type value, before;                                                                                \
        memset(&value, 0x5a, sizeof value);                                                                \
        memset(&before, 0x5a, sizeof before);                                                              \
        uar_status status = decode(&value, ar, in, err);                                                   \
        if (status != UAR_OK) return memcmp(&value, &before, sizeof value) == 0 ? status : UAR_E_INTERNAL; \
        return encode;                                                                                     \
    }
RECODE(job, sweep_root, sweep_job_decode, sweep_job_record(out, ar, &value))
RECODE(message, uar_message, message_decode, message_record(out, ar, in->owner, in->parent, &value))
RECODE(policy, uar_session_policy, session_policy_decode, session_policy_record(out, ar, &value))
RECODE(agent, uar_agent, agent_decode, agent_record(out, ar, in->owner, &value))
RECODE(block, uar_block, block_decode, block_record(out, ar, &value))
RECODE(setting_type, uar_setting_type, setting_type_decode, setting_type_record(out, ar, in->owner, &value, err))
RECODE(setting, uar_setting, setting_decode, setting_record(out, ar, in->owner, value.key, value.value, err))
RECODE(attachment, uar_attachment, attachment_decode, attachment_record(out, ar, &value))
RECODE(mark, attachment_mark, attachment_mark_decode, attachment_mark_record(out, ar, &value))
RECODE(part, attachment_part, attachment_part_decode, attachment_part_record(out, ar, in->owner, &value))
RECODE(run, uar_run_info, run_decode, run_record(out, ar, &value))
RECODE(held, lease, lease_decode, lease_record(out, ar, in->owner, in->id, &value))
RECODE(cost, uar_cost, cost_decode, cost_record(out, ar, &value))
RECODE(open, open_run, open_run_decode, open_run_record(out, ar, &value))

static uar_status session(uar_record *out, arena *ar, const uar_record *in, uar_error *err) {
    uar_session s;
    session_life life;
    uar_status status = session_decode_whole(&s, &life, ar, in, err);
    return status == UAR_OK ? session_record_whole(out, ar, &s, &life) : status;
}

static uar_status checkpoint(uar_record *out, arena *ar, const uar_record *in, uar_error *err) {
    uar_str document;
    uar_run_id id;
    uar_status status = checkpoint_decode(&document, ar, in, err);
    if (status == UAR_OK) status = uar_uuid_parse(&id, in->id);
    return status == UAR_OK ? checkpoint_record(out, ar, in->owner, in->parent, id, document) : status;
}

static uar_status counter(uar_record *out, arena *ar, const uar_record *in, uar_error *err) {
    uint64_t value = 0;
    uar_usage usage;
    uar_uuid instance;
    uar_status status = usage_counter_decode(&value, &usage, ar, in, err);
    size_t head = in->parent.len + 1;
    if (status == UAR_OK) status = uar_uuid_parse(&instance, uar_str_n(in->id.ptr + head, in->id.len - head));
    if (status != UAR_OK) return status;
    if (in->schema == 1) return counter_record(out, ar, in->owner, in->parent, instance, value);
    return usage_counter_record(out, ar, in->owner, in->parent, instance, value, &usage);
}

uar_status body_recode(uar_record *out, arena *ar, const uar_record *in, uar_error *err) {
    switch (in->kind) {
    case UAR_RECORD_SESSION: return session(out, ar, in, err);
    case UAR_RECORD_MESSAGE: return message(out, ar, in, err);
    case UAR_RECORD_SESSION_POLICY: return policy(out, ar, in, err);
    case UAR_RECORD_AGENT: return agent(out, ar, in, err);
    case UAR_RECORD_MEMORY_BLOCK: return block(out, ar, in, err);
    case UAR_RECORD_SETTING_TYPE: return setting_type(out, ar, in, err);
    case UAR_RECORD_SETTING: return setting(out, ar, in, err);
    case UAR_RECORD_ATTACHMENT:
        return uar_str_equal(in->owner, STR(UAR_SYSTEM_OWNER)) ? mark(out, ar, in, err) : attachment(out, ar, in, err);
    case UAR_RECORD_ATTACHMENT_PART: return part(out, ar, in, err);
    case UAR_RECORD_RUN: return run(out, ar, in, err);
    case UAR_RECORD_CHECKPOINT: return checkpoint(out, ar, in, err);
    case UAR_RECORD_LEASE: return held(out, ar, in, err);
    case UAR_RECORD_COUNTER: return counter(out, ar, in, err);
    case UAR_RECORD_COST: return cost(out, ar, in, err);
    case UAR_RECORD_OUTBOX: return job(out, ar, in, err);
    case UAR_RECORD_OPEN_RUN: return open(out, ar, in, err);
    default: return UAR_E_UNSUPPORTED;
    }
}
