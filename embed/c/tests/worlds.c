/* Worlds, queries, leases, buffers, snapshots and paths as a C program uses them. */
#include "check.h"

typedef struct {
    float x, y;
} Position;

enum { COUNT = 10000 };

static fm_component position(fm_world world, uint32_t flags) {
    static const fm_field fields[] = {{"x", FM_F32, offsetof(Position, x)},
                                      {"y", FM_F32, offsetof(Position, y)}};
    fm_component_desc desc = {"Position", sizeof(Position), _Alignof(Position), flags, fields, 2, NULL, NULL};
    fm_component component;
    OK(fm_component_register(world, &desc, &component));
    return component;
}

static fm_component tag(fm_world world, const char *name, uint32_t flags) {
    fm_component_desc desc = {name, 0, 1, flags, NULL, 0, NULL, NULL};
    fm_component component;
    OK(fm_component_register(world, &desc, &component));
    return component;
}

static Position values[COUNT];
static fm_entity entities[COUNT];

static void spawn_all(fm_world world, fm_component component) {
    for (int i = 0; i < COUNT; i++) values[i] = (Position){(float)i, 1};
    const uint8_t *columns[] = {(const uint8_t *)values};
    OK(fm_spawn(world, &component, 1, columns, COUNT, entities));
}

static size_t moved(fm_world world, fm_query query, uint64_t since, float by) {
    fm_lease lease;
    const fm_run *runs;
    size_t runs_len, rows = 0;
    OK(fm_query_lease(world, query, since, &lease, &runs, &runs_len));
    for (size_t r = 0; r < runs_len; r++) {
        Position *here = runs[r].columns[0];
        for (size_t i = 0; i < runs[r].rows; i++) here[i].x += by;
        rows += runs[r].rows;
    }
    OK(fm_lease_release(world, lease));
    return rows;
}

static void test_columns_are_written_in_place(void) {
    fm_world world;
    OK(fm_world_new(&world));
    fm_component pos = position(world, 0), found;
    OK(fm_component_find(world, "Position", &found));
    CHECK(found == pos);
    spawn_all(world, pos);
    fm_query query;
    fm_term terms[] = {{pos, FM_WRITE}};
    OK(fm_query_new(world, terms, 1, &query));
    CHECK(moved(world, query, 0, 0.5f) == COUNT);
    Position one;
    OK(fm_get(world, entities[7777], pos, (uint8_t *)&one, sizeof one));
    CHECK(one.x == 7777.5f && one.y == 1);

    /* The handles of a run are those of its rows. */
    fm_lease lease;
    const fm_run *runs;
    size_t runs_len, row = 0;
    OK(fm_query_lease(world, query, 0, &lease, &runs, &runs_len));
    for (size_t r = 0; r < runs_len; r++)
        for (size_t i = 0; i < runs[r].rows; i++) CHECK(runs[r].entities[i] == entities[row++]);
    OK(fm_lease_release(world, lease));

    char text[64];
    size_t len;
    OK(fm_entity_describe(world, entities[3], text, sizeof text, &len));
    CHECK(strcmp(text, "Position { x: 3.5, y: 1 }") == 0 && len == strlen(text));
    OK(fm_entity_describe(world, entities[3], text, 9, &len));
    CHECK(strcmp(text, "Position") == 0 && len == 25);
    OK(fm_world_check(world));
    OK(fm_world_free(world));
}

