/* Every call but fm_log_to, fm_memory_from, fm_pool_lend and fm_version, with arguments drawn by lot: handles that are
 * in use, were freed, are of another world or were never given; null pointers; numbers of components, kinds and cells
 * that are out of range; sizes without sense. Each call ends with a status of its own, never FM_PANIC, and worlds stay
 * whole. A value that has an end has it once. */
#include <math.h>
#include <stdatomic.h>

#include "check.h"

enum { KEPT = 6, ROWS = 40 };

static uint64_t state;

static uint64_t draw(uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
}

/* Handles that the library gave, freed ones among them. */
typedef struct {
    uint64_t all[KEPT];
} Handles;

/* Every lease that was not released at once. */
enum { TAKEN = 100000 };
static fm_lease taken[TAKEN];
static size_t taken_len;

static Handles worlds, queries, leases, buffers, pools, schedules, blobs, terrains, entities[4];

static uint64_t any(const Handles *of) {
    static const uint64_t odd[] = {0, 1, ~0ull, 1ull << 32, 1ull << 63};
    return draw(8) == 0 ? odd[draw(5)] : of->all[draw(KEPT)];
}

static void keep(Handles *of, uint64_t handle) { of->all[draw(KEPT)] = handle; }

/* One in sixteen is null. */
static void *room(void *place) { return draw(16) == 0 ? NULL : place; }

static fm_component component(void) { return draw(12) == 0 ? (fm_component)draw(1ull << 32) : (fm_component)draw(8); }

static size_t count_of(void) { return draw(4) == 0 ? 0 : draw(ROWS); }

/* A value with an end: memory that the world frees. */
static long alive;
enum { OWNED = 3 };

static void *make_owned(void) {
    alive++;
    return malloc(16);
}

static void end_owned(void *user, void *value) {
    CHECK(user == &alive);
    void *memory;
    memcpy(&memory, value, sizeof memory);
    free(memory);
    alive--;
}

static atomic_long systems_run;

static void system_run(void *user, uint64_t tick, const fm_run *runs, size_t runs_len) {
    (void)tick;
    for (size_t r = 0; r < runs_len; r++)
        if (runs[r].columns[0] != NULL) memset(runs[r].columns[0], 7, 4 * runs[r].rows);
    CHECK(fm_world_clear(*(fm_world *)user) == FM_BUSY);
    atomic_fetch_add(&systems_run, 1);
}

static fm_world world_new(void) {
    fm_world world;
    OK(fm_world_new(&world));
    static const fm_field fields[] = {{"low", FM_U16, 0}, {"high", FM_U16, 2}};
    const fm_component_desc descs[] = {
        {"Number", 4, 4, 0, fields, 2, NULL, NULL},       {"Tracked", 8, 8, FM_TRACKED, NULL, 0, NULL, NULL},
        {"Awake", 0, 1, FM_ENABLEABLE, NULL, 0, NULL, NULL}, {"Owned", sizeof(void *), _Alignof(void *), 0, NULL, 0, end_owned, &alive},
        {"Both", 4, 4, FM_ENABLEABLE | FM_TRACKED, NULL, 0, NULL, NULL},
    };
    for (fm_component i = 0; i < sizeof descs / sizeof *descs; i++) {
        fm_component number;
        OK(fm_component_register(world, &descs[i], &number));
    }
    return world;
}

static const char *const NAMES[] = {"Number", "Tracked", "Awake", "Owned", "Both"};

static fm_component number_of(fm_world world, int place) {
    fm_component number = 1000;
    fm_component_find(world, NAMES[place], &number);
    return number;
}

static uint8_t bytes[ROWS * 64];
static char text[64];
static size_t len;

static void leased(const fm_run *runs, size_t runs_len) {
    uint64_t sum = 0;
    for (size_t r = 0; r < runs_len; r++)
        for (size_t i = 0; i < runs[r].rows; i++) sum += runs[r].entities[i];
    CHECK(runs_len == 0 || sum > 0);
}

