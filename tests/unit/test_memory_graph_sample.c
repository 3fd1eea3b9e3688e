/* The sample of docs/memory.md: who works where, since when, and what is known of them. */
#include "test_memory_graph_fixture.h"

static void sample(uar_memory *memory, char *answer, size_t size) {
    uar_identity who = { UAR_IDENTITY_INIT, .user = uar_str_of("ann") };
    uar_memory_change ada, acme, change;

    uar_memory_entity_draft person = { UAR_MEMORY_ENTITY_DRAFT_INIT, .name = uar_str_of("Ada"),
                                       .kind = uar_str_of("person") };
    uar_memory_graph_put_sync(&ada, memory, &who, &person, NULL);

    uar_memory_entity_draft company = { UAR_MEMORY_ENTITY_DRAFT_INIT, .name = uar_str_of("Acme"),
                                        .kind = uar_str_of("company") };
    uar_memory_graph_put_sync(&acme, memory, &who, &company, NULL);

    uar_memory_relation_draft works = { UAR_MEMORY_RELATION_DRAFT_INIT, .from = ada.id, .to = acme.id,
                                        .type = uar_str_of("works at"),
                                        .valid_from_ms = INT64_C(1704067200000) }; /* 2024 */
    uar_memory_graph_relate_sync(&change, memory, &who, &works, NULL);

    uar_memory_observation_draft note = { UAR_MEMORY_OBSERVATION_DRAFT_INIT, .entity = ada.id,
                                          .text = uar_str_of("prefers to be called in the morning") };
    uar_memory_graph_observe_sync(&change, memory, &who, &note, NULL);

    uar_memory_entity_hits *hits = NULL;
    uar_error err = UAR_ERROR_INIT;
    if (uar_memory_graph_search_sync(&hits, memory, &who, uar_str_of("when to call ada?"), NULL, 5, &err) != UAR_OK) {
        snprintf(answer, size, "%s", err.message);
        return;
    }
    for (size_t i = 0; i < hits->count; i++) {
        const uar_memory_entity_hit *hit = &hits->hits[i];
        snprintf(answer, size, "%.*s: %.*s", (int)hit->entity.name.len, hit->entity.name.ptr,
                 (int)hit->observation.text.len, hit->observation.text.ptr);
    }
    uar_memory_entity_hits_free(hits);
}

static void the_sample_of_the_documentation_works(void **state) {
    memory_fixture *f = *state;
    char answer[256] = "";
    sample(f->memory, answer, sizeof answer);
    assert_string_equal(answer, "Ada: prefers to be called in the morning");
}

int main(void) {
    const struct CMUnitTest tests[] = { MEMORY_TEST(the_sample_of_the_documentation_works) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
