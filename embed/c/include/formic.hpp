// Formic for C++17: worlds, queries and leases that free themselves, and typed columns. Errors are
// exceptions. All else is formic.h, which this includes.
#ifndef FORMIC_HPP
#define FORMIC_HPP

#include <cstddef>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "formic.h"

namespace formic {

// A call that failed, with its status and its text.
class Error : public std::runtime_error {
  public:
    Error(fm_status status, const char *text) : std::runtime_error(text), status_(status) {}
    fm_status status() const noexcept { return status_; }

  private:
    fm_status status_;
};

inline void check(fm_status status) {
    if (status != FM_OK) throw Error(status, fm_error_text());
}

// The number of a component with values of type T: those that are trivially copyable are plain bytes, with
// what lies between their members; others are moved in and destroyed by the world.
template <class T> struct Component {
    static_assert(std::is_nothrow_destructible<T>::value, "the world destroys values");
    fm_component number;
};

// The size of a value: a type without members is a tag.
template <class T> constexpr std::size_t size_of() { return std::is_empty<T>::value ? 0 : sizeof(T); }

// A handle of the library that is freed at the end.
template <fm_status (*Free)(std::uint64_t)> class Handle {
  public:
    explicit Handle(std::uint64_t handle) noexcept : handle_(handle) {}
    Handle(Handle &&other) noexcept : handle_(std::exchange(other.handle_, 0)) {}
    Handle &operator=(Handle &&) = delete;
    ~Handle() {
        if (handle_ != 0) Free(handle_);
    }
    std::uint64_t handle() const noexcept { return handle_; }

  private:
    std::uint64_t handle_;
};

using Pool = Handle<fm_pool_free>;

inline Pool make_pool(std::size_t threads) {
    fm_pool pool = 0;
    check(fm_pool_new(threads, &pool));
    return Pool(pool);
}

// Bytes of a snapshot or of a save.
class Blob : public Handle<fm_blob_free> {
  public:
    explicit Blob(fm_blob blob) : Handle(blob) { check(fm_blob_bytes(blob, &data_, &size_)); }
    const std::uint8_t *data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }

  private:
    const std::uint8_t *data_ = nullptr;
    std::size_t size_ = 0;
};

// Systems in an order, or a mind, or agents that walk.
class Schedule : public Handle<fm_schedule_free> {
  public:
    using Handle::Handle;
    void run(const Pool &pool) { check(fm_schedule_run(handle(), pool.handle())); }
    Blob save() const {
        fm_blob blob = 0;
        check(fm_save(handle(), &blob));
        return Blob(blob);
    }
    void load(const Blob &blob) { check(fm_load(handle(), blob.data(), blob.size())); }
};

class World;

// The columns of all rows that match, until it goes out of scope.
class Lease {
  public:
    Lease(Lease &&other) noexcept
        : world_(other.world_), lease_(std::exchange(other.lease_, 0)), runs_(other.runs_), len_(other.len_) {}
    Lease &operator=(Lease &&) = delete;
    ~Lease() {
        if (lease_ != 0) fm_lease_release(world_, lease_);
    }

    std::size_t rows() const noexcept {
        std::size_t rows = 0;
        for (std::size_t r = 0; r < len_; r++) rows += runs_[r].rows;
        return rows;
    }

    // Calls f(rows, entities, column...) for each run: a `const T *` for a column that is read, a
    // `T *` for one that is written, in the order of the terms.
    template <class... Columns, class F> void each(F f) const {
        for (std::size_t r = 0; r < len_; r++) call<Columns...>(f, runs_[r], std::index_sequence_for<Columns...>());
    }

  private:
    friend class Query;
    Lease(fm_world world, fm_query query, std::uint64_t since) : world_(world), lease_(0), runs_(nullptr), len_(0) {
        check(fm_query_lease(world, query, since, &lease_, &runs_, &len_));
    }

    template <class... Columns, class F, std::size_t... Place>
    static void call(F &f, const fm_run &run, std::index_sequence<Place...>) {
        f(run.rows, run.entities, static_cast<Columns *>(run.columns[Place])...);
    }

    fm_world world_;
    fm_lease lease_;
    const fm_run *runs_;
    std::size_t len_;
};

class Query {
  public:
    Query(Query &&other) noexcept : world_(other.world_), query_(std::exchange(other.query_, 0)) {}
    Query &operator=(Query &&) = delete;
    ~Query() {
        if (query_ != 0) fm_query_free(world_, query_);
    }

    Lease lease(std::uint64_t since = 0) const { return Lease(world_, query_, since); }