static void spawn(fm_world world) {
    fm_component which[3];
    const uint8_t *columns[3];
    const size_t kinds = draw(4), count = count_of();
    void *owned[ROWS];
    bool is_owned = false;
    for (size_t k = 0; k < kinds; k++) {
        const int place = (int)draw(5);
        which[k] = draw(20) == 0 ? component() : number_of(world, place);
        columns[k] = room(bytes);
        if (which[k] == number_of(world, OWNED)) {
            for (size_t i = 0; i < count && !is_owned; i++) owned[i] = make_owned();
            is_owned = true;
            columns[k] = (const uint8_t *)owned;
        }
    }
    fm_entity given[ROWS] = {0};
    fm_entity *place = room(given);
    const fm_status status = fm_spawn(world, which, kinds, columns, count, place);
    for (size_t i = 0; i < count && status == FM_OK; i++) keep(&entities[draw(4)], given[i]);
    for (size_t i = 0; i < count && status != FM_OK && is_owned; i++) end_owned(&alive, &owned[i]);
}

static void insert(fm_world world, const fm_entity *some, size_t count) {
    const int place = (int)draw(5);
    if (place != OWNED) {
        fm_insert(world, some, count, number_of(world, place), room(bytes));
        return;
    }
    void *owned[ROWS];
    for (size_t i = 0; i < count; i++) owned[i] = make_owned();
    const fm_status status = fm_insert(world, some, count, number_of(world, place), (const uint8_t *)owned);
    if (status == FM_OK || status == FM_NO_ENTITY) return;
    for (size_t i = 0; i < count; i++) end_owned(&alive, &owned[i]);
}

