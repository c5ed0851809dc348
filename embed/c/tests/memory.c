/* All memory of the library comes from the host, and goes back with the size that it had. */
#include <stdatomic.h>
#include <stdalign.h>

#include "check.h"

static atomic_size_t live, calls;

static void *allocate(void *user, size_t size, size_t align) {
    CHECK(user == &live && size > 0 && (align & (align - 1)) == 0);
    if (align < alignof(max_align_t)) align = alignof(max_align_t);
    char *block = aligned_alloc(align, align + (size + align - 1) / align * align);
    if (!block) return NULL;
    memcpy(block + align - sizeof size, &size, sizeof size);
    atomic_fetch_add(&live, size);
    atomic_fetch_add(&calls, 1);
    return block + align;
}

static void give_back(void *user, void *block, size_t size, size_t align) {
    CHECK(user == &live);
    if (align < alignof(max_align_t)) align = alignof(max_align_t);
    size_t had;
    memcpy(&had, (char *)block - sizeof had, sizeof had);
    CHECK(had == size);
    atomic_fetch_sub(&live, size);
    free((char *)block - align);
}

static void use(void) {
    fm_world world;
    fm_pool pool;
    OK(fm_world_new(&world));
    OK(fm_pool_new(2, &pool));
    fm_component_desc desc = {"Number", 4, 4, 0, NULL, 0, NULL, NULL};
    fm_component number;
    OK(fm_component_register(world, &desc, &number));
    static uint32_t values[50000];
    static fm_entity entities[50000];
    const uint8_t *columns[] = {(const uint8_t *)values};
    OK(fm_spawn(world, &number, 1, columns, 50000, entities));
    fm_stats stats;
    OK(fm_world_stats(world, &stats));
    CHECK(atomic_load(&live) >= stats.total_bytes);
    OK(fm_pool_free(pool));
    OK(fm_world_free(world));
}

int main(void) {
    fm_allocator all = {allocate, give_back, &live}, none = {allocate, NULL, &live};
    OK(fm_memory_from(&all));
    CHECK(fm_memory_from(&all) == FM_BUSY);
    CHECK(fm_memory_from(&none) == FM_NULL);
    CHECK(fm_memory_from(NULL) == FM_NULL);
    use();
    size_t once = atomic_load(&live);
    use();
    CHECK(atomic_load(&calls) > 10 && atomic_load(&live) <= once + 4096); /* nothing stays behind */
    puts("ok");
    return 0;
}
