/* See machine_host.h. The host answers what the witness says is open; it never looks at the machine's own flags. */
#include "sim/machine_host.h"

#include "base/str.h"
#include "run/machine_check.h"
#include "sim/effect_same.h"
#include "sim/machine_witness.h"
#include "support/probe_alloc.h"

#define FEEDS_MAX 1000  /* no run of this size needs more: it hangs in a circle */
#define MODEL_PIECES 60 /* a model that wrote this much only ends */
#define EXTRAS 80       /* outcomes that nobody waits for, and mutations, of one run */
#define LATE_FEEDS 3    /* outcomes sent to a closed machine */
#define EFFECTS_MAX 64  /* of one feed, with as many calls as this host makes */

typedef struct machine_host {
    choices *c;
    host_break broken;
    host_tally *tally;
    buffer *path;
    machine live, twin;
    witness w;
    buffer document, other;
    unsigned pieces, extras;
    uint64_t ids;
    const char *fault;
    effect effects[EFFECTS_MAX];
} machine_host;

static void complain(machine_host *h, const char *fault) {
    if (h->fault == NULL) h->fault = fault;
}

/* ---- what comes in ---- */

/* Whole and half characters, a lone surrogate, U+0000, bytes that are no text. */
static uar_str some_text(choices *c) {
    static const uar_str texts[] = {
        STR_INIT("a"),        STR_INIT("Hello, "),      STR_INIT("\xC3"),        STR_INIT("\xA4"),
        STR_INIT("\xF0\x9F"), STR_INIT("\x98\x80"),     STR_INIT("\0"),          STR_INIT("\xFF"),
        STR_INIT(""),         STR_INIT("\xED\xA0\xBD"), STR_INIT("\xED\xB8\x80")
    };
    return texts[choose(c, sizeof texts / sizeof *texts)];
}

static uar_str some_json(choices *c) {
    static const uar_str texts[] = { STR_INIT("{}"), STR_INIT("{\"a\":1}"), STR_INIT("\"\xE2\x82\xAC\""),
                                     STR_INIT("[]") };
    return texts[choose(c, sizeof texts / sizeof *texts)];
}

static uar_str some_name(choices *c) {
    static const uar_str names[] = { STR_INIT("call_1"), STR_INIT(""), STR_INIT("c"), STR_INIT("call_2"),
                                     STR_INIT("c\xC3") };
    return names[choose(c, sizeof names / sizeof *names)];
}

static uar_str some_reason(choices *c) {
    /* The long one makes texts that hold it grow. */
    static const uar_str reasons[] = { STR_INIT(""),
                                       STR_INIT("because it was said so, and it was said more than once, by all"),
                                       STR_INIT("because"),
                                       { NULL, 0 } };
    return reasons[choose(c, 4)];
}

/* Mostly good, so that runs get far. */
static uar_status some_status(choices *c) {
    static const uar_status bad[] = { UAR_E_TIMEOUT, UAR_E_CONFLICT, UAR_E_IO, UAR_E_TIMEOUT };
    return chance(c, 20) ? bad[choose(c, 4)] : UAR_OK;
}

static uar_uuid fresh_id(machine_host *h) {
    uar_uuid id;
    memset(&id, 0, sizeof id);
    h->ids++;
    memcpy(&id, &h->ids, sizeof h->ids);
    return id;
}

static outcome some_admission(machine_host *h) {
    static const uint32_t steps[] = { 0, 4, 3, 1 };
    choices *c = h->c;
    return (outcome){ .kind = OUTCOME_ADMITTED,
                      .status = some_status(c),
                      .message = some_reason(c),
                      .model = STR("model"),
                      .recalls = chance(c, 2),
                      .captures = chance(c, 2),
                      .number = choose(c, 3),
                      .max_steps = steps[choose(c, 4)],
                      .fresh = fresh_id(h) };
}

static outcome some_memory(machine_host *h) {
    static const uar_hit hits[] = { { .id = { { 1 } }, .score = 0.5 }, { .id = { { 2 } }, .score = 1e-300 } };
    outcome o = { .kind = OUTCOME_RECALLED, .status = some_status(h->c), .message = some_reason(h->c) };
    o.hits = (uar_hits){ hits, choose(h->c, 3) };
    return o;
}