static fm_status one(fm_world world) {
    fm_entity some[ROWS];
    for (int i = 0; i < ROWS; i++) some[i] = any(&entities[draw(4)]);
    const fm_entity entity = some[0];
    const size_t count = count_of();
    const fm_cell from = {(uint16_t)draw(6), (uint16_t)draw(6)}, to = {(uint16_t)draw(6), (uint16_t)draw(70000)};
    const float floats[] = {1, 0, -1, NAN, INFINITY, 1e30f};
    uint64_t handle = 0, other = 0;
    int has;
    switch (draw(56)) {
    case 0:
        if (draw(4) == 0 || fm_world_check(worlds.all[0]) == FM_BAD_HANDLE) keep(&worlds, world_new());
        return fm_world_new(NULL);
    case 1: return draw(8) == 0 ? fm_world_free(world) : fm_world_check(world);
    case 2: return draw(8) == 0 ? fm_world_clear(world) : FM_OK;
    case 3: return fm_world_version(world, room(&handle));
    case 4: {
        fm_stats stats;
        return fm_world_stats(world, room(&stats));
    }
    case 5: {
        fm_archetype archetype;
        fm_component numbers[8] = {0};
        return fm_world_archetype(world, draw(2) ? draw(12) : ~0ull, room(&archetype), room(numbers), draw(9));
    }
    case 6: return fm_world_describe(world, room(text), draw(64), room(&len));
    case 7: {
        fm_component number;
        char name[8] = {(char)draw(256), (char)draw(256)};
        const fm_field field = {room(name), (uint32_t)draw(14), draw(10)};
        fm_component_desc desc = {room(name), draw(2) ? 8 : draw(~0ull >> 33) << draw(40), draw(2) ? 1 : draw(9), (uint32_t)draw(5), room((void *)&field), draw(2), NULL, NULL};
        if (draw(4) == 0) desc.fields_len = ~0ull, desc.fields = NULL;
        return draw(16) ? FM_OK : fm_component_register(world, room(&desc), room(&number));
    }
    case 8: return fm_component_find(world, room("Number"), room(&handle));
    case 9: return fm_entity_describe(world, entity, room(text), draw(64), room(&len));
    case 10: case 11: case 12: spawn(world); return FM_OK;
    case 13: case 14: insert(world, some, count); return FM_OK;
    case 15: return fm_despawn(world, room(some), count / 4);
    case 16: return fm_remove(world, room(some), count, component());
    case 17: return fm_set_enabled(world, room(some), count, component(), draw(2));
    case 18: return fm_get(world, entity, component(), room(bytes), draw(12));
    case 19: {
        const fm_component number = component();
        return number == number_of(world, OWNED) ? FM_OK : fm_set(world, entity, number, room(bytes), draw(12));
    }
    case 20: return fm_has(world, entity, component(), room(&has));
    case 21: case 22: {
        fm_term terms[4];
        for (int i = 0; i < 4; i++) terms[i] = (fm_term){component(), (uint32_t)draw(13)};
        const size_t terms_len = draw(16) ? draw(5) : ~0ull;
        const fm_status status = fm_query_new(world, terms_len > 4 ? NULL : room(terms), terms_len, room(&handle));
        if (status == FM_OK) keep(&queries, handle);
        return status;
    }
    case 23: return draw(4) ? FM_OK : fm_query_free(world, any(&queries));
    case 24: case 25: case 26: {
        const fm_run *runs = NULL;
        const uint64_t since = draw(2) ? 0 : draw(2) ? draw(1000) : ~0ull;
        const fm_status status = fm_query_lease(world, any(&queries), since, room(&handle), room(&runs), room(&len));
        if (status == FM_OK) {
            leased(runs, len);
            if (draw(16)) return fm_lease_release(world, handle);
            CHECK(taken_len < TAKEN);
            taken[taken_len++] = handle;
            keep(&leases, handle);
        }
        return status;
    }
    case 27: case 28: case 29: case 30: return fm_lease_release(world, any(&leases));
    case 31: {
        const fm_status status = fm_commands_new(world, room(&handle));
        if (status == FM_OK) keep(&buffers, handle);
        return status;
    }
    case 32: return draw(4) ? FM_OK : fm_commands_free(world, any(&buffers));
    case 33: {
        const fm_status status = fm_commands_spawn(world, any(&buffers), room(&handle));
        if (status == FM_OK) keep(&entities[draw(4)], handle);
        return status;
    }
    case 34: return fm_commands_insert(world, any(&buffers), entity, component(), room(bytes), draw(12));
    case 35: return fm_commands_remove(world, any(&buffers), entity, component());
    case 36: return draw(4) ? FM_OK : fm_commands_despawn(world, any(&buffers), entity);
    case 37: return fm_commands_play(world, any(&buffers), room(&len));
    case 38: {
        fm_relation relation;
        return draw(8) ? FM_OK : fm_relation_new(world, (uint32_t)draw(10), room(&relation));
    }
    case 39: {
        fm_component targets, sources;
        return fm_relation_components(world, (fm_relation)draw(4), room(&targets), room(&sources));
    }
    case 40: return fm_relate(world, (fm_relation)draw(4), room(some), room(some + 1), draw(4));
    case 41: return fm_unrelate(world, (fm_relation)draw(4), room(some), room(some + 1), draw(4));
    case 42: return fm_targets(world, (fm_relation)draw(4), entity, room(some), draw(4), room(&len));
    case 43: return fm_sources(world, (fm_relation)draw(4), entity, room(some), draw(4), room(&len));
    case 44: {
        if (draw(16)) return FM_OK;
        const size_t threads[] = {0, 1, 1ull << 20, ~0ull};
        const fm_status status = draw(2) ? fm_pool_new(threads[draw(4)], room(&handle)) : fm_pool_new_lent(threads[draw(4)], room(&handle));
        if (status == FM_OK) keep(&pools, handle);
        return status;
    }
    case 45: return draw(4) ? fm_pool_recall(any(&pools)) : fm_pool_free(any(&pools));
    case 46: {
        static fm_world users[100];
        static size_t used;
        if (used == sizeof users / sizeof *users) return FM_OK;
        fm_world *user = &users[used++];
        *user = world;
        const fm_term terms[] = {{number_of(world, 0), FM_WRITE_OPTIONAL}, {component(), (uint32_t)draw(13)}};
        const fm_system system = {room("system"), room((void *)terms), draw(3), draw(8) ? system_run : NULL, user, (uint32_t)draw(3)};
        const fm_system at_least = {"system", terms, 1 + draw(2), system_run, user, 0};
        const fm_system systems[] = {draw(2) ? at_least : system, at_least};
        if (systems[0].terms_len == 0 && systems[0].run != NULL) return FM_OK; /* system_run() looks at a column */
        const fm_status status = fm_schedule_new(world, room((void *)systems), draw(3), room(&handle));
        if (status == FM_OK) keep(&schedules, handle);
        return status;
    }
    case 47: return draw(2) ? fm_schedule_explain(any(&schedules), room(text), draw(64), room(&len)) : fm_schedule_free(any(&schedules));
    case 48: {
        const char *names[] = {room("near"), "far", draw(4) ? "last" : "far"};
        const char *texts[] = {
            "Reasoner(options: [(name: \"near\", considerations: [(input: \"far\", curve: Linear(1.0, 0.0))])])",
            "selector { sequence { near? far } near }",
            "Machine(states: [(name: \"calm\", action: \"far\")], transitions: [])",
            "Reasoner(options: [])", "(", "selector {",
        };
        const uint32_t kind = (uint32_t)draw(4);
        const char *said = kind < 3 && draw(2) ? texts[kind] : texts[draw(6)];
        const fm_mind_desc desc = {kind, room((void *)said), names, draw(2) ? 2 : draw(4), names, draw(2) ? 2 : draw(4)};
        const fm_status status = fm_mind_new(world, room((void *)&desc), room(&handle));
        if (status == FM_OK) keep(&schedules, handle);
        return status;
    }
    case 49: {
        const fm_schedule mind = any(&schedules);
        float inputs[ROWS * 4];
        for (int i = 0; i < ROWS * 4; i++) inputs[i] = draw(40) ? 1 : floats[draw(6)];
        int32_t actions[ROWS] = {0};
        fm_mind_drive(mind, room(some), count, draw(1000));
        for (int i = 0; i < 3; i++) fm_schedule_run(mind, any(&pools));
        fm_mind_sense(mind, room(some), count, room(inputs));
        fm_mind_end(mind, room(some), count, draw(2));
        return fm_mind_current(mind, room(some), count, room(actions));
    }
    case 50: {
        const size_t most[] = {0, 1, 10, ~0ull, 1ull << 40};
        return fm_mind_watch(world, room(some), count, room("Ant"), most[draw(5)]);
    }
    case 51: return fm_explain(world, entity, room(text), draw(64), room(&len));
    case 52: {
        fm_status status = fm_paths_new(world, any(&terrains), draw(2) ? 1 : floats[draw(6)], draw(3), room(&handle));
        if (status == FM_OK) keep(&schedules, handle);
        fm_place places[ROWS];
        for (int i = 0; i < ROWS; i++) places[i] = draw(8) ? (fm_place){(float)draw(6), (float)draw(4)} : (fm_place){floats[draw(6)], floats[draw(6)]};
        uint32_t statuses[ROWS] = {0};
        fm_entity given[ROWS] = {0};
        status = fm_paths_spawn(world, room(places), draw(4), draw(2) ? 1 : floats[draw(6)], room(given));
        if (status == FM_OK) keep(&entities[draw(4)], given[0]);
        fm_paths_ask(world, room(some), room(places), count, (uint32_t)draw(9));
        fm_paths_set(world, to, draw(2));
        fm_paths_component(world, room(&other));
        return fm_paths_status(world, room(some), count, room(statuses), room(places));
    }
    case 53: {
        const char map[] = "type octile\nheight 3\nwidth 5\nmap\n.....\n.@.@.\n.....\n";
        fm_status status = fm_terrain_parse(room((void *)map), draw(2) ? sizeof map - 1 : draw(sizeof map), room(&handle));
        if (status == FM_OK) keep(&terrains, handle);
        fm_cell cells[8] = {{0, 0}};
        fm_terrain_set(any(&terrains), to, draw(2));
        fm_terrain_reachable(any(&terrains), from, to);
        status = fm_terrain_path(any(&terrains), from, to, room(cells), draw(8), room(&len));
        return draw(8) ? status : fm_terrain_free(any(&terrains));
    }
    case 54: {
        fm_status status = draw(2) ? fm_snapshot(world, room(&handle)) : fm_save(any(&schedules), room(&handle));
        if (status == FM_OK) keep(&blobs, handle);
        const uint8_t *start = NULL;
        const fm_blob blob = any(&blobs);
        status = fm_blob_bytes(blob, room(&start), room(&len));
        if (status != FM_OK || start == NULL) return status;
        uint8_t *copy = malloc(len);
        memcpy(copy, start, len);
        const size_t part = draw(4) ? len : draw(len + 1);
        if (draw(2)) copy[draw(len)] ^= (uint8_t)(1 + draw(255));
        status = draw(2) ? fm_restore(world, room(copy), part) : fm_load(any(&schedules), room(copy), part);
        free(copy);
        return draw(8) ? status : fm_blob_free(blob);
    }
    default: {
        if (draw(4)) return fm_hash_uncovered(world, room(text), draw(64), room(&len));
        return draw(2) ? fm_state_hash(world, room(&handle), room(&len)) : fm_schedule_run(any(&schedules), any(&pools));
    }
    }
}