  private:
    friend class World;
    Query(fm_world world, const std::vector<fm_term> &terms) : world_(world), query_(0) {
        check(fm_query_new(world, terms.data(), terms.size(), &query_));
    }

    fm_world world_;
    fm_query query_;
};

// A world. It has to outlive its queries and leases.
class World {
  public:
    World() : world_(0) { check(fm_world_new(&world_)); }
    World(World &&other) noexcept : world_(std::exchange(other.world_, 0)) {}
    World &operator=(World &&) = delete;
    ~World() {
        if (world_ != 0) fm_world_free(world_);
    }

    fm_world handle() const noexcept { return world_; }

    template <class T>
    Component<T> component(const char *name, std::uint32_t flags = 0, const std::vector<fm_field> &fields = {}) {
        fm_drop destroy = nullptr;
        if (!std::is_trivially_copyable<T>::value) destroy = [](void *, void *value) { static_cast<T *>(value)->~T(); };
        const fm_component_desc desc = {name, size_of<T>(), alignof(T), flags, fields.data(), fields.size(), destroy, nullptr};
        Component<T> component{};
        check(fm_component_register(world_, &desc, &component.number));
        return component;
    }

    // Spawns an entity for each value.
    template <class T> std::vector<fm_entity> spawn(Component<T> component, const std::vector<T> &values) {
        static_assert(std::is_trivially_copyable<T>::value, "insert values of other types one by one");
        std::vector<fm_entity> entities(values.size());
        const std::uint8_t *column = reinterpret_cast<const std::uint8_t *>(values.data());
        check(fm_spawn(world_, &component.number, 1, &column, values.size(), entities.data()));
        return entities;
    }

    // Gives an entity a component, or replaces its value. What T holds has to bear being moved as bytes,
    // without its move constructor: pointers to other places do, pointers into the value itself do not.
    template <class T> void insert(fm_entity entity, Component<T> component, T value) {
        union Room {
            T value;
            explicit Room(T &&from) : value(std::move(from)) {}
            ~Room() {}
        } room(std::move(value));
        const fm_status status =
            fm_insert(world_, &entity, 1, component.number, reinterpret_cast<const std::uint8_t *>(&room.value));
        // Where the entity is gone the world has destroyed it; after a panic it may have it.
        if (status != FM_OK && status != FM_NO_ENTITY && status != FM_PANIC) room.value.~T();
        check(status);
    }

    Blob snapshot() const {
        fm_blob blob = 0;
        check(fm_snapshot(world_, &blob));
        return Blob(blob);
    }

    void restore(const Blob &blob) { check(fm_restore(world_, blob.data(), blob.size())); }

    // It refers to the world, which has to outlive it; what the functions are given as well.
    Schedule schedule(const std::vector<fm_system> &systems) {
        fm_schedule schedule = 0;
        check(fm_schedule_new(world_, systems.data(), systems.size(), &schedule));
        return Schedule(schedule);
    }

    template <class T> T get(fm_entity entity, Component<T> component) const {
        static_assert(std::is_trivially_copyable<T>::value, "the value is the world's");
        T value{};
        check(fm_get(world_, entity, component.number, reinterpret_cast<std::uint8_t *>(&value), size_of<T>()));
        return value;
    }

    template <class T> void set(fm_entity entity, Component<T> component, const T &value) {
        static_assert(std::is_trivially_copyable<T>::value, "insert values of other types");
        check(fm_set(world_, entity, component.number, reinterpret_cast<const std::uint8_t *>(&value), size_of<T>()));
    }

    void despawn(fm_entity entity) { check(fm_despawn(world_, &entity, 1)); }

    Query query(const std::vector<fm_term> &terms) const { return Query(world_, terms); }

    std::uint64_t version() const {
        std::uint64_t version = 0;
        check(fm_world_version(world_, &version));
        return version;
    }

    std::uint64_t state_hash() const {
        std::uint64_t hash = 0;
        std::size_t uncovered = 0;
        check(fm_state_hash(world_, &hash, &uncovered));
        return hash;
    }

  private:
    fm_world world_;
};

template <class T> fm_term read(Component<T> component) { return {component.number, FM_READ}; }
template <class T> fm_term write(Component<T> component) { return {component.number, FM_WRITE}; }
template <class T> fm_term with(Component<T> component) { return {component.number, FM_WITH}; }
template <class T> fm_term without(Component<T> component) { return {component.number, FM_WITHOUT}; }
template <class T> fm_term changed(Component<T> component) { return {component.number, FM_CHANGED}; }

} // namespace formic

#endif