static outcome some_model_end(choices *c, bool is_stopped) {
    static const uar_finish finishes[] = { UAR_FINISH_STOP, UAR_FINISH_TOOL_CALLS, UAR_FINISH_STOP, UAR_FINISH_LENGTH,
                                           UAR_FINISH_CONTENT_FILTER };
    if (is_stopped && !chance(c, 4)) return (outcome){ .kind = OUTCOME_MODEL_STOPPED };
    if (chance(c, 6))
        return (outcome){ .kind = OUTCOME_MODEL_FAILED,
                          .status = chance(c, 2) ? UAR_E_MODEL : UAR_E_MODEL_CUT,
                          .message = some_reason(c),
                          .number = choose(c, 2) * 5000u,
                          .retryable = !chance(c, 4) };
    return (outcome){ .kind = OUTCOME_MODEL_FINISHED, .finish = finishes[chance(c, 4) ? 1 + choose(c, 4) : 0] };
}

static outcome some_model_answer(machine_host *h) {
    choices *c = h->c;
    unsigned what = ++h->pieces > MODEL_PIECES ? 0 : choose(c, 14);
    if (what < 3) return some_model_end(c, h->w.model_stop_told);
    if (what < 5) return (outcome){ .kind = OUTCOME_MODEL_TEXT, .text = some_text(c) };
    if (what == 5) return (outcome){ .kind = OUTCOME_MODEL_REASONING, .text = some_text(c) };
    if (what == 6) return (outcome){ .kind = OUTCOME_MODEL_OPAQUE, .text = some_json(c) };
    if (what == 7)
        return (outcome){ .kind = OUTCOME_MODEL_USAGE, .usage = { .input = choose(c, 9), .output = 1, .known = true } };
    return (outcome){ .kind = OUTCOME_MODEL_CALL,
                      .number = choose(c, 5),
                      .id = some_name(c),
                      .name = some_name(c),
                      .text = some_text(c) };
}

static outcome some_plan(choices *c, uint64_t number) {
    static const call_verdict verdicts[] = { VERDICT_RUN,     VERDICT_ASK,  VERDICT_RUN,   VERDICT_ASK,
                                             VERDICT_APPROVE, VERDICT_DENY, VERDICT_REFUSE };
    outcome o = { .kind = OUTCOME_PLANNED, .number = number, .verdict = verdicts[choose(c, 7)], .text = some_json(c) };
    o.message = some_reason(c);
    if (o.verdict == VERDICT_REFUSE) o.status = UAR_E_TOOL_UNKNOWN;
    return o;
}

static outcome some_decision(choices *c, uint64_t number) {
    outcome o = { .kind = OUTCOME_DECIDED, .number = number, .approved = !chance(c, 3), .message = some_reason(c) };
    if (chance(c, 3)) o.text = some_json(c);
    return o;
}

static outcome some_tool_end(choices *c, uint64_t number) {
    outcome o = { .kind = OUTCOME_TOOL_DONE, .number = number, .text = some_json(c) };
    if (chance(c, 3)) o.status = UAR_E_TOOL_FAILED;
    return o;
}

static outcome some_capture(machine_host *h) {
    choices *c = h->c;
    if (h->extras < EXTRAS && chance(c, 3)) {
        h->extras++;
        return (outcome){ .kind = OUTCOME_MUTATED, .fresh = fresh_id(h), .name = STR("add"), .text = STR("added") };
    }
    return (outcome){ .kind = OUTCOME_CAPTURED, .status = some_status(c), .message = some_reason(c) };
}

/* Something that is open, or that isn't: of any kind, about any call. */
static outcome anything(machine_host *h) {
    choices *c = h->c;
    uint64_t number = choose(c, 7);
    switch (choose(c, 12)) {
    case 0: return some_admission(h);
    case 1: return some_memory(h);
    case 2: return (outcome){ .kind = OUTCOME_SAVED, .status = some_status(c), .fresh = fresh_id(h) };
    case 3: return some_model_answer(h);
    case 4: return some_model_end(c, true);
    case 5: return some_plan(c, number == 6 ? UINT64_MAX : number);
    case 6: return some_decision(c, number == 6 ? UINT64_MAX : number);
    case 7: return some_tool_end(c, number == 6 ? UINT64_MAX : number);
    case 8: return (outcome){ .kind = OUTCOME_WAITED };
    case 9: return (outcome){ .kind = OUTCOME_CANCEL, .after_step = chance(c, 2), .message = some_reason(c) };
    case 10: return (outcome){ .kind = OUTCOME_PARK, .message = some_reason(c) };
    default: return some_capture(h);
    }
}

