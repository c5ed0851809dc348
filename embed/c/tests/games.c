/* Minds, paths, saves of schedules, and threads that are lent. */
#include <math.h>
#include <pthread.h>

#include "check.h"

#define FAILS(status, call)                                   \
    do {                                                      \
        CHECK((call) == (status));                            \
        CHECK(strlen(fm_error_text()) > 0);                   \
    } while (0)

static const char *const INPUTS[] = {"hungry", "wolf"}, *const ACTIONS[] = {"eat", "run"};
static const char REASONER[] =
    "Reasoner(options: ["
    "(name: \"eat\", considerations: [(input: \"hungry\", curve: Linear(1.0, 0.0))]),"
    "(name: \"run\", considerations: [(input: \"wolf\", curve: Linear(1.0, 0.0))])])";
static const char TREE[] = "selector { sequence { wolf? run } eat }";
static const char MACHINE[] =
    "Machine(states: [(name: \"calm\", action: \"eat\"), (name: \"afraid\", action: \"run\")],"
    " transitions: [(from: \"calm\", to: \"afraid\", when: \"wolf\")])";

static void test_a_mind_decides(uint32_t kind, const char *text) {
    fm_world world;
    fm_pool pool;
    fm_schedule mind;
    OK(fm_world_new(&world));
    OK(fm_pool_new(1, &pool));
    fm_mind_desc desc = {kind, text, INPUTS, 2, ACTIONS, 2};
    OK(fm_mind_new(world, &desc, &mind));
    fm_entity agents[2] = {0};
    OK(fm_spawn(world, NULL, 0, NULL, 2, agents));
    OK(fm_mind_drive(mind, agents, 2, 7));
    OK(fm_mind_watch(world, agents, 1, "Sheep", 8));
    float calm[] = {0.9f, 0.0f, 0.9f, 0.0f}, wolf[] = {0.9f, 1.0f, 0.9f, 0.0f};
    int32_t actions[2] = {0};
    OK(fm_mind_sense(mind, agents, 2, calm));
    OK(fm_schedule_run(mind, pool));
    OK(fm_mind_current(mind, agents, 2, actions));
    CHECK(actions[0] == 0 && actions[1] == 0);
    OK(fm_mind_sense(mind, agents, 2, wolf));
    OK(fm_schedule_run(mind, pool));
    OK(fm_mind_current(mind, agents, 2, actions));
    CHECK(actions[0] == 1 && actions[1] == 0);
    char said[512];
    size_t len;
    OK(fm_explain(world, agents[0], said, sizeof said, &len));
    CHECK(len > 0 && strstr(said, "Sheep") != NULL);
    OK(fm_explain(world, agents[1], said, sizeof said, &len));
    CHECK(strstr(said, "not watched") != NULL);
    /* What has ended is decided anew, and a saved mind goes on. */
    OK(fm_mind_end(mind, agents, 2, true));
    fm_blob blob;
    const uint8_t *bytes;
    size_t bytes_len, uncovered;
    uint64_t before, after;
    OK(fm_save(mind, &blob));
    OK(fm_blob_bytes(blob, &bytes, &bytes_len));
    OK(fm_mind_sense(mind, agents, 2, calm));
    OK(fm_schedule_run(mind, pool));
    OK(fm_state_hash(world, &before, &uncovered));
    OK(fm_load(mind, bytes, bytes_len));
    OK(fm_mind_sense(mind, agents, 2, calm));
    OK(fm_schedule_run(mind, pool));
    OK(fm_state_hash(world, &after, &uncovered));
    CHECK(before == after && uncovered == 0);
    /* Hostile. */
    fm_entity gone = agents[0], stone = 0;
    OK(fm_spawn(world, NULL, 0, NULL, 1, &stone));
    float odd[] = {NAN, 0};
    FAILS(FM_BAD_ARGUMENT, fm_mind_sense(mind, agents, 1, odd));
    FAILS(FM_BAD_ARGUMENT, fm_mind_drive(mind, agents, 1, 0)); /* it has one */
    FAILS(FM_NO_COMPONENT, fm_mind_sense(mind, &stone, 1, calm));
    FAILS(FM_NO_COMPONENT, fm_mind_current(mind, &stone, 1, actions));
    CHECK(actions[0] == -1);
    FAILS(FM_NO_COMPONENT, fm_mind_end(mind, &stone, 1, true));
    fm_schedule another;
    OK(fm_mind_new(world, &desc, &another)); /* not the mind that they were given */
    FAILS(FM_NO_COMPONENT, fm_mind_sense(another, agents, 1, calm));
    FAILS(FM_NO_COMPONENT, fm_mind_current(another, agents, 1, actions));
    FAILS(FM_NO_COMPONENT, fm_mind_end(another, agents, 1, true));
    OK(fm_despawn(world, agents, 1));
    FAILS(FM_NO_ENTITY, fm_mind_sense(mind, &gone, 1, calm));
    FAILS(FM_NO_ENTITY, fm_mind_current(mind, &gone, 1, actions));
    FAILS(FM_NO_ENTITY, fm_mind_end(mind, &gone, 1, false));
    FAILS(FM_NO_ENTITY, fm_mind_drive(mind, &gone, 1, 0));
    FAILS(FM_NO_ENTITY, fm_mind_watch(world, &gone, 1, "Sheep", 1));
    FAILS(FM_NO_ENTITY, fm_explain(world, 0, said, sizeof said, &len));
    OK(fm_explain(world, gone, said, 5, &len));
    CHECK(strlen(said) == 4 && len > 4);
    FAILS(FM_NULL, fm_mind_watch(world, &stone, 1, NULL, 1));
    FAILS(FM_NULL, fm_mind_sense(mind, agents, 2, NULL));
    FAILS(FM_NULL, fm_mind_current(mind, agents, 2, NULL));
    FAILS(FM_NULL, fm_explain(world, stone, said, sizeof said, NULL));
    FAILS(FM_BAD_HANDLE, fm_mind_drive(99, agents, 1, 0));
    FAILS(FM_BAD_HANDLE, fm_mind_sense(0, agents, 1, calm));
    FAILS(FM_NULL, fm_mind_new(world, NULL, &mind));
    FAILS(FM_NULL, fm_mind_new(world, &desc, NULL));
    fm_schedule other;
    desc.kind = 9;
    FAILS(FM_BAD_ARGUMENT, fm_mind_new(world, &desc, &other));
    desc.kind = kind, desc.inputs_len = 99;
    const char *many[99] = {0};
    desc.inputs = many;
    FAILS(FM_NULL, fm_mind_new(world, &desc, &other));
    for (int i = 0; i < 99; i++) many[i] = "wolf";
    FAILS(FM_BAD_ARGUMENT, fm_mind_new(world, &desc, &other));
    static const char *actions_all[1025];
    static char action_names[1025][8];
    for (int i = 0; i < 1025; i++) snprintf(action_names[i], 8, "a%d", i), actions_all[i] = action_names[i];
    actions_all[0] = "eat", actions_all[1] = "run";
    desc.inputs = INPUTS, desc.inputs_len = 2, desc.actions = actions_all, desc.actions_len = 1025;
    FAILS(FM_BAD_ARGUMENT, fm_mind_new(world, &desc, &other));
    actions_all[2] = "run", desc.actions_len = 3;
    FAILS(FM_BAD_ARGUMENT, fm_mind_new(world, &desc, &other)); /* one of them twice */
    desc.actions = ACTIONS, desc.actions_len = 2, desc.text = "Nonsense(";
    FAILS(FM_BAD_DATA, fm_mind_new(world, &desc, &other));
    desc.text = text, desc.inputs_len = 0;
    FAILS(FM_BAD_DATA, fm_mind_new(world, &desc, &other)); /* it asks for what is not sensed */
    desc.inputs_len = 2;
    for (int i = 2; i < 4; i++) OK(fm_mind_new(world, &desc, &other));
    FAILS(FM_BAD_ARGUMENT, fm_mind_new(world, &desc, &other)); /* the fifth */
    OK(fm_blob_free(blob));
    OK(fm_schedule_free(mind));
    FAILS(FM_BAD_HANDLE, fm_mind_drive(mind, agents, 1, 0));
    OK(fm_pool_free(pool));
    OK(fm_world_check(world));
    OK(fm_world_free(world));
}

