/* Values with an end, masks, relations, coverage of hashes, and the log. */
#include <stddef.h>

#include "check.h"

#define FAILS(status, call)                                   \
    do {                                                      \
        CHECK((call) == (status));                            \
        CHECK(strlen(fm_error_text()) > 0);                   \
    } while (0)

typedef struct {
    uint64_t number;
    char *name; /* the value's own */
} Named;

typedef struct {
    fm_world world;
    int dropped, busy;
    uint64_t sum;
} Ledger;

static void drop_named(void *user, void *value) {
    Ledger *ledger = user;
    Named *named = value;
    ledger->dropped++;
    ledger->sum += named->number;
    free(named->name); /* twice or never, and the sanitizer says so */
    fm_stats stats;
    fm_status status = fm_world_stats(ledger->world, &stats);
    ledger->busy += status == FM_BUSY || status == FM_BAD_HANDLE;
}

static Named named(uint64_t number) {
    Named value = {number, malloc(16)};
    snprintf(value.name, 16, "n%llu", (unsigned long long)number);
    return value;
}

static void test_values_are_dropped_once(void) {
    Ledger ledger = {0, 0, 0, 0};
    fm_world world;
    OK(fm_world_new(&world));
    ledger.world = world;
    fm_field fields[] = {{"number", FM_U64, offsetof(Named, number)}};
    fm_component_desc desc = {"Named", sizeof(Named), _Alignof(Named), FM_TRACKED, fields, 1, drop_named, &ledger},
                      plain = {"Plain", 4, 4, 0, NULL, 0, NULL, NULL};
    fm_component component, number;
    OK(fm_component_register(world, &desc, &component));
    OK(fm_component_register(world, &plain, &number));
    enum { COUNT = 1000 };
    static Named values[COUNT];
    static uint32_t numbers[COUNT];
    static fm_entity entities[COUNT];
    for (int i = 0; i < COUNT; i++) values[i] = named((uint64_t)i), numbers[i] = (uint32_t)i;
    fm_component both[] = {component, number}, twice[] = {component, component}, unknown[] = {component, 999};
    const uint8_t *columns[] = {(const uint8_t *)values, (const uint8_t *)numbers};
    /* What fails takes nothing over. */
    FAILS(FM_BAD_ARGUMENT, fm_spawn(world, twice, 2, columns, COUNT, entities));
    FAILS(FM_NO_COMPONENT, fm_spawn(world, unknown, 2, columns, COUNT, entities));
    CHECK(ledger.dropped == 0);
    OK(fm_spawn(world, both, 2, columns, COUNT, entities));

    Named read;
    OK(fm_get(world, entities[7], component, (uint8_t *)&read, sizeof read));
    CHECK(read.number == 7 && strcmp(read.name, "n7") == 0);
    char text[64];
    size_t len;
    OK(fm_entity_describe(world, entities[7], text, sizeof text, &len));
    CHECK(strcmp(text, "Named { number: 7 }; Plain") == 0);

    /* Replaced by two calls. */
    Named other = named(5000);
    FAILS(FM_BAD_ARGUMENT, fm_set(world, entities[7], component, (const uint8_t *)&other, 8));
    OK(fm_set(world, entities[7], component, (const uint8_t *)&other, sizeof other));
    CHECK(ledger.dropped == 1 && ledger.sum == 7);
    other = named(5001);
    OK(fm_insert(world, &entities[8], 1, component, (const uint8_t *)&other));
    CHECK(ledger.dropped == 2 && ledger.sum == 7 + 8);
    /* Removed, despawned; for an entity that is gone, its value goes as well. */
    OK(fm_remove(world, &entities[1], 1, component));
    OK(fm_despawn(world, &entities[2], 1));
    CHECK(ledger.dropped == 4);
    Named three[] = {named(6000), named(6001), named(6002)};
    fm_entity some[] = {entities[1], entities[2], 0};
    FAILS(FM_NO_ENTITY, fm_insert(world, some, 3, component, (const uint8_t *)three));
    CHECK(ledger.dropped == 6);
    other = named(7000);
    FAILS(FM_NO_ENTITY, fm_set(world, entities[2], component, (const uint8_t *)&other, sizeof other));
    free(other.name); /* still ours */

    /* In place. */
    fm_term terms[] = {{component, FM_WRITE}, {number, FM_READ}};
    fm_query query;
    fm_lease lease;
    const fm_run *runs;
    size_t runs_len, rows = 0;
    OK(fm_query_new(world, terms, 2, &query));
    OK(fm_query_lease(world, query, 0, &lease, &runs, &runs_len));
    for (size_t r = 0; r < runs_len; r++) {
        Named *here = runs[r].columns[0];
        for (size_t i = 0; i < runs[r].rows; i++) here[i].number += 1, rows++;
    }
    CHECK(rows == COUNT - 1);
    other = named(8000);
    FAILS(FM_LEASED, fm_set(world, entities[9], component, (const uint8_t *)&other, sizeof other));
    FAILS(FM_LEASED, fm_insert(world, &entities[9], 1, component, (const uint8_t *)&other));
    free(other.name);
    OK(fm_lease_release(world, lease));

    /* Neither in hashes nor in snapshots nor in buffers. */
    uint64_t hash;
    size_t uncovered;
    OK(fm_state_hash(world, &hash, &uncovered));
    CHECK(uncovered == 1);
    OK(fm_hash_uncovered(world, text, sizeof text, &len));
    CHECK(strcmp(text, "Named") == 0 && len == 5);
    OK(fm_hash_uncovered(world, NULL, 0, &len));
    FAILS(FM_NULL, fm_hash_uncovered(world, text, sizeof text, NULL));
    fm_blob blob;
    FAILS(FM_BAD_ARGUMENT, fm_snapshot(world, &blob));
    CHECK(strstr(fm_error_text(), "has a drop function") != NULL);
    CHECK(strstr(fm_error_text(), "Named") != NULL);
    fm_commands commands;
    OK(fm_commands_new(world, &commands));
    FAILS(FM_BAD_ARGUMENT, fm_commands_insert(world, commands, entities[9], component, (uint8_t *)&read, sizeof read));
    OK(fm_world_check(world));
    int before = ledger.dropped;
    OK(fm_world_free(world));
    CHECK(ledger.dropped == before + COUNT - 1 && ledger.busy == ledger.dropped);
}

