/* A crowd in C: ten thousand agents walk, turn at the border, and the tired ones rest.
 *
 * From embed/: cargo build --release -p formic-c && ln -s libformic.so target/release/libformic.so.2
 * gcc -O2 -I c/include c/examples/crowd.c -o crowd -L target/release -lformic -Wl,-rpath,target/release
 */
#include <stdio.h>
#include <stdlib.h>

#include "formic.h"

typedef struct {
    float x, y;
} Vec2;

enum { AGENTS = 10000, TICKS = 100, SIZE = 512 };

static void ok(fm_status status) {
    if (status == FM_OK) return;
    fprintf(stderr, "%s\n", fm_error_text());
    exit(1);
}

static fm_component component(fm_world world, const char *name, size_t size, size_t align, uint32_t flags) {
    const fm_field fields[] = {{"x", FM_F32, 0}, {"y", FM_F32, 4}};
    const fm_component_desc desc = {name, size, align, flags, fields, size == sizeof(Vec2) ? 2 : 0, NULL, NULL};
    fm_component number;
    ok(fm_component_register(world, &desc, &number));
    return number;
}

int main(void) {
    fm_world world;
    ok(fm_world_new(&world));
    fm_component components[] = {component(world, "Position", sizeof(Vec2), _Alignof(Vec2), 0),
                                 component(world, "Velocity", sizeof(Vec2), _Alignof(Vec2), 0),
                                 component(world, "Awake", 0, 1, FM_ENABLEABLE)};
    static Vec2 positions[AGENTS], velocities[AGENTS];
    static fm_entity agents[AGENTS];
    for (int i = 0; i < AGENTS; i++) {
        positions[i] = (Vec2){(float)(i % SIZE), (float)(i / SIZE)};
        velocities[i] = (Vec2){(float)(i % 7) - 3, (float)(i % 5) - 2};
    }
    const uint8_t *values[] = {(const uint8_t *)positions, (const uint8_t *)velocities, NULL};
    ok(fm_spawn(world, components, 3, values, AGENTS, agents));

    const fm_term terms[] = {{components[0], FM_WRITE}, {components[1], FM_WRITE}, {components[2], FM_WITH}};
    fm_query walkers;
    ok(fm_query_new(world, terms, 3, &walkers));
    size_t walked = 0;
    for (int tick = 0; tick < TICKS; tick++) {
        /* A tenth of them rests in each tick. */
        ok(fm_set_enabled(world, agents, AGENTS, components[2], true));
        ok(fm_set_enabled(world, agents + tick % 10 * (AGENTS / 10), AGENTS / 10, components[2], false));
        fm_lease lease;
        const fm_run *runs;
        size_t runs_len;
        ok(fm_query_lease(world, walkers, 0, &lease, &runs, &runs_len));
        for (size_t r = 0; r < runs_len; r++) {
            Vec2 *position = runs[r].columns[0], *velocity = runs[r].columns[1];
            for (size_t i = 0; i < runs[r].rows; i++) {
                position[i].x += velocity[i].x;
                position[i].y += velocity[i].y;
                if (position[i].x < 0 || position[i].x > SIZE) velocity[i].x = -velocity[i].x;
                if (position[i].y < 0 || position[i].y > SIZE) velocity[i].y = -velocity[i].y;
            }
            walked += runs[r].rows;
        }
        ok(fm_lease_release(world, lease));
    }
    uint64_t hash;
    size_t uncovered, len;
    ok(fm_state_hash(world, &hash, &uncovered));
    char text[128];
    ok(fm_entity_describe(world, agents[42], text, sizeof text, &len));
    printf("%d agents, %d ticks, %zu steps; state %016llx\n%s\n", AGENTS, TICKS, walked,
           (unsigned long long)hash, text);
    ok(fm_world_free(world));
    return 0;
}