static void test_what_has_ended_is_decided_anew_in_the_run_after_the_next(void) {
    fm_world world;
    fm_pool pool;
    fm_schedule mind;
    OK(fm_world_new(&world));
    OK(fm_pool_new(0, &pool));
    static const char *names[1024];
    static char texts[1024][8];
    for (int i = 0; i < 1024; i++) snprintf(texts[i], 8, "a%d", i), names[i] = texts[i];
    fm_mind_desc desc = {FM_TREE, "sequence_memory { a1023 a0 }", NULL, 0, names, 1024};
    OK(fm_mind_new(world, &desc, &mind));
    fm_entity agent = 0;
    OK(fm_spawn(world, NULL, 0, NULL, 1, &agent));
    OK(fm_mind_drive(mind, &agent, 1, 0));
    int32_t action;
    const int32_t expected[] = {1023, -1, 0, 0};
    for (int run = 0; run < 4; run++) {
        OK(fm_schedule_run(mind, pool));
        OK(fm_mind_current(mind, &agent, 1, &action));
        CHECK(action == expected[run]);
        if (run == 0) OK(fm_mind_end(mind, &agent, 1, true));
    }
    OK(fm_schedule_free(mind));
    OK(fm_pool_free(pool));
    OK(fm_world_free(world));
}