static void test_masks_say_which_rows_are_on(void) {
    fm_world world;
    OK(fm_world_new(&world));
    fm_component_desc value = {"Value", 4, 4, 0, NULL, 0, NULL, NULL}, on = {"On", 0, 1, FM_ENABLEABLE, NULL, 0, NULL, NULL};
    fm_component both[2];
    OK(fm_component_register(world, &value, &both[0]));
    OK(fm_component_register(world, &on, &both[1]));
    enum { COUNT = 5000 };
    static uint32_t values[COUNT];
    static fm_entity entities[COUNT];
    for (int i = 0; i < COUNT; i++) values[i] = (uint32_t)i;
    const uint8_t *columns[] = {(const uint8_t *)values, NULL};
    OK(fm_spawn(world, both, 2, columns, COUNT, entities));
    for (int i = 0; i < COUNT; i += 3) OK(fm_set_enabled(world, &entities[i], 1, both[1], false));
    fm_term terms[] = {{both[1], FM_MASK}, {both[0], FM_WRITE}};
    fm_query query;
    fm_lease lease;
    const fm_run *runs;
    size_t runs_len, rows = 0;
    OK(fm_query_new(world, terms, 2, &query));
    OK(fm_query_lease(world, query, 0, &lease, &runs, &runs_len));
    OK(fm_set_enabled(world, entities, COUNT, both[1], true)); /* the mask is that of the beginning */
    for (size_t r = 0; r < runs_len; r++) {
        const uint64_t *mask = runs[r].columns[0];
        const uint32_t *numbers = runs[r].columns[1];
        for (size_t i = 0; i < runs[r].rows; i++, rows++)
            CHECK((mask[i / 64] >> (i % 64) & 1) == (numbers[i] % 3 != 0));
    }
    CHECK(rows == COUNT);
    OK(fm_lease_release(world, lease));
    OK(fm_world_free(world));
}

