/* Owns nothing: reads the run's history, writes into the arena. */
#include "run/context.h"

#include "base/str.h"

size_t context_first_whole(const uar_message *messages, size_t count) {
    size_t i = 0;
    while (i < count && messages[i].role != UAR_ROLE_USER)
        i++;
    return i;
}

typedef struct message_list {
    uar_model_message *items;
    size_t count;
    arena *mem;
    uar_status status;
} message_list;

static void add_text(message_list *list, uar_role role, uar_str text) {
    uar_part *part = arena_zeroed(list->mem, 1, sizeof *part);
    if (part == NULL) {
        list->status = UAR_E_NOMEM;
        return;
    }
    part->type = UAR_PART_TEXT;
    part->text = text;
    list->items[list->count++] = (uar_model_message){ .role = role, .parts = part, .part_count = 1 };
}

static void add_system(message_list *list, const run *r) {
    uar_str texts[] = { uar_str_of(r->env->instructions), r->agent_instructions, r->spec.instructions };
    for (size_t i = 0; i < 3; i++)
        if (texts[i].len > 0) add_text(list, UAR_ROLE_SYSTEM, texts[i]);
}

static uar_status add_tools(uar_model_request *out, const run *r, arena *mem) {
    const tool_registry *tools = &r->env->tools;
    if (tools->count == 0) return UAR_OK;
    uar_model_tool *list = arena_zeroed(mem, tools->count, sizeof *list);
    if (list == NULL) return UAR_E_NOMEM;
    for (size_t i = 0; i < tools->count; i++) {
        list[i].name = uar_str_of(tools->tools[i].name);
        list[i].description = uar_str_of(tools->tools[i].description);
        list[i].input_schema = uar_str_of(tools->tools[i].input_schema);
    }
    out->tools = list;
    out->tool_count = tools->count;
    return UAR_OK;
}

uar_status context_build(uar_model_request *out, run *r, uint64_t attempt, arena *mem) {
    memset(out, 0, sizeof *out);
    out->size = sizeof *out;
    out->run = r->id;
    out->attempt = (uint32_t)attempt;
    out->temperature = -1;
    size_t first = context_first_whole(r->history, r->history_count);
    message_list list = { .mem = mem, .status = UAR_OK };
    list.items = arena_zeroed(mem, 3 + 2 * (r->history_count - first), sizeof *list.items);
    if (list.items == NULL) return UAR_E_NOMEM;
    add_system(&list, r);
    for (size_t i = first; i < r->history_count; i++) {
        const uar_message *m = &r->history[i];
        if (m->recalled.len > 0) add_text(&list, UAR_ROLE_USER, m->recalled);
        list.items[list.count++] =
            (uar_model_message){ .role = m->role, .parts = m->parts, .part_count = m->part_count };
    }
    out->messages = list.items;
    out->message_count = list.count;
    return list.status != UAR_OK ? list.status : add_tools(out, r, mem);
}
