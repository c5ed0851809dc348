// The C++ header: typed columns, exceptions, and no leak.
#include "formic.hpp"

#include "check.h"

struct Position {
    float x, y;
};
struct Velocity {
    float x, y;
};

int main() {
    formic::World world;
    auto position = world.component<Position>("Position", 0, {{"x", FM_F32, 0}, {"y", FM_F32, 4}});
    auto velocity = world.component<Velocity>("Velocity");
    std::vector<Position> places(1000);
    for (std::size_t i = 0; i < places.size(); i++) places[i] = {static_cast<float>(i), 0};
    auto entities = world.spawn(position, places);
    Velocity east = {1, 0};
    for (auto entity : entities) {
        OK(fm_insert(world.handle(), &entity, 1, velocity.number, reinterpret_cast<std::uint8_t *>(&east)));
    }
    auto movers = world.query({formic::write(position), formic::read(velocity)});
    {
        auto lease = movers.lease();
        lease.each<Position, const Velocity>(
            [](std::size_t rows, const fm_entity *, Position *place, const Velocity *speed) {
                for (std::size_t i = 0; i < rows; i++) place[i].x += speed[i].x;
            });
        CHECK(lease.rows() == 1000);
        try {
            world.despawn(entities[0]);
            CHECK(false);
        } catch (const formic::Error &error) {
            CHECK(error.status() == FM_LEASED && std::string(error.what()).find("lease") != std::string::npos);
        }
    }
    CHECK(world.get(entities[10], position).x == 11);
    world.set(entities[10], position, {0, 0});
    CHECK(world.get(entities[10], position).x == 0);
    world.despawn(entities[0]);
    puts("ok");
    return 0;
}