static void test_relations_keep_their_rules(void) {
    fm_world world;
    OK(fm_world_new(&world));
    fm_entity all[4] = {0}, found[4] = {0}, gone = 0;
    OK(fm_spawn(world, NULL, 0, NULL, 4, all));
    fm_relation likes, serves, bad, owns;
    OK(fm_relation_new(world, 0, &likes));
    OK(fm_relation_new(world, FM_EXCLUSIVE | FM_ACYCLIC, &serves));
    OK(fm_relation_new(world, FM_DESPAWN_SOURCES, &owns));
    FAILS(FM_BAD_ARGUMENT, fm_relation_new(world, 8, &bad));
    FAILS(FM_NULL, fm_relation_new(world, 0, NULL));
    for (int i = 1; i < 100; i++) OK(fm_relation_new(world, 0, &bad)); /* any number of the same rules */
    size_t len;
    fm_entity from[] = {all[0], all[0], all[1]}, to[] = {all[1], all[2], all[2]};
    OK(fm_relate(world, likes, from, to, 3));
    OK(fm_targets(world, likes, all[0], found, 4, &len));
    CHECK(len == 2 && found[0] == all[1] && found[1] == all[2]);
    OK(fm_sources(world, likes, all[2], found, 1, &len));
    CHECK(len == 2 && found[0] == all[0]);
    OK(fm_unrelate(world, likes, from, to, 1));
    OK(fm_targets(world, likes, all[0], found, 4, &len));
    CHECK(len == 1 && found[0] == all[2]);
    /* One target at a time, and no cycle. */
    fm_entity cycle_from[] = {all[0], all[1], all[2]}, cycle_to[] = {all[1], all[2], all[0]};
    FAILS(FM_BAD_ARGUMENT, fm_relate(world, serves, cycle_from, cycle_to, 3));
    OK(fm_relate(world, serves, &all[0], &all[3], 1));
    OK(fm_targets(world, serves, all[0], found, 4, &len));
    CHECK(len == 1 && found[0] == all[3]);
    /* As components of a query, which belong to the library. */
    fm_component targets, sources;
    OK(fm_relation_components(world, likes, &targets, &sources));
    fm_term with[] = {{sources, FM_WITH}}, write[] = {{targets, FM_WRITE}}, read[] = {{targets, FM_READ}};
    fm_query query;
    fm_lease lease;
    const fm_run *runs;
    size_t runs_len;
    OK(fm_query_new(world, with, 1, &query));
    OK(fm_query_lease(world, query, 0, &lease, &runs, &runs_len));
    CHECK(runs_len == 1 && runs[0].rows == 1 && runs[0].entities[0] == all[2]);
    FAILS(FM_LEASED, fm_relate(world, likes, from, to, 1));
    FAILS(FM_LEASED, fm_unrelate(world, likes, from, to, 1));
    FAILS(FM_LEASED, fm_relation_new(world, 1, &bad));
    OK(fm_lease_release(world, lease));
    FAILS(FM_BAD_ARGUMENT, fm_query_new(world, write, 1, &query));
    OK(fm_query_new(world, read, 1, &query));
    OK(fm_query_lease(world, query, 0, &lease, &runs, &runs_len));
    CHECK(runs_len > 0 && runs[0].columns[0] == NULL); /* no plain bytes */
    OK(fm_lease_release(world, lease));
    uint8_t bytes[64] = {0};
    const uint8_t *column[] = {bytes};
    FAILS(FM_BAD_ARGUMENT, fm_spawn(world, &targets, 1, column, 1, &gone));
    FAILS(FM_BAD_ARGUMENT, fm_insert(world, all, 1, targets, bytes));
    FAILS(FM_BAD_ARGUMENT, fm_set(world, all[0], targets, bytes, 24));
    FAILS(FM_BAD_ARGUMENT, fm_get(world, all[0], targets, bytes, 24));
    FAILS(FM_BAD_ARGUMENT, fm_remove(world, all, 1, targets));
    /* Their end. */
    OK(fm_relate(world, owns, &all[3], &all[2], 1));
    OK(fm_despawn(world, &all[2], 1));
    fm_stats stats;
    OK(fm_world_stats(world, &stats));
    CHECK(stats.entities == 2);
    /* Hostile. */
    FAILS(FM_NO_ENTITY, fm_relate(world, likes, all, &all[2], 1));
    FAILS(FM_NO_ENTITY, fm_relate(world, likes, &gone, all, 1));
    FAILS(FM_NO_ENTITY, fm_unrelate(world, likes, &all[2], all, 1));
    FAILS(FM_NO_ENTITY, fm_targets(world, likes, all[2], found, 4, &len));
    FAILS(FM_NO_ENTITY, fm_sources(world, likes, 0, found, 4, &len));
    FAILS(FM_BAD_HANDLE, fm_relate(world, 999, all, all, 1));
    FAILS(FM_BAD_HANDLE, fm_unrelate(world, ~0u, all, all, 1));
    FAILS(FM_BAD_HANDLE, fm_targets(world, 999, all[0], found, 4, &len));
    FAILS(FM_BAD_HANDLE, fm_relation_components(world, 999, &targets, &sources));
    FAILS(FM_BAD_HANDLE, fm_relate(0, likes, all, all, 1));
    FAILS(FM_NULL, fm_relate(world, likes, NULL, all, 1));
    FAILS(FM_NULL, fm_relate(world, likes, all, NULL, 1));
    FAILS(FM_NULL, fm_targets(world, likes, all[0], found, 4, NULL));
    FAILS(FM_NULL, fm_sources(world, likes, all[0], NULL, 4, &len));
    FAILS(FM_NULL, fm_relation_components(world, likes, NULL, &sources));
    OK(fm_relate(world, likes, NULL, NULL, 0));
    OK(fm_world_check(world));
    OK(fm_world_free(world));
}

static int lines, levels[3];
static char last_line[256];

static void take_line(void *user, uint32_t level, const char *text) {
    CHECK(user == &lines);
    lines++;
    levels[level]++;
    snprintf(last_line, sizeof last_line, "%s", text);
    CHECK(fm_world_check(0) == FM_BAD_HANDLE); /* is not written: it would go on for ever */
}

static void test_the_log_has_every_failure(void) {
    OK(fm_log_to(take_line, &lines));
    CHECK(fm_world_check(~0ull) == FM_BAD_HANDLE);
    CHECK(lines == 1 && levels[FM_LOG_ERROR] == 1 && strstr(last_line, "world") != NULL);
    OK(fm_log_to(NULL, NULL));
    CHECK(fm_world_check(~0ull) == FM_BAD_HANDLE);
    CHECK(lines == 1);
}

int main(void) {
    test_values_are_dropped_once();
    test_masks_say_which_rows_are_on();
    test_relations_keep_their_rules();
    test_the_log_has_every_failure();
    puts("ok");
    return 0;
}