static void test_agents_walk_to_their_goals(void) {
    const char map[] = "type octile\nheight 3\nwidth 5\nmap\n..@..\n..@..\n.....\n";
    fm_terrain terrain;
    fm_world world;
    fm_pool pool;
    fm_schedule paths;
    OK(fm_terrain_parse((const uint8_t *)map, sizeof map - 1, &terrain));
    OK(fm_world_new(&world));
    OK(fm_pool_new(0, &pool));
    fm_cell door = {2, 2}, nowhere = {9, 9};
    fm_place start[] = {{0.5f, 0.5f}}, goal[] = {{4.5f, 0.5f}}, place[1] = {{0, 0}}, odd[] = {{NAN, 0}}, off[] = {{-3, 70}};
    fm_entity agent = 0, stone = 0, none = 0;
    uint32_t status = 99;
    FAILS(FM_BAD_ARGUMENT, fm_paths_spawn(world, start, 1, 2.0f, &agent)); /* no terrain */
    FAILS(FM_BAD_ARGUMENT, fm_paths_set(world, door, false));
    FAILS(FM_BAD_ARGUMENT, fm_paths_new(world, terrain, NAN, 0, &paths));
    FAILS(FM_BAD_ARGUMENT, fm_paths_new(world, terrain, -1.0f, 0, &paths));
    FAILS(FM_BAD_HANDLE, fm_paths_new(world, 77, 0.1f, 0, &paths));
    FAILS(FM_NULL, fm_paths_new(world, terrain, 0.1f, 0, NULL));
    OK(fm_paths_new(world, terrain, 0.1f, 1000, &paths));
    FAILS(FM_BAD_ARGUMENT, fm_paths_new(world, terrain, 0.1f, 0, &paths)); /* it has one */
    OK(fm_terrain_free(terrain)); /* the world has a copy */
    OK(fm_paths_spawn(world, start, 1, 4.0f, &agent));
    FAILS(FM_BAD_ARGUMENT, fm_paths_spawn(world, odd, 1, 4.0f, &none));
    FAILS(FM_BAD_ARGUMENT, fm_paths_spawn(world, off, 1, 4.0f, &none));
    FAILS(FM_BAD_ARGUMENT, fm_paths_spawn(world, start, 1, -4.0f, &none));
    FAILS(FM_NULL, fm_paths_spawn(world, NULL, 1, 4.0f, &none));
    OK(fm_spawn(world, NULL, 0, NULL, 1, &stone));
    OK(fm_paths_ask(world, &agent, goal, 1, 0));
    FAILS(FM_BAD_ARGUMENT, fm_paths_ask(world, &agent, odd, 1, 0));
    FAILS(FM_BAD_ARGUMENT, fm_paths_ask(world, &agent, goal, 1, 64));
    FAILS(FM_NO_COMPONENT, fm_paths_ask(world, &stone, goal, 1, 0));
    FAILS(FM_NO_ENTITY, fm_paths_ask(world, &none, goal, 1, 0));
    FAILS(FM_NULL, fm_paths_ask(world, &agent, NULL, 1, 0));
    FAILS(FM_NO_COMPONENT, fm_paths_status(world, &stone, 1, &status, NULL));
    CHECK(status == FM_PATH_IDLE);
    FAILS(FM_NO_ENTITY, fm_paths_status(world, &none, 1, NULL, place));
    FAILS(FM_BAD_ARGUMENT, fm_paths_set(world, nowhere, true));
    OK(fm_paths_status(world, &agent, 1, &status, NULL));
    CHECK(status == FM_PATH_PENDING);
    OK(fm_schedule_run(paths, pool));
    OK(fm_paths_status(world, &agent, 1, &status, place));
    CHECK(status == FM_PATH_FOUND);
    for (int tick = 0; tick < 60; tick++) OK(fm_schedule_run(paths, pool));
    OK(fm_paths_status(world, &agent, 1, &status, place));
    CHECK(status == FM_PATH_ARRIVED && place[0].x == 4.5f && place[0].y == 0.5f);
    /* Its place as a column, to read. */
    fm_component position;
    OK(fm_paths_component(world, &position));
    fm_term read[] = {{position, FM_READ}}, write[] = {{position, FM_WRITE}};
    fm_query query;
    fm_lease lease;
    const fm_run *runs;
    size_t runs_len;
    FAILS(FM_BAD_ARGUMENT, fm_query_new(world, write, 1, &query));
    OK(fm_query_new(world, read, 1, &query));
    OK(fm_query_lease(world, query, 0, &lease, &runs, &runs_len));
    CHECK(runs_len == 1 && ((const float *)runs[0].columns[0])[0] == 4.5f);
    FAILS(FM_LEASED, fm_paths_spawn(world, start, 1, 4.0f, &none));
    OK(fm_lease_release(world, lease));
    /* Of two that go the same way, the one that goes at any angle turns close to the corner. */
    fm_entity pair[2];
    fm_place from[] = {start[0], start[0]}, at[2];
    OK(fm_paths_spawn(world, from, 2, 4.0f, pair));
    OK(fm_paths_ask(world, pair, goal, 1, 0));
    OK(fm_paths_ask(world, pair + 1, goal, 1, FM_ANY_ANGLE));
    for (int tick = 0; tick < 5; tick++) OK(fm_schedule_run(paths, pool));
    OK(fm_paths_status(world, pair, 2, NULL, at));
    CHECK(at[1].x > at[0].x + 0.1f && at[1].y < at[0].y);
    /* Walled in, and let out again. */
    OK(fm_paths_set(world, door, false));
    OK(fm_paths_ask(world, &agent, start, 1, FM_KEEP_TRYING));
    OK(fm_schedule_run(paths, pool));
    OK(fm_paths_status(world, &agent, 1, &status, NULL));
    CHECK(status == FM_PATH_UNREACHABLE);
    /* A save in the middle of it. */
    fm_blob blob;
    const uint8_t *bytes;
    size_t len, uncovered;
    uint64_t hashes[2];
    OK(fm_save(paths, &blob));
    OK(fm_blob_bytes(blob, &bytes, &len));
    for (int turn = 0; turn < 2; turn++) {
        OK(fm_paths_set(world, door, true));
        for (int tick = 0; tick < 60; tick++) OK(fm_schedule_run(paths, pool));
        OK(fm_paths_status(world, &agent, 1, &status, place));
        CHECK(status == FM_PATH_ARRIVED && place[0].x == 0.5f);
        OK(fm_state_hash(world, &hashes[turn], &uncovered));
        OK(fm_load(paths, bytes, len));
    }
    CHECK(hashes[0] == hashes[1] && uncovered == 0);
    FAILS(FM_BAD_DATA, fm_load(paths, bytes, len / 2));
    FAILS(FM_BAD_DATA, fm_load(paths, (const uint8_t *)"save", 4));
    FAILS(FM_NULL, fm_load(paths, NULL, 10));
    FAILS(FM_BAD_HANDLE, fm_load(12345, bytes, len));
    FAILS(FM_BAD_HANDLE, fm_save(12345, &blob));
    FAILS(FM_NULL, fm_save(paths, NULL));
    char text[2048];
    OK(fm_schedule_explain(paths, text, sizeof text, &len));
    CHECK(strstr(text, "search") != NULL);
    FAILS(FM_BAD_HANDLE, fm_schedule_explain(12345, text, sizeof text, &len));
    FAILS(FM_NULL, fm_schedule_explain(paths, text, sizeof text, NULL));
    OK(fm_blob_free(blob));
    OK(fm_schedule_free(paths));
    OK(fm_pool_free(pool));
    OK(fm_world_free(world));
}

