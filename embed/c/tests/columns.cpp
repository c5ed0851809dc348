// The C++ header: typed columns, exceptions, and no leak.
#include "formic.hpp"

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

struct Position {
    float x, y;
};
struct Velocity {
    float x, y;
};
struct Tag {};
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

static void fail_in_system(void *, std::uint64_t, const fm_run *, std::size_t) { throw std::runtime_error("a system"); }
static void fail_in_drop(void *, void *) { throw std::runtime_error("a drop function"); }
static void fail_in_log(void *, std::uint32_t, const char *) { throw std::runtime_error("the log"); }

// The program ends in f: an exception that leaves a function of the host goes through nothing of the library.
template <class F> static void ends(F f) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        std::fclose(stderr);
        try {
            f();
        } catch (...) {
            _exit(2);
        }
        _exit(3);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void test_exceptions_end_the_program() {
    formic::World world;
    ends([&] {
        auto pool = formic::make_pool(0);
        auto schedule = world.schedule({{"fail", nullptr, 0, fail_in_system, nullptr, 1}});
        schedule.run(pool);
    });
    ends([&] {
        const fm_component_desc desc = {"Fails", 1, 1, 0, nullptr, 0, fail_in_drop, nullptr};
        fm_component fails = 0;
        OK(fm_component_register(world.handle(), &desc, &fails));
        const std::uint8_t value[1] = {0}, *column = value;
        fm_entity entity = 0;
        OK(fm_spawn(world.handle(), &fails, 1, &column, 1, &entity));
        fm_despawn(world.handle(), &entity, 1);
    });
    ends([] {
        OK(fm_log_to(fail_in_log, nullptr));
        fm_world_check(0);
    });
}

int main() {
    test_exceptions_end_the_program();
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
    // A type without members is a tag.
    auto tag = world.component<Tag>("Tag");
    world.insert(entities[10], tag, Tag{});
    world.set(entities[10], tag, Tag{});
    world.get(entities[10], tag);

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