/* The lists of a lease that was released serve the next one: never those of other rows. */
static void test_a_later_lease_has_the_rows_of_its_time(void) {
    fm_world world;
    OK(fm_world_new(&world));
    fm_component pos = position(world, FM_TRACKED), on = tag(world, "On", FM_ENABLEABLE), mark = tag(world, "Mark", 0);
    spawn_all(world, pos);
    fm_term write[] = {{pos, FM_WRITE}}, read[] = {{pos, FM_READ}}, marked[] = {{pos, FM_READ}, {mark, FM_WITH}},
            changed[] = {{pos, FM_READ}, {pos, FM_CHANGED}}, lit[] = {{pos, FM_READ}, {on, FM_WITHOUT}};
    fm_query writer, reader, marks, changes, dark;
    OK(fm_query_new(world, write, 1, &writer));
    OK(fm_query_new(world, read, 1, &reader));
    OK(fm_query_new(world, marked, 2, &marks));
    OK(fm_query_new(world, changed, 2, &changes));
    OK(fm_query_new(world, lit, 2, &dark));
    uint64_t before;
    for (int round = 0; round < 3; round++) {
        OK(fm_world_version(world, &before));
        CHECK(moved(world, reader, 0, 0) == COUNT && moved(world, changes, before, 0) == 0);
        CHECK(moved(world, writer, 0, 1) == COUNT && moved(world, changes, before, 0) == COUNT);
    }
    /* Two at a time have lists of their own. */
    fm_lease one, two;
    const fm_run *runs, *others;
    size_t runs_len, others_len;
    OK(fm_query_lease(world, reader, 0, &one, &runs, &runs_len));
    OK(fm_query_lease(world, reader, 0, &two, &others, &others_len));
    CHECK(runs != others && runs_len == others_len && runs[0].columns[0] == others[0].columns[0]);
    OK(fm_lease_release(world, one));
    CHECK(((Position *)others[0].columns[0])[1].x == 4);
    OK(fm_lease_release(world, two));
    /* Rows go, come, move and are switched off. */
    CHECK(moved(world, marks, 0, 0) == 0 && moved(world, dark, 0, 0) == COUNT);
    OK(fm_despawn(world, entities, 10));
    CHECK(moved(world, reader, 0, 0) == COUNT - 10 && moved(world, writer, 0, 0) == COUNT - 10);
    OK(fm_insert(world, &entities[10], 7, mark, NULL));
    OK(fm_insert(world, &entities[17], 3, on, NULL));
    CHECK(moved(world, marks, 0, 0) == 7 && moved(world, reader, 0, 0) == COUNT - 10);
    CHECK(moved(world, dark, 0, 0) == COUNT - 13);
    OK(fm_set_enabled(world, &entities[17], 2, on, false));
    CHECK(moved(world, dark, 0, 0) == COUNT - 11);
    OK(fm_remove(world, &entities[10], 7, mark));
    CHECK(moved(world, marks, 0, 0) == 0);
    fm_blob blob;
    OK(fm_snapshot(world, &blob));
    const uint8_t *bytes;
    size_t len;
    OK(fm_blob_bytes(blob, &bytes, &len));
    OK(fm_world_clear(world));
    CHECK(moved(world, reader, 0, 0) == 0);
    OK(fm_restore(world, bytes, len));
    CHECK(moved(world, reader, 0, 0) == COUNT - 10);
    OK(fm_blob_free(blob));
    fm_commands commands;
    size_t failures;
    OK(fm_commands_new(world, &commands));
    OK(fm_commands_despawn(world, commands, entities[100]));
    OK(fm_commands_play(world, commands, &failures));
    CHECK(moved(world, reader, 0, 0) == COUNT - 11);
    /* A query that was freed takes no lists back. */
    OK(fm_query_lease(world, reader, 0, &one, &runs, &runs_len));
    OK(fm_query_free(world, reader));
    OK(fm_lease_release(world, one));
    OK(fm_world_check(world));
    OK(fm_world_free(world));
}

static void test_switched_off_rows_are_passed_over(void) {
    fm_world world;
    OK(fm_world_new(&world));
    fm_component pos = position(world, 0), awake = tag(world, "Awake", FM_ENABLEABLE);
    spawn_all(world, pos);
    OK(fm_insert(world, entities, COUNT, awake, NULL));
    OK(fm_set_enabled(world, entities, COUNT / 2, awake, false));
    fm_term terms[] = {{pos, FM_WRITE}, {awake, FM_WITH}}, off[] = {{pos, FM_READ}, {awake, FM_DISABLED}};
    fm_query query, sleeping;
    OK(fm_query_new(world, terms, 2, &query));
    OK(fm_query_new(world, off, 2, &sleeping));
    CHECK(moved(world, query, 0, 1) == COUNT / 2);
    int has;
    OK(fm_has(world, entities[0], awake, &has));
    CHECK(has == 1);
    OK(fm_has(world, entities[COUNT - 1], awake, &has));
    CHECK(has == 2);
    OK(fm_remove(world, entities, COUNT, awake));
    OK(fm_has(world, entities[0], awake, &has));
    CHECK(has == 0);
    OK(fm_query_free(world, sleeping));
    OK(fm_world_free(world));
}

static void test_changes_are_found_since_a_version(void) {
    fm_world world;
    OK(fm_world_new(&world));
    fm_component pos = position(world, FM_TRACKED);
    spawn_all(world, pos);
    fm_term terms[] = {{pos, FM_CHANGED}, {pos, FM_WRITE}};
    fm_query query;
    OK(fm_query_new(world, terms, 2, &query));
    uint64_t before;
    OK(fm_world_version(world, &before));
    Position there = {-1, -1};
    OK(fm_set(world, entities[42], pos, (const uint8_t *)&there, sizeof there));
    CHECK(moved(world, query, before, 0) == 1);
    OK(fm_world_free(world));
}

