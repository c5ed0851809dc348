/* Functions of the host as systems of a schedule. */
#include "check.h"

typedef struct {
    float value;
} Number;

enum { COUNT = 20000 };

static fm_world world;
static fm_schedule schedule;
static int changes, busy;

static void add(void *user, uint64_t tick, const fm_run *runs, size_t runs_len) {
    const float by = *(const float *)user + (float)tick;
    for (size_t r = 0; r < runs_len; r++) {
        Number *numbers = runs[r].columns[0];
        for (size_t i = 0; i < runs[r].rows; i++) numbers[i].value += by;
    }
}

/* b += a, where a was written since the last run. */
static void follow(void *user, uint64_t tick, const fm_run *runs, size_t runs_len) {
    (void)user, (void)tick;
    for (size_t r = 0; r < runs_len; r++) {
        const Number *from = runs[r].columns[0];
        Number *to = runs[r].columns[1];
        for (size_t i = 0; i < runs[r].rows; i++) to[i].value += from[i].value;
        changes += (int)runs[r].rows;
    }
}

static void meddle(void *user, uint64_t tick, const fm_run *runs, size_t runs_len) {
    fm_stats stats;
    (void)user, (void)tick, (void)runs, (void)runs_len;
    busy += fm_world_stats(world, &stats) == FM_BUSY;
    busy += fm_world_clear(world) == FM_BUSY;
    busy += fm_world_free(world) == FM_BUSY;
    busy += fm_schedule_run(schedule, *(fm_pool *)user) == FM_BUSY;
    busy += fm_schedule_free(schedule) == FM_BUSY;
}

static fm_component number(const char *name) {
    fm_component_desc desc = {name, sizeof(Number), _Alignof(Number), 0, NULL, 0, NULL, NULL};
    fm_component component;
    OK(fm_component_register(world, &desc, &component));
    return component;
}

static uint64_t hash_on(size_t threads) {
    static Number values[COUNT];
    static fm_entity entities[COUNT];
    OK(fm_world_new(&world));
    fm_component a = number("A"), b = number("B"), c = number("C"), both[] = {a, b};
    for (int i = 0; i < COUNT; i++) values[i].value = (float)i;
    const uint8_t *columns[] = {(const uint8_t *)values, (const uint8_t *)values};
    OK(fm_spawn(world, both, 2, columns, COUNT, entities));
    OK(fm_spawn(world, &c, 1, columns, COUNT, entities));

    fm_pool pool;
    OK(fm_pool_new(threads, &pool));
    float one = 1, ten = 10;
    fm_term write_a[] = {{a, FM_WRITE}}, write_c[] = {{c, FM_WRITE}};
    fm_term a_to_b[] = {{a, FM_READ}, {b, FM_WRITE}, {a, FM_CHANGED}};
    fm_system systems[] = {{"add to A", write_a, 1, add, &one, 2},
                           {"add to C", write_c, 1, add, &ten, 1},
                           {"B follows A", a_to_b, 3, follow, NULL, 0},
                           {"meddle", NULL, 0, meddle, &pool, 1}};
    OK(fm_schedule_new(world, systems, 4, &schedule));
    changes = busy = 0;
    for (int tick = 0; tick < 5; tick++) OK(fm_schedule_run(schedule, pool));
    CHECK(changes == 3 * COUNT && busy == 5 * 5);

    fm_lease lease;
    const fm_run *runs;
    size_t runs_len;
    fm_query query;
    OK(fm_query_new(world, write_a, 1, &query));
    OK(fm_query_lease(world, query, 0, &lease, &runs, &runs_len));
    CHECK(((Number *)runs[0].columns[0])[7].value == 7 + 1 + 3 + 5);
    CHECK(fm_schedule_run(schedule, pool) == FM_LEASED);
    OK(fm_lease_release(world, lease));
    OK(fm_schedule_run(schedule, pool));

    systems[0].run = NULL;
    fm_schedule other;
    CHECK(fm_schedule_new(world, systems, 4, &other) == FM_NULL);
    systems[0].run = add, systems[0].terms_len = 0;
    uint64_t hash;
    size_t uncovered;
    OK(fm_state_hash(world, &hash, &uncovered));
    OK(fm_pool_free(pool));
    CHECK(fm_schedule_run(schedule, pool) == FM_BAD_HANDLE);
    OK(fm_schedule_free(schedule));
    CHECK(fm_schedule_free(schedule) == FM_BAD_HANDLE);
    OK(fm_world_check(world));
    OK(fm_world_free(world));
    return hash;
}

int main(void) {
    uint64_t alone = hash_on(0);
    CHECK(hash_on(1) == alone);
    CHECK(hash_on(3) == alone);
    puts("ok");
    return 0;
}
