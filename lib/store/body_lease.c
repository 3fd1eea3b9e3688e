/* The bodies of records that several processes meet at: leases, heartbeats. Owns nothing. */
#include <string.h>

#include "store/bodies.h"
#include "store/body.h"

#define HEARTBEAT_PREFIX "instance:"

uar_status lease_record(uar_record *out, arena *ar, uar_str owner, uar_str session_key, const lease *l) {
    const body_place place = { .kind = UAR_RECORD_LEASE, .owner = owner, .id = session_key };
    body_writer w;
    body_write_begin(&w, ar);
    json_put_bool(&w.json, "held", l->held);
    body_write_uuid(&w, "instance", l->instance);
    body_write_uuid(&w, "run", l->run);
    return body_write_end(out, ar, &w, &place);
}

uar_status lease_decode(lease *out, arena *ar, const uar_record *r, uar_error *err) {
    body_scan scan;
    body_object root;
    uar_status st = body_scan_begin(&scan, &root, ar, r, UAR_RECORD_LEASE, err);
    if (st != UAR_OK) return st;
    lease l = {
        .instance = body_optional_uuid(&root, "instance"),
        .run = body_optional_uuid(&root, "run"),
        .held = body_bool(&root, "held"),
    };
    st = body_scan_end(&scan, &root, err);
    if (st == UAR_OK) *out = l;
    return st;
}

uar_status heartbeat_record(uar_record *out, arena *ar, uar_uuid instance, uint64_t beat) {
    if (uar_uuid_is_none(instance)) return UAR_E_INVALID;
    char id[sizeof HEARTBEAT_PREFIX + UAR_UUID_TEXT];
    memcpy(id, HEARTBEAT_PREFIX, sizeof HEARTBEAT_PREFIX - 1);
    uar_uuid_format(id + sizeof HEARTBEAT_PREFIX - 1, instance);
    const body_place place = { .kind = UAR_RECORD_LEASE, .owner = uar_str_of(UAR_SYSTEM_OWNER), .id = uar_str_of(id) };
    body_writer w;
    body_write_begin(&w, ar);
    json_put_uint(&w.json, "beat", beat);
    return body_write_end(out, ar, &w, &place);
}
