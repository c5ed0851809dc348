// The C++ header: typed columns, exceptions, and no leak.
#include "formic.hpp"

#include "check.h"

struct Position {
    float x, y;
};
struct Velocity {
    float x, y;
};
// It has its memory, and is moved as bytes.
struct Names {
    std::vector<std::string *> names;
    static int alive;
    Names() { alive++; }
    Names(Names &&other) noexcept : names(std::move(other.names)) { alive++; }
    ~Names() {
        for (auto *name : names) delete name;
        alive--;
    }
};
int Names::alive = 0;

static void stroll(void *speed, std::uint64_t, const fm_run *runs, std::size_t len) {
    for (std::size_t r = 0; r < len; r++) {
        auto *place = static_cast<Position *>(runs[r].columns[0]);
        for (std::size_t i = 0; i < runs[r].rows; i++) place[i].y += *static_cast<const float *>(speed);
    }
}

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

    // Values with destructors.
    auto names = world.component<Names>("Names");
    for (std::size_t i = 1; i < 4; i++) {
        Names value;
        value.names.push_back(new std::string("somewhat longer than what fits a small string"));
        world.insert(entities[i], names, std::move(value));
    }
    CHECK(Names::alive == 3);
    try {
        world.insert(entities[0], names, Names());
        CHECK(false);
    } catch (const formic::Error &error) {
        CHECK(error.status() == FM_NO_ENTITY);
    }
    try {
        auto lease = movers.lease();
        world.insert(entities[1], names, Names());
        CHECK(false);
    } catch (const formic::Error &error) {
        CHECK(error.status() == FM_LEASED);
    }
    CHECK(Names::alive == 3);
    world.insert(entities[1], names, Names());
    CHECK(Names::alive == 3);
    for (std::size_t i = 1; i < 4; i++) world.despawn(entities[i]);
    CHECK(Names::alive == 0);

    // A schedule, saved and loaded.
    float speed = 2;
    const fm_term terms[] = {formic::write(position)};
    auto pool = formic::make_pool(1);
    auto schedule = world.schedule({{"stroll", terms, 1, stroll, &speed, 1}});
    schedule.run(pool);
    CHECK(world.get(entities[10], position).y == 2);
    const auto save = schedule.save(), snapshot = world.snapshot();
    schedule.run(pool);
    const auto hash = world.state_hash();
    schedule.load(save);
    CHECK(world.get(entities[10], position).y == 2);
    schedule.run(pool);
    CHECK(world.state_hash() == hash);
    world.restore(snapshot);
    CHECK(world.get(entities[10], position).y == 2);
    puts("ok");
    return 0;
}