static void test_commands_wait_until_they_are_played(void) {
    fm_world world;
    OK(fm_world_new(&world));
    fm_component pos = position(world, 0);
    spawn_all(world, pos);
    fm_commands commands;
    OK(fm_commands_new(world, &commands));
    fm_entity later;
    Position there = {5, 6};
    OK(fm_commands_spawn(world, commands, &later));
    OK(fm_commands_insert(world, commands, later, pos, (const uint8_t *)&there, sizeof there));
    OK(fm_commands_despawn(world, commands, entities[0]));
    OK(fm_commands_despawn(world, commands, entities[0]));
    OK(fm_commands_remove(world, commands, entities[1], pos));
    fm_stats stats;
    OK(fm_world_stats(world, &stats));
    CHECK(stats.entities == COUNT);
    size_t failures;
    CHECK(fm_commands_play(world, commands, &failures) == FM_NO_ENTITY && failures == 1);
    OK(fm_world_stats(world, &stats));
    CHECK(stats.entities == COUNT && stats.used_bytes > 0);
    int has;
    OK(fm_has(world, entities[1], pos, &has));
    CHECK(has == 0);
    OK(fm_commands_play(world, commands, &failures));
    CHECK(failures == 0);
    OK(fm_commands_free(world, commands));
    OK(fm_world_free(world));
}

static void test_children_go_with_their_parent(void) {
    fm_world world;
    OK(fm_world_new(&world));
    fm_component pos = position(world, 0);
    spawn_all(world, pos);
    fm_entity parents[] = {entities[0], entities[0], entities[0], entities[0]};
    OK(fm_relate(world, FM_CHILD_OF, entities + 1, parents, 4));
    OK(fm_unrelate(world, FM_CHILD_OF, entities + 4, parents, 1));
    fm_entity children[2] = {0}, parent[1] = {0};
    size_t len;
    OK(fm_targets(world, FM_CHILD_OF, entities[2], parent, 1, &len));
    CHECK(len == 1 && parent[0] == entities[0]);
    OK(fm_sources(world, FM_CHILD_OF, entities[0], children, 2, &len));
    CHECK(len == 3 && children[0] == entities[1] && children[1] == entities[2]);
    OK(fm_despawn(world, entities, 1));
    CHECK(fm_despawn(world, entities, 5) == FM_NO_ENTITY); /* the fourth was free, and goes now */
    fm_stats stats;
    OK(fm_world_stats(world, &stats));
    CHECK(stats.entities == COUNT - 5);
    OK(fm_world_free(world));
}

static void test_a_large_batch_keeps_the_order_of_its_values(void) {
    enum { MANY = 50000 };
    static Position many[MANY];
    static uint16_t numbers[MANY];
    static fm_entity spawned[MANY];
    fm_world world;
    OK(fm_world_new(&world));
    fm_component_desc number = {"Number", sizeof(uint16_t), _Alignof(uint16_t), 0, NULL, 0, NULL, NULL};
    fm_component all[] = {position(world, 0), tag(world, "Tag", 0), 0};
    OK(fm_component_register(world, &number, &all[2]));
    for (int i = 0; i < MANY; i++) {
        many[i] = (Position){(float)i, 1};
        numbers[i] = (uint16_t)i;
    }
    const uint8_t *arrays[] = {(const uint8_t *)many, NULL, (const uint8_t *)numbers};
    OK(fm_spawn(world, all, 3, arrays, MANY, spawned));
    for (int i = 0; i < MANY; i += i % 16384 == 16383 ? 1 : 127) {
        Position value;
        uint16_t found;
        OK(fm_get(world, spawned[i], all[0], (uint8_t *)&value, sizeof value));
        OK(fm_get(world, spawned[i], all[2], (uint8_t *)&found, sizeof found));
        CHECK(value.x == (float)i && found == (uint16_t)i);
    }
    OK(fm_world_check(world));
    OK(fm_world_free(world));
}

