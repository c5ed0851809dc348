/* What a caller may do wrong: each is an error with a text, and the world goes on. */
#include "check.h"

#define FAILS(status, call)                                   \
    do {                                                      \
        CHECK((call) == (status));                            \
        CHECK(strlen(fm_error_text()) > 0);                   \
    } while (0)

int main(void) {
    fm_world world, gone;
    OK(fm_world_new(&world));
    OK(fm_world_new(&gone));
    OK(fm_world_free(gone));
    FAILS(FM_BAD_HANDLE, fm_world_free(gone));
    FAILS(FM_BAD_HANDLE, fm_world_check(gone));
    FAILS(FM_BAD_HANDLE, fm_world_check(0));
    FAILS(FM_BAD_HANDLE, fm_world_check(~0ull));
    FAILS(FM_NULL, fm_world_new(NULL));

    fm_component number, empty;
    fm_component_desc desc = {"Number", 4, 4, 0, NULL, 0, NULL, NULL};
    OK(fm_component_register(world, &desc, &number));
    FAILS(FM_BAD_ARGUMENT, fm_component_register(world, &desc, &empty)); /* the name is taken */
    fm_component_desc odd = {"Odd", 4, 3, 0, NULL, 0, NULL, NULL}, unpadded = {"Unpadded", 6, 4, 0, NULL, 0, NULL, NULL},
                      flags = {"Flags", 4, 4, 64, NULL, 0, NULL, NULL}, nameless = {NULL, 4, 4, 0, NULL, 0, NULL, NULL},
                      foreign = {"\xff", 4, 4, 0, NULL, 0, NULL, NULL}, huge = {"Huge", (size_t)-64, 4, 0, NULL, 0, NULL, NULL},
                      short_of_fields = {"Fields", 4, 4, 0, NULL, 2, NULL, NULL};
    FAILS(FM_BAD_ARGUMENT, fm_component_register(world, &odd, &empty));
    CHECK(strstr(fm_error_text(), "power of two") != NULL);
    FAILS(FM_BAD_ARGUMENT, fm_component_register(world, &unpadded, &empty));
    FAILS(FM_BAD_ARGUMENT, fm_component_register(world, &flags, &empty));
    FAILS(FM_NULL, fm_component_register(world, &nameless, &empty));
    FAILS(FM_BAD_ARGUMENT, fm_component_register(world, &foreign, &empty));
    FAILS(FM_BAD_ARGUMENT, fm_component_register(world, &huge, &empty));
    FAILS(FM_NULL, fm_component_register(world, &short_of_fields, &empty));
    fm_field outside[] = {{"outside", FM_U64, 0}}, typeless[] = {{"typeless", 99, 0}};
    fm_component_desc fields = {"Fields", 4, 4, 0, outside, 1, NULL, NULL};
    FAILS(FM_BAD_ARGUMENT, fm_component_register(world, &fields, &empty));
    fields.fields = typeless;
    FAILS(FM_BAD_ARGUMENT, fm_component_register(world, &fields, &empty));
    FAILS(FM_NO_COMPONENT, fm_component_find(world, "Fields", &empty));
    fm_component_desc tag = {"Tag", 0, 1, 0, NULL, 0, NULL, NULL};
    OK(fm_component_register(world, &tag, &empty));

    uint32_t values[3] = {1, 2, 3};
    const uint8_t *columns[2] = {(const uint8_t *)values, NULL};
    fm_component both[2] = {number, empty}, twice[2] = {number, number}, unknown[1] = {1000};
    fm_entity entities[3] = {0};
    OK(fm_spawn(world, both, 2, columns, 3, entities));
    OK(fm_spawn(world, NULL, 0, NULL, 0, NULL));
    columns[1] = (const uint8_t *)values;
    FAILS(FM_BAD_ARGUMENT, fm_spawn(world, twice, 2, columns, 3, entities));
    FAILS(FM_NO_COMPONENT, fm_spawn(world, unknown, 1, columns, 3, entities));
    columns[0] = NULL;
    FAILS(FM_NULL, fm_spawn(world, both, 2, columns, 3, entities));

    uint32_t value = 9;
    FAILS(FM_BAD_ARGUMENT, fm_get(world, entities[0], number, (uint8_t *)&value, 3));
    FAILS(FM_BAD_ARGUMENT, fm_set(world, entities[0], number, (uint8_t *)&value, 8));
    FAILS(FM_NO_ENTITY, fm_get(world, 0, number, (uint8_t *)&value, 4));
    FAILS(FM_NO_ENTITY, fm_get(world, 1ull << 40 | 77, number, (uint8_t *)&value, 4));
    FAILS(FM_NO_COMPONENT, fm_get(world, entities[0], 1000, (uint8_t *)&value, 4));
    FAILS(FM_BAD_ARGUMENT, fm_set_enabled(world, entities, 1, number, false));
    FAILS(FM_BAD_ARGUMENT, fm_relate(world, FM_CHILD_OF, entities, entities, 1));

    /* A lease keeps rows where they are. */
    fm_term write[] = {{number, FM_WRITE}}, read[] = {{number, FM_READ}},
            contradiction[] = {{number, FM_WITH}, {number, FM_WITHOUT}}, kindless[] = {{number, 99}};
    fm_query writer, reader, none;
    OK(fm_query_new(world, write, 1, &writer));
    OK(fm_query_new(world, read, 1, &reader));
    FAILS(FM_BAD_ARGUMENT, fm_query_new(world, contradiction, 2, &none));
    FAILS(FM_BAD_ARGUMENT, fm_query_new(world, kindless, 1, &none));
    fm_lease lease, second;
    const fm_run *runs;
    size_t runs_len;
    uint64_t hash;
    size_t uncovered;
    fm_blob blob;
    OK(fm_query_lease(world, reader, 0, &lease, &runs, &runs_len));
    OK(fm_query_lease(world, reader, 0, &second, &runs, &runs_len));
    OK(fm_get(world, entities[0], number, (uint8_t *)&value, 4));
    FAILS(FM_LEASED, fm_set(world, entities[0], number, (uint8_t *)&value, 4));
    FAILS(FM_LEASED, fm_query_lease(world, writer, 0, &second, &runs, &runs_len));
    FAILS(FM_LEASED, fm_despawn(world, entities, 3));
    FAILS(FM_LEASED, fm_insert(world, entities, 3, number, (uint8_t *)values));
    FAILS(FM_LEASED, fm_remove(world, entities, 3, number));
    FAILS(FM_LEASED, fm_world_clear(world));
    FAILS(FM_LEASED, fm_world_free(world));
    OK(fm_state_hash(world, &hash, &uncovered));
    /* Handles of another world, and of another kind. */
    fm_world elsewhere;
    fm_query theirs;
    fm_commands recorded;
    OK(fm_world_new(&elsewhere));
    OK(fm_component_register(elsewhere, &desc, &empty));
    OK(fm_query_new(elsewhere, read, 1, &theirs));
    OK(fm_commands_new(elsewhere, &recorded));
    fm_lease stranger;
    FAILS(FM_BAD_HANDLE, fm_query_lease(world, theirs, 0, &stranger, &runs, &runs_len));
    FAILS(FM_BAD_HANDLE, fm_query_lease(elsewhere, reader, 0, &stranger, &runs, &runs_len));
    FAILS(FM_BAD_HANDLE, fm_query_free(world, theirs));
    FAILS(FM_BAD_HANDLE, fm_lease_release(elsewhere, lease));
    FAILS(FM_BAD_HANDLE, fm_lease_release(world, reader));
    FAILS(FM_BAD_HANDLE, fm_query_free(world, lease));
    FAILS(FM_BAD_HANDLE, fm_commands_free(world, recorded));
    FAILS(FM_BAD_HANDLE, fm_world_check(reader));
    FAILS(FM_BAD_HANDLE, fm_blob_free(world));
    FAILS(FM_BAD_HANDLE, fm_pool_free(world));
    OK(fm_world_free(elsewhere));
    OK(fm_lease_release(world, lease));
    FAILS(FM_BAD_HANDLE, fm_lease_release(world, lease));
    OK(fm_lease_release(world, second));
    OK(fm_query_lease(world, writer, 0, &lease, &runs, &runs_len));
    FAILS(FM_LEASED, fm_get(world, entities[0], number, (uint8_t *)&value, 4));
    FAILS(FM_LEASED, fm_state_hash(world, &hash, &uncovered));
    FAILS(FM_LEASED, fm_snapshot(world, &blob));
    uint64_t version;
    FAILS(FM_LEASED, fm_world_version(world, &version));
    OK(fm_query_free(world, writer)); /* the lease stays */
    FAILS(FM_BAD_HANDLE, fm_query_free(world, writer));
    ((uint32_t *)runs[0].columns[0])[0] = 77;
    OK(fm_lease_release(world, lease));
    OK(fm_get(world, entities[0], number, (uint8_t *)&value, 4));
    CHECK(value == 77);

    /* Bytes that are no snapshot, or were altered. */
    const uint8_t *bytes;
    size_t len;
    OK(fm_snapshot(world, &blob));
    OK(fm_blob_bytes(blob, &bytes, &len));
    uint8_t *copy = malloc(len);
    for (size_t i = 0; i < len; i++) {
        memcpy(copy, bytes, len);
        copy[i] ^= 0x55;
        fm_status status = fm_restore(world, copy, len);
        CHECK(status == FM_BAD_DATA || status == FM_OK);
        OK(fm_world_check(world));
    }
    FAILS(FM_BAD_DATA, fm_restore(world, bytes, len / 2));
    FAILS(FM_NULL, fm_restore(world, NULL, 10));
    fm_world bare;
    OK(fm_world_new(&bare));
    FAILS(FM_BAD_DATA, fm_restore(bare, bytes, len));
    CHECK(strstr(fm_error_text(), "make it first") != NULL);
    OK(fm_world_free(bare));
    OK(fm_restore(world, bytes, len));
    free(copy);
    OK(fm_blob_free(blob));
    FAILS(FM_BAD_HANDLE, fm_blob_free(blob));
    FAILS(FM_BAD_HANDLE, fm_blob_bytes(blob, &bytes, &len));

    fm_commands commands;
    OK(fm_commands_new(world, &commands));
    FAILS(FM_BAD_ARGUMENT, fm_commands_insert(world, commands, entities[0], number, (uint8_t *)values, 12));
    OK(fm_commands_free(world, commands));
    FAILS(FM_BAD_HANDLE, fm_commands_despawn(world, commands, entities[0]));

    fm_terrain terrain;
    FAILS(FM_BAD_DATA, fm_terrain_parse((const uint8_t *)"type octile\nheight 1\n", 21, &terrain));
    const char map[] = "type octile\nheight 1\nwidth 2\nmap\n..\n";
    OK(fm_terrain_parse((const uint8_t *)map, sizeof map - 1, &terrain));
    fm_cell inside = {0, 0}, far = {7, 7}, path[1] = {{0, 0}};
    FAILS(FM_BAD_ARGUMENT, fm_terrain_set(terrain, far, true));
    FAILS(FM_UNREACHABLE, fm_terrain_path(terrain, inside, far, path, 1, &len));
    OK(fm_terrain_free(terrain));
    FAILS(FM_BAD_HANDLE, fm_terrain_reachable(terrain, inside, inside));

    OK(fm_world_free(world));
    puts("ok");
    return 0;
}