/* A system of the host that counts what has changed since its last run. */
static uint64_t counted;

static void count(void *user, uint64_t tick, const fm_run *runs, size_t runs_len) {
    (void)user, (void)tick;
    for (size_t r = 0; r < runs_len; r++) counted += runs[r].rows;
}

static void test_a_saved_schedule_remembers_what_it_saw(void) {
    fm_world world;
    fm_pool pool;
    fm_schedule schedule;
    OK(fm_world_new(&world));
    OK(fm_pool_new(0, &pool));
    fm_component_desc desc = {"Number", 4, 4, FM_TRACKED, NULL, 0, NULL, NULL};
    fm_component number;
    OK(fm_component_register(world, &desc, &number));
    uint32_t values[100] = {0};
    fm_entity entities[100] = {0};
    const uint8_t *columns[] = {(const uint8_t *)values};
    OK(fm_spawn(world, &number, 1, columns, 100, entities));
    fm_term changed[] = {{number, FM_CHANGED}};
    fm_system system = {"count", changed, 1, count, NULL, 1};
    OK(fm_schedule_new(world, &system, 1, &schedule));
    OK(fm_schedule_run(schedule, pool));
    CHECK(counted == 100);
    fm_blob save, snapshot;
    const uint8_t *bytes;
    size_t len;
    OK(fm_relate(world, FM_CHILD_OF, &entities[1], &entities[2], 1));
    OK(fm_save(schedule, &save));
    OK(fm_snapshot(world, &snapshot));
    for (int i = 0; i < 3; i++) OK(fm_set(world, entities[i], number, (const uint8_t *)values, 4));
    OK(fm_schedule_run(schedule, pool));
    CHECK(counted == 103);
    OK(fm_blob_bytes(save, &bytes, &len));
    OK(fm_load(schedule, bytes, len));
    OK(fm_schedule_run(schedule, pool));
    CHECK(counted == 103); /* it had seen them all */
    OK(fm_blob_bytes(snapshot, &bytes, &len));
    OK(fm_restore(world, bytes, len));
    OK(fm_schedule_run(schedule, pool));
    CHECK(counted == 203); /* a world that was restored by itself is new to it */
    /* A world that has not used the relation yet. */
    fm_world other;
    fm_schedule other_schedule;
    fm_entity child = 0;
    OK(fm_world_new(&other));
    OK(fm_component_register(other, &desc, &number));
    OK(fm_schedule_new(other, &system, 1, &other_schedule));
    OK(fm_blob_bytes(save, &bytes, &len));
    OK(fm_load(other_schedule, bytes, len));
    OK(fm_sources(other, FM_CHILD_OF, entities[2], &child, 1, &len));
    CHECK(len == 1 && child == entities[1]);
    OK(fm_schedule_free(other_schedule));
    OK(fm_world_free(other));
    OK(fm_blob_free(save));
    OK(fm_blob_free(snapshot));
    OK(fm_schedule_free(schedule));
    OK(fm_pool_free(pool));
    OK(fm_world_free(world));
}