/* ---- what is answered ---- */

typedef struct open_thing {
    outcome_kind kind; /* that answers it */
    uint64_t number;
} open_thing;

static size_t list_open(const witness *w, open_thing *list) {
    size_t n = 0;
    if (w->admit) list[n++] = (open_thing){ OUTCOME_ADMITTED, 0 };
    if (w->recall) list[n++] = (open_thing){ OUTCOME_RECALLED, 0 };
    if (w->save) list[n++] = (open_thing){ OUTCOME_SAVED, 0 };
    if (w->model) list[n++] = (open_thing){ OUTCOME_MODEL_FINISHED, 0 };
    if (w->wait) list[n++] = (open_thing){ OUTCOME_WAITED, 0 };
    if (w->capture) list[n++] = (open_thing){ OUTCOME_CAPTURED, 0 };
    for (size_t i = 0; i < w->call_count; i++) {
        const witness_call *call = &w->calls[i];
        if (call->planning) list[n++] = (open_thing){ OUTCOME_PLANNED, i };
        if (call->running) list[n++] = (open_thing){ OUTCOME_TOOL_DONE, i };
        if (call->asked_aloud && !call->decided && !call->gone && !call->ended_aloud)
            list[n++] = (open_thing){ OUTCOME_DECIDED, i };
    }
    return n;
}

static outcome answer_to(machine_host *h, open_thing thing) {
    choices *c = h->c;
    switch (thing.kind) {
    case OUTCOME_ADMITTED: return some_admission(h);
    case OUTCOME_RECALLED: return some_memory(h);
    case OUTCOME_SAVED:
        return (outcome){
            .kind = OUTCOME_SAVED, .status = some_status(c), .message = some_reason(c), .fresh = fresh_id(h)
        };
    case OUTCOME_MODEL_FINISHED: return some_model_answer(h);
    case OUTCOME_PLANNED: return some_plan(c, thing.number);
    case OUTCOME_DECIDED: return some_decision(c, thing.number);
    case OUTCOME_TOOL_DONE: return some_tool_end(c, thing.number);
    case OUTCOME_CAPTURED: return some_capture(h);
    default: return (outcome){ .kind = OUTCOME_WAITED };
    }
}

/* True if nothing that is open is answered by this kind of outcome: the host would send it twice, or unasked. */
static bool is_uncalled_for(const machine_host *h, const outcome *o) {
    open_thing list[6 + 3 * WITNESS_CALLS];
    size_t count = list_open(&h->w, list);
    bool model = o->kind >= OUTCOME_MODEL_TEXT && o->kind <= OUTCOME_MODEL_STOPPED;
    for (size_t i = 0; i < count; i++) {
        outcome_kind kind = list[i].kind;
        bool numbered = kind == OUTCOME_PLANNED || kind == OUTCOME_DECIDED || kind == OUTCOME_TOOL_DONE;
        if (kind == OUTCOME_MODEL_FINISHED ? model : kind == o->kind && (!numbered || list[i].number == o->number))
            return false;
    }
    return true;
}

/* Now and then a cancel, a park, or what nobody waits for. What only a broken host would send is left to
 * machine_host_read. */
static bool disturbs(machine_host *h, outcome *o) {
    choices *c = h->c;
    if (h->extras >= EXTRAS) return false;
    if (chance(c, 60)) {
        *o = (outcome){ .kind = OUTCOME_CANCEL, .after_step = chance(c, 3), .message = some_reason(c) };
    } else if (chance(c, 120)) {
        *o = (outcome){ .kind = OUTCOME_PARK, .message = some_reason(c) };
    } else if (chance(c, 20)) {
        *o = anything(h);
    } else {
        return false;
    }
    h->extras++;
    return o->kind == OUTCOME_CANCEL || o->kind == OUTCOME_PARK || is_uncalled_for(h, o);
}

static outcome next_outcome(machine_host *h) {
    open_thing list[6 + 3 * WITNESS_CALLS];
    size_t count = list_open(&h->w, list);
    outcome o;
    if (disturbs(h, &o)) return o;
    return answer_to(h, list[choose(h->c, (unsigned)count)]);
}

/* ---- one feed ---- */

