/* One thread frees worlds while others lease their columns: either the lease comes first and the
 * world cannot be freed, or the world is gone and the lease is refused. */
#include <pthread.h>
#include <stdatomic.h>

#include "check.h"

enum { ROUNDS = 300, ROWS = 200, THREADS = 3 };

static _Atomic fm_world shared_world;
static _Atomic fm_query shared_query;
static atomic_int rounds_done;

static void *lease(void *unused) {
    (void)unused;
    while (atomic_load(&rounds_done) < ROUNDS) {
        fm_world world = atomic_load(&shared_world);
        fm_lease lease;
        const fm_run *runs;
        size_t runs_len;
        fm_status status = fm_query_lease(world, atomic_load(&shared_query), 0, &lease, &runs, &runs_len);
        if (status != FM_OK) {
            CHECK(status == FM_BAD_HANDLE || status == FM_LEASED);
            continue;
        }
        for (size_t r = 0; r < runs_len; r++) {
            uint32_t *numbers = runs[r].columns[0];
            for (size_t i = 0; i < runs[r].rows; i++) numbers[i]++;
        }
        OK(fm_lease_release(world, lease));
    }
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, lease, NULL) == 0);
    static uint32_t values[ROWS];
    static fm_entity entities[ROWS];
    for (int round = 0; round < ROUNDS; round++) {
        fm_world world;
        fm_query query;
        fm_component number;
        OK(fm_world_new(&world));
        fm_component_desc desc = {"Number", 4, 4, 0, NULL, 0, NULL, NULL};
        OK(fm_component_register(world, &desc, &number));
        const uint8_t *columns[] = {(const uint8_t *)values};
        OK(fm_spawn(world, &number, 1, columns, ROWS, entities));
        fm_term terms[] = {{number, FM_WRITE}};
        OK(fm_query_new(world, terms, 1, &query));
        atomic_store(&shared_query, query);
        atomic_store(&shared_world, world);
        fm_status status;
        while ((status = fm_world_free(world)) == FM_LEASED) {
        }
        CHECK(status == FM_OK);
        atomic_store(&rounds_done, round + 1);
    }
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    puts("ok");
    return 0;
}