/* Frees what is left of a world, with its leases. */
static void world_end(fm_world world) {
    for (size_t i = 0; i < taken_len; i++) fm_lease_release(world, taken[i]);
    const fm_status status = fm_world_free(world);
    CHECK(status == FM_OK || status == FM_BAD_HANDLE);
}

static bool is_kept(fm_world world) {
    for (int i = 0; i < KEPT; i++)
        if (worlds.all[i] == world) return true;
    return false;
}

int main(int argc, char **argv) {
    const uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, seeds = argc > 2 ? strtoull(argv[2], NULL, 10) : 20;
    const long steps = argc > 3 ? atol(argv[3]) : 2000;
    static long seen[16];
    for (uint64_t seed = first; seed < first + seeds; seed++) {
        state = seed;
        /* Two worlds, so that handles are of the right one often enough. */
        for (int i = 0; i < KEPT; i++) worlds.all[i] = i < 2 ? world_new() : worlds.all[i % 2];
        fm_world made[KEPT];
        for (int i = 0; i < KEPT; i++) OK(fm_pool_new((size_t)i % 2, &pools.all[i]));
        for (long step = 0; step < steps; step++) {
            const fm_world world = any(&worlds);
            memcpy(made, worlds.all, sizeof made);
            const fm_status status = one(world);
            if (status == FM_PANIC || status == FM_BROKEN || status > FM_PANIC) {
                fprintf(stderr, "seed %llu, step %ld: status %d: %s\n", (unsigned long long)seed, step, status, fm_error_text());
                return 1;
            }
            seen[status]++;
            /* One that is not kept any more is not lost. */
            for (int i = 0; i < KEPT; i++)
                if (!is_kept(made[i])) world_end(made[i]);
        }
        for (int i = 0; i < KEPT; i++) {
            const fm_status status = fm_world_check(worlds.all[i]);
            CHECK(status == FM_OK || status == FM_BAD_HANDLE || status == FM_LEASED);
        }
        for (int i = 0; i < KEPT; i++) world_end(worlds.all[i]);
        CHECK(alive == 0);
        for (int i = 0; i < KEPT; i++) fm_pool_free(pools.all[i]);
        taken_len = 0;
    }
    /* FM_BUSY is what system_run() gets. */
    for (int status = 0; status < FM_BUSY; status++) CHECK(seen[status] > 0);
    CHECK(systems_run > 0);
    puts("ok");
    return 0;
}