static void *lend(void *pool) {
    OK(fm_pool_lend(*(fm_pool *)pool));
    return NULL;
}

static void test_lent_threads_come_home(void) {
    fm_pool pool, freed;
    OK(fm_pool_new_lent(2, &pool));
    OK(fm_pool_new_lent(1, &freed));
    pthread_t threads[3];
    for (int i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, lend, &pool) == 0);
    fm_world world;
    fm_schedule schedule;
    OK(fm_world_new(&world));
    fm_system systems[] = {{"one", NULL, 0, count, NULL, 1}, {"two", NULL, 0, count, NULL, 1}};
    OK(fm_schedule_new(world, systems, 2, &schedule));
    for (int i = 0; i < 50; i++) OK(fm_schedule_run(schedule, pool));
    OK(fm_pool_recall(pool));
    OK(fm_pool_lend(pool)); /* and is back at once */
    for (int i = 0; i < 2; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    OK(fm_schedule_free(schedule));
    OK(fm_world_free(world));
    OK(fm_pool_free(pool));
    OK(fm_pool_free(freed));
    FAILS(FM_BAD_HANDLE, fm_pool_lend(pool));
    FAILS(FM_BAD_HANDLE, fm_pool_recall(pool));
    FAILS(FM_NULL, fm_pool_new_lent(1, NULL));
    FAILS(FM_BAD_ARGUMENT, fm_pool_new_lent((size_t)-1, &pool));
    FAILS(FM_BAD_ARGUMENT, fm_pool_new((size_t)-1, &pool));
}

int main(void) {
    test_a_mind_decides(FM_UTILITY, REASONER);
    test_a_mind_decides(FM_TREE, TREE);
    test_a_mind_decides(FM_MACHINE, MACHINE);
    test_what_has_ended_is_decided_anew_in_the_run_after_the_next();
    test_agents_walk_to_their_goals();
    test_a_saved_schedule_remembers_what_it_saw();
    test_lent_threads_come_home();
    puts("ok");
    return 0;
}