static size_t take_effects(machine_host *h, machine *m) {
    size_t n = 0;
    while (n < EFFECTS_MAX && machine_next(m, &h->effects[n]))
        n++;
    return n;
}

/* Plays the faults of the controls on the witness. */
static void tell_witness(machine_host *h, const effect *e) {
    effect extra = { .kind = EFFECT_INVOKE };
    bool end = e->kind == EFFECT_EMIT && e->event == UAR_EVENT_TOOL_END;
    if (h->broken == BREAK_LOST_TOOL_END && end) return;
    if (h->broken == BREAK_EARLY_INVOKE && e->kind == EFFECT_SAVE && e->save == SAVE_CALLS)
        witness_wanted(&h->w, &extra, &h->live);
    witness_wanted(&h->w, e, &h->live);
    bool again = h->broken == BREAK_SECOND_TERMINAL ? e->kind == EFFECT_EMIT && uar_event_is_terminal(e->event)
                                                    : h->broken == BREAK_SECOND_SAVE && e->kind == EFFECT_SAVE;
    if (again) witness_wanted(&h->w, e, &h->live);
}

static void count(machine_host *h, const effect *e) {
    host_tally *t = h->tally;
    if (t == NULL) return;
    if (e->kind == EFFECT_INVOKE) t->calls++;
    if (e->kind == EFFECT_WAIT && h->live.save_waits) t->save_retries++;
    if (e->kind == EFFECT_CLOSE && h->w.terminals == 0) t->parked++;
    if (e->kind != EFFECT_EMIT) return;
    t->done += e->event == UAR_EVENT_RUN_DONE;
    t->failed += e->event == UAR_EVENT_RUN_FAILED;
    t->cancelled += e->event == UAR_EVENT_CANCELLED;
    t->asks += e->event == UAR_EVENT_TOOL_CALL_APPROVAL_REQUIRED;
    t->superseded += e->event == UAR_EVENT_ATTEMPT_SUPERSEDED;
}

static void take_both(machine_host *h) {
    size_t n = take_effects(h, &h->live);
    effect e;
    for (size_t i = 0; i < n; i++) {
        tell_witness(h, &h->effects[i]);
        count(h, &h->effects[i]);
        if (!machine_next(&h->twin, &e) || !effect_same(&e, &h->effects[i]))
            complain(h, "a machine that was saved and loaded wants the same");
    }
    if (machine_next(&h->twin, &e)) complain(h, "a machine that was saved and loaded wants no more");
    witness_rests(&h->w, &h->live);
    if (h->w.fault != NULL) complain(h, h->w.fault);
    if (!machine_is_sound(&h->live)) complain(h, "every state that is reached is sound");
}

static void write_document(buffer *out, const machine *m) {
    buffer_reset(out);
    machine_save(m, out);
}

/* The twin starts again from its document. */
static void reload_twin(machine_host *h) {
    write_document(&h->other, &h->twin);
    if (!uar_str_equal(buffer_str(&h->document), buffer_str(&h->other)))
        complain(h, "a machine that was saved and loaded has the same document");
    if (h->broken == BREAK_TWIN && h->twin.phase == PHASE_CALLS) h->twin.limits.parallel_tools = UINT32_MAX;
    if (h->broken == BREAK_TWIN) write_document(&h->other, &h->twin);
    machine fresh;
    machine_init(&fresh, h->twin.alloc, &(machine_limits){ 0 });
    if (machine_load(&fresh, buffer_str(&h->other), NULL) != UAR_OK) {
        complain(h, "every document that is saved can be loaded");
        machine_dispose(&fresh);
        return;
    }
    machine_dispose(&h->twin);
    h->twin = fresh;
}

static void remember(machine_host *h) {
    write_document(&h->document, &h->live);
    if (h->path == NULL) return;
    buffer_append_str(h->path, buffer_str(&h->document));
    buffer_append_char(h->path, '\n');
}

static void feed_both(machine_host *h, const outcome *o) {
    bool was_void = h->live.draft_void;
    uar_status status = machine_feed(&h->live, o);
    if (machine_feed(&h->twin, o) != status) complain(h, "a machine that was saved and loaded answers the same");
    if (status != UAR_OK && status != UAR_E_STALE) complain(h, "an outcome is taken or stale");
    witness_told(&h->w, o, status);
    take_both(h);
    if (h->tally != NULL) h->tally->feeds++;
    if (h->tally != NULL) h->tally->stale += status == UAR_E_STALE;
    write_document(&h->other, &h->live);
    bool changed = !uar_str_equal(buffer_str(&h->document), buffer_str(&h->other));
    if (status == UAR_E_STALE && changed && !was_void) complain(h, "what is stale changes nothing");
    remember(h);
    reload_twin(h);
}