static void test_statistics_are_by_archetype(void) {
    fm_world world;
    OK(fm_world_new(&world));
    fm_component pos = position(world, 0);
    spawn_all(world, pos);
    fm_stats all;
    OK(fm_world_stats(world, &all));
    size_t entities_in_all = 0, block_bytes = 0, with_position = 0;
    for (size_t i = 0; i < all.archetypes; i++) {
        fm_archetype one;
        fm_component components[2] = {99, 99};
        OK(fm_world_archetype(world, i, &one, components, 2));
        entities_in_all += one.entities;
        block_bytes += one.block_bytes;
        CHECK(one.capacity >= one.entities && (one.chunks > 0) == (one.entities > 0));
        CHECK(one.components_len == (components[0] == pos) && components[1] == 99);
        if (components[0] == pos) {
            with_position += one.entities;
            CHECK(one.row_bytes == sizeof(fm_entity) + sizeof(Position));
        }
        OK(fm_world_archetype(world, i, &one, NULL, 0));
    }
    CHECK(entities_in_all == COUNT && with_position == COUNT && block_bytes == all.block_bytes);
    fm_archetype none;
    CHECK(fm_world_archetype(world, all.archetypes, &none, NULL, 0) == FM_BAD_ARGUMENT);
    CHECK(fm_world_archetype(world, 0, NULL, NULL, 0) == FM_NULL);
    CHECK(fm_world_archetype(world, 0, &none, NULL, 1) == FM_NULL);
    char text[2000], little[8];
    size_t len, same;
    OK(fm_world_describe(world, text, sizeof text, &len));
    CHECK(len == strlen(text) && strstr(text, "Position") != NULL);
    OK(fm_world_describe(world, little, sizeof little, &same));
    CHECK(same == len && strlen(little) == 7 && strncmp(little, text, 7) == 0);
    CHECK(fm_world_describe(world, text, sizeof text, NULL) == FM_NULL);
    OK(fm_world_free(world));
    CHECK(fm_world_archetype(world, 0, &none, NULL, 0) == FM_BAD_HANDLE);
}

static void test_a_restored_world_has_the_same_hash(void) {
    fm_world world, other;
    OK(fm_world_new(&world));
    OK(fm_world_new(&other));
    fm_component pos = position(world, 0);
    position(other, 0);
    spawn_all(world, pos);
    OK(fm_despawn(world, entities + 10, 100));
    /* The other one has not used the relation yet. */
    OK(fm_relate(world, FM_CHILD_OF, &entities[1], &entities[2], 1));
    fm_blob blob;
    const uint8_t *bytes;
    size_t len, uncovered;
    uint64_t before, after;
    OK(fm_state_hash(world, &before, &uncovered));
    CHECK(uncovered == 0);
    OK(fm_snapshot(world, &blob));
    OK(fm_blob_bytes(blob, &bytes, &len));
    OK(fm_restore(other, bytes, len));
    OK(fm_state_hash(other, &after, &uncovered));
    CHECK(before == after);
    fm_entity child = 0;
    OK(fm_sources(other, FM_CHILD_OF, entities[2], &child, 1, &len));
    CHECK(len == 1 && child == entities[1]);
    OK(fm_world_clear(world));
    OK(fm_state_hash(world, &after, &uncovered));
    CHECK(before != after);
    OK(fm_blob_free(blob));
    OK(fm_world_free(world));
    OK(fm_world_free(other));
}

static void test_paths_go_round_walls(void) {
    const char map[] = "type octile\nheight 3\nwidth 5\nmap\n..@..\n..@..\n.....\n";
    fm_terrain terrain;
    OK(fm_terrain_parse((const uint8_t *)map, sizeof map - 1, &terrain));
    fm_cell from = {0, 0}, to = {4, 0}, door = {2, 2}, path[16] = {{0, 0}};
    size_t len;
    OK(fm_terrain_path(terrain, from, to, path, 16, &len));
    CHECK(len >= 7 && path[0].x == 0 && path[len - 1].x == 4);
    OK(fm_terrain_set(terrain, door, false));
    CHECK(fm_terrain_reachable(terrain, from, to) == FM_UNREACHABLE);
    CHECK(fm_terrain_path(terrain, from, to, path, 16, &len) == FM_UNREACHABLE);
    OK(fm_terrain_set(terrain, door, true));
    OK(fm_terrain_reachable(terrain, from, to));
    OK(fm_terrain_free(terrain));
}

int main(void) {
    CHECK(fm_version() == FM_VERSION);
    test_columns_are_written_in_place();
    test_a_later_lease_has_the_rows_of_its_time();
    test_switched_off_rows_are_passed_over();
    test_changes_are_found_since_a_version();
    test_commands_wait_until_they_are_played();
    test_children_go_with_their_parent();
    test_a_large_batch_keeps_the_order_of_its_values();
    test_statistics_are_by_archetype();
    test_a_restored_world_has_the_same_hash();
    test_paths_go_round_walls();
    puts("ok");
    return 0;
}