/* ---- whole runs ---- */

static machine_limits some_limits(choices *c) {
    return (machine_limits){ .max_steps = 4 - choose(c, 4),
                             .parallel_tools = 1 + choose(c, 3),
                             .model_attempts = 1 + choose(c, 3) };
}

static void host_open(machine_host *h, choices *c, const uar_allocator *a) {
    memset(h, 0, sizeof *h);
    h->c = c;
    machine_limits limits = some_limits(c);
    machine_init(&h->live, a, &limits);
    machine_init(&h->twin, a, &limits);
    witness_init(&h->w, &limits);
    buffer_init(&h->document, &alloc_default, SIZE_MAX / 4);
    buffer_init(&h->other, &alloc_default, SIZE_MAX / 4);
}

static void host_close(machine_host *h) {
    machine_dispose(&h->live);
    machine_dispose(&h->twin);
    witness_dispose(&h->w);
    buffer_dispose(&h->document);
    buffer_dispose(&h->other);
}

const char *machine_host_play(choices *c, host_break broken, host_tally *tally, buffer *path) {
    machine_host host, *h = &host;
    host_open(h, c, &alloc_default);
    h->broken = broken;
    h->tally = tally;
    h->path = path;
    uar_uuid id = fresh_id(h);
    uar_str input = chance(c, 8) ? STR("") : STR("say \xE2\x82\xAC");
    (void)machine_start(&h->live, id, input);
    (void)machine_start(&h->twin, id, input);
    take_both(h);
    remember(h);
    reload_twin(h);
    unsigned feeds = 0;
    while (h->fault == NULL && !h->w.closed && feeds++ < FEEDS_MAX) {
        outcome o = next_outcome(h);
        feed_both(h, &o);
    }
    if (h->fault == NULL && !h->w.closed) complain(h, "a run comes to its close");
    for (int i = 0; i < LATE_FEEDS && h->fault == NULL; i++) {
        outcome o = anything(h);
        feed_both(h, &o);
        if (h->w.answer == UAR_OK) complain(h, "a closed machine takes nothing");
    }
    host_close(h);
    return h->fault;
}

const char *machine_host_starve(choices *c, unsigned long fail_at, bool *failed) {
    machine_host host, *h = &host;
    probe_alloc probe;
    probe_alloc_init(&probe);
    host_open(h, c, &probe.door);
    probe_alloc_arm(&probe, fail_at, false);
    uar_status status = machine_start(&h->live, fresh_id(h), STR("hello"));
    unsigned feeds = 0;
    while (status != UAR_E_NOMEM && h->fault == NULL && !h->w.closed && feeds++ < FEEDS_MAX) {
        size_t n = take_effects(h, &h->live);
        for (size_t i = 0; i < n; i++)
            witness_wanted(&h->w, &h->effects[i], &h->live);
        if (h->w.closed) break;
        outcome o = next_outcome(h);
        status = machine_feed(&h->live, &o);
        witness_told(&h->w, &o, status);
    }
    *failed = probe_alloc_has_failed(&probe);
    open_thing open[6 + 3 * WITNESS_CALLS];
    size_t count_open = list_open(&h->w, open);
    if (*failed != (status == UAR_E_NOMEM)) complain(h, "a lost allocation breaks the machine, and nothing else does");
    if (h->w.fault != NULL) complain(h, h->w.fault);
    (void)take_effects(h, &h->live);
    for (int i = 0; *failed && i < LATE_FEEDS; i++) {
        outcome o = i == 0 && count_open > 0 ? answer_to(h, open[0]) : anything(h);
        if (machine_feed(&h->live, &o) != UAR_E_NOMEM || take_effects(h, &h->live) != 0)
            complain(h, "a broken machine stays broken and wants nothing");
    }
    host_close(h);
    if (probe.alive != 0) complain(h, "a broken machine gives all memory back");
    return h->fault;
}

/* ---- documents ---- */

/* The outcome that the machine must be waiting for, by its own flags. False: it waits for nothing. */
static bool awaited(const machine *m, outcome *o) {
    *o = (outcome){ .status = UAR_OK };
    bool done = true;
    if (m->phase == PHASE_ADMIT) {
        o->kind = OUTCOME_ADMITTED;
    } else if (m->phase == PHASE_RECALL) {
        o->kind = OUTCOME_RECALLED;
    } else if (m->save_open) {
        o->kind = OUTCOME_SAVED;
    } else if (m->wait_open) {
        o->kind = OUTCOME_WAITED;
    } else if (m->model_open) {
        o->kind = OUTCOME_MODEL_FINISHED;
    } else if (m->phase == PHASE_SETTLE) {
        o->kind = OUTCOME_CAPTURED;
    } else {
        done = false;
    }
    for (size_t i = 0; !done && i < m->draft.call_count; i++) {
        call_state state = m->draft.calls[i].state;
        o->number = i;
        done = state == CALL_RUNNING || (state == CALL_WRITING && m->phase == PHASE_PLAN) ||
               (state == CALL_ASKING && m->phase == PHASE_CALLS);
        o->kind = state == CALL_RUNNING ? OUTCOME_TOOL_DONE : state == CALL_WRITING ? OUTCOME_PLANNED : OUTCOME_DECIDED;
    }
    o->verdict = VERDICT_RUN;
    return done;
}

static void feed_loaded(machine_host *h, const outcome *o, unsigned *terminals) {
    uar_status status = machine_feed(&h->live, o);
    size_t n = 0;
    effect e;
    for (; machine_next(&h->live, &e); n++)
        *terminals += e.kind == EFFECT_EMIT && uar_event_is_terminal(e.event);
    if (status != UAR_OK && status != UAR_E_STALE) complain(h, "a loaded machine takes an outcome or calls it stale");
    if (status == UAR_E_STALE && n > 0) complain(h, "what is stale has no effect");
    if (!machine_is_sound(&h->live)) complain(h, "a loaded machine stays sound, whatever it is fed");
}

/* First anything at all, then what it waits for, up to its close. */
static void drive_loaded(machine_host *h) {
    unsigned terminals = h->live.phase >= PHASE_SETTLE && !h->live.parks;
    for (unsigned i = choose(h->c, 64); i > 0 && h->fault == NULL; i--) {
        outcome o = anything(h);
        feed_loaded(h, &o, &terminals);
    }
    outcome o;
    for (unsigned feeds = 0; h->fault == NULL && h->live.phase != PHASE_CLOSED && feeds < 2000; feeds++) {
        if (h->live.phase == PHASE_NEW) {
            (void)machine_start(&h->live, fresh_id(h), STR("hello"));
            (void)take_effects(h, &h->live);
        }
        if (!awaited(&h->live, &o)) complain(h, "a loaded machine waits for something");
        feed_loaded(h, &o, &terminals);
    }
    if (h->fault == NULL && h->live.phase != PHASE_CLOSED) complain(h, "a loaded machine comes to its close");
    if (h->fault == NULL && terminals != (h->live.parks ? 0 : 1))
        complain(h, "a loaded machine has one terminal event");
}

/* What it writes is what it read. */
static void check_document(machine_host *h) {
    write_document(&h->document, &h->live);
    if (machine_load(&h->twin, buffer_str(&h->document), NULL) != UAR_OK) {
        complain(h, "what a loaded machine writes can be loaded");
        return;
    }
    write_document(&h->other, &h->twin);
    if (!uar_str_equal(buffer_str(&h->document), buffer_str(&h->other)))
        complain(h, "what a loaded machine writes loads to the same");
}

const char *machine_host_read(uar_str document, choices *c, bool *accepted) {
    machine_host host, *h = &host;
    uar_error err = UAR_ERROR_INIT;
    probe_alloc probe;
    probe_alloc_init(&probe);
    host_open(h, c, &probe.door);
    uar_status status = machine_load(&h->live, document, &err);
    *accepted = status == UAR_OK;
    if (status == UAR_OK) {
        check_document(h);
        drive_loaded(h);
    } else if ((status != UAR_E_CORRUPT && status != UAR_E_NEWER) || err.code != status || err.message[0] == '\0') {
        complain(h, "a document is refused with a typed error");
    }
    host_close(h);
    if (probe.alive != 0) complain(h, "a loaded machine gives all memory back");
    return h->fault;
}
