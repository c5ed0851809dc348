"""Worlds: every call, and what it says to bad input."""

import doctest

import formic
import numpy as np
import pytest

VECTOR = np.dtype([("x", "f4"), ("y", "f4")])


@pytest.fixture
def world():
    world = formic.World()
    world.register("Position", VECTOR)
    world.register("Hunger", "f8", enableable=True)
    world.register("Color", ("u1", (3,)), tracked=True)
    world.register("Ant")
    world.register("Cell", [("x", "i2"), ("y", "i2")])
    world.register("Name", "S4")
    world.register("Nested", [("c", [("x", "i2")]), ("n", "i4", (2,))])
    return world


def test_the_examples_of_the_module():
    assert doctest.testmod(formic).failed == 0


def test_values_come_back_as_they_were_given(world):
    ants = world.spawn(3, Position=[(1, 2), (3, 4), (5, 6)], Color=[[1, 2, 3]] * 3, Ant=())
    assert len(world) == 3 and ants.dtype == np.uint64 and ants[0] in world
    assert world.get(ants[1], "Position") == np.array((3, 4), VECTOR)
    assert world.get(ants[2], "Color").tolist() == [1, 2, 3]
    world.set(ants[1], "Position", (7, 8))
    assert world.get(ants[1], "Position")["y"] == 8
    world.insert(ants[:2], "Hunger", [0.5, 0.25])
    assert world.get(ants[1], "Hunger") == 0.25 and not world.has(ants[2], "Hunger")
    world.set_enabled(ants[:1], "Hunger", False)
    assert not world.is_enabled(ants[0], "Hunger")
    assert world.query("Hunger").entities().tolist() == [ants[1]]
    assert world.query(disabled=["Hunger"]).entities().tolist() == [ants[0]]
    world.remove(ants[:2], "Hunger")
    assert len(world.query("Hunger")) == 0
    world.despawn(ants)
    assert len(world) == 0 and ants[0] not in world
    world.check()


def test_numbers_that_fit_may_be_of_other_types(world):
    ants = world.spawn(3, Cell=(1.0, 2.0), Name=b"ant", Color=[1.0, 2.0, 3.0])
    world.insert(ants[1:], "Cell", np.array([(3, 4), (5, 6)], VECTOR))
    world.insert(ants[2:], "Cell", [(np.int64(7), True)])
    assert [world.get(it, "Cell").tolist() for it in ants] == [(1, 2), (3, 4), (7, 1)]
    assert world.get(int(ants[0]), "Name") == b"ant"


def test_fields_may_have_fields_and_arrays(world):
    world.register("Part", [("n", "i4"), ("v", "f4", (2,)), ("sub", [("z", "i2")])])
    ants = world.spawn(2, Part=(3, [0.5, 1], (7,)))
    world.insert(ants[1:], "Part", [(4, (2, 3), (8,))])
    assert [world.get(it, "Part")["v"].tolist() for it in ants] == [[0.5, 1], [2, 3]]
    assert [world.get(it, "Part")["sub"]["z"] for it in ants] == [7, 8]


def test_what_lies_between_fields_is_in_no_hash():
    dtype = np.dtype([("on", "u1"), ("parts", np.dtype([("x", "f8"), ("n", "u1")], align=True), (2,)), ("n", "u2")], align=True)

    def values(junk):
        values = np.frombuffer(bytearray([junk]) * dtype.itemsize * 9, dtype)
        values["on"], values["parts"]["x"], values["parts"]["n"], values["n"] = 1, 2, 3, 4
        return values

    hashes = set()
    for junk in range(3):
        world = formic.World()
        world.register("Padded", dtype)
        ants = world.spawn(9, Padded=values(junk))
        hashes.add(world.state_hash())
        world.insert(ants[:2], "Padded", values(junk)[:2])
        world.set(ants[2], "Padded", values(junk)[0])
        hashes.add(world.state_hash())
        with world.query("mut Padded").columns() as runs:
            ((padded,),) = runs
            padded[:] = values(junk)
        hashes.add(world.state_hash())
        assert world.get(ants[8], "Padded") == values(0)[8]
    assert len(hashes) == 1


def test_a_tag_has_an_empty_value(world):
    ant = world.spawn(1, Ant=())[0]
    world.set(ant, "Ant", ())
    assert world.get(ant, "Ant").dtype == np.dtype([])
    world.remove(ant, "Ant")
    with pytest.raises(formic.NoSuchComponentError):
        world.get(ant, "Ant")


def test_a_value_of_one_stands_for_all(world):
    world.spawn(1000, Position=(1, 2), Hunger=0.5)
    with world.query("Position", "Hunger").columns() as runs:
        for position, hunger in runs:
            assert (position["x"] == 1).all() and (hunger == 0.5).all()


def test_children_go_with_their_parent(world):
    nest, ant = world.spawn(2)
    world.set_parent(ant, nest)
    assert world.parent(ant) == nest and world.children(nest).tolist() == [ant]
    world.despawn(nest)
    assert len(world) == 0
    with pytest.raises(formic.NoSuchEntityError):
        world.children(nest)


def test_a_snapshot_brings_everything_back(world):
    ants = world.spawn(5000, Position=np.zeros(5000, VECTOR), Hunger=np.arange(5000.0))
    before, hash_before = world.snapshot(), world.state_hash()
    world.despawn(ants[::2])
    assert world.state_hash() != hash_before
    world.restore(before)
    assert world.state_hash() == hash_before and len(world) == 5000
    world.check()


def test_children_come_back_in_a_world_that_had_none(world):
    ants = world.spawn(2)
    world.set_parent(ants[0], ants[1])
    other = formic.World()
    other.restore(world.snapshot())
    assert other.children(ants[1]).tolist() == [ants[0]] and other.state_hash() == world.state_hash()
    other.check()


def test_bytes_that_are_no_snapshot_change_nothing(world):
    world.spawn(10, Hunger=1.0)
    good, hash_before = world.snapshot(), world.state_hash()
    for bad in [b"", b"formic", good[:-1], good + b"x", bytes([good[0] ^ 1]) + good[1:]]:
        with pytest.raises(formic.BadDataError):
            world.restore(bad)
    with pytest.raises(formic.BadDataError, match="register it first$"):
        formic.World().restore(world.snapshot())
    assert world.state_hash() == hash_before


def test_a_query_finds_what_changed_since_a_version(world):
    ants = world.spawn(4, Color=(0, 0, 0))
    version = world.version()
    assert len(world.query(changed=["Color"], since=version)) == 0
    world.set(ants[2], "Color", (1, 1, 1))
    assert world.query(changed=["Color"], since=version).entities().tolist() == [ants[2]]
    later = world.version()
    new = world.spawn(2, Color=(9, 9, 9))
    assert world.query(added=["Color"], since=later).entities().tolist() == new.tolist()


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (formic.NoSuchComponentError, lambda w, a: w.spawn(1, Speed=1)),
        (formic.NoSuchComponentError, lambda w, a: w.query("Speed")),
        (formic.NoSuchComponentError, lambda w, a: w.query(with_=["Speed"]).entities()),
        (formic.NoSuchComponentError, lambda w, a: w.get(a[0], "Hunger")),
        (formic.NoSuchComponentError, lambda w, a: w.remove(a, "Hunger")),
        (formic.NoSuchEntityError, lambda w, a: w.despawn([a[0], 0])),
        (formic.NoSuchEntityError, lambda w, a: w.insert([a[0], 2**63], "Hunger", 1)),
        (formic.NoSuchEntityError, lambda w, a: w.get(2**63, "Position")),
        (formic.NoSuchEntityError, lambda w, a: w.set_parent(a[0], 2**33)),
        (formic.FormicError, lambda w, a: w.register("Position", "f8")),
        (formic.FormicError, lambda w, a: w.set_parent(a[0], a[0])),
        (formic.FormicError, lambda w, a: w.set_enabled(a, "Position", False)),
        (formic.FormicError, lambda w, a: w.query("mut Position", "Position").entities()),
        (TypeError, lambda w, a: w.register("Any", "O")),
        (TypeError, lambda w, a: w.register("Any", [("first", "O")])),
        (TypeError, lambda w, a: w.get(float(a[0]), "Position")),
        (TypeError, lambda w, a: w.set(str(a[0]), "Position", (3, 4))),
        (TypeError, lambda w, a: w.has(None, "Position")),
        (TypeError, lambda w, a: w.set_parent(a[0], float(a[1]))),
        (TypeError, lambda w, a: w.children(float(a[0]))),
        (TypeError, lambda w, a: 1.5 in w),
        (TypeError, lambda w, a: w.spawn(2.0)),
        (TypeError, lambda w, a: w.restore("a text")),
        (TypeError, lambda w, a: w.query("Ant")),
        (TypeError, lambda w, a: w.query(without="Hunger")),
        (TypeError, lambda w, a: w.despawn([0.5])),
        (TypeError, lambda w, a: w.despawn([[1, 2]])),
        (ValueError, lambda w, a: w.spawn(3, Position=[(1, 2), (3, 4)])),
        (ValueError, lambda w, a: w.insert(a, "Hunger", [1, 2, 3])),
        (ValueError, lambda w, a: w.spawn(2, Hunger=["five", "six"])),
        (ValueError, lambda w, a: w.spawn(2, Color=(1.5, 2, 3))),
        (ValueError, lambda w, a: w.insert(a, "Color", np.array([300, 2, 3]))),
        (ValueError, lambda w, a: w.insert(a, "Cell", (1.5, 2))),
        (ValueError, lambda w, a: w.insert(a, "Cell", [(1, 2), (3, 4.5)])),
        (ValueError, lambda w, a: w.insert(a, "Cell", np.array([(1.5, 2), (3, 4)], VECTOR))),
        (ValueError, lambda w, a: w.insert(a, "Cell", np.array([1.5, 2]))),
        (ValueError, lambda w, a: w.insert(a, "Nested", ((1.5,), (1, 2)))),
        (ValueError, lambda w, a: w.insert(a, "Nested", np.array(((1,), (1, 2.5)), [("c", [("x", "f4")]), ("n", "f4", 2)]))),
        (ValueError, lambda w, a: w.insert(a, "Name", b"a long name")),
        (ValueError, lambda w, a: w.insert(a, "Cell", np.array((1, 2), [("y", "i2"), ("x", "i2")]))),
        (ValueError, lambda w, a: w.register("mut Cell", "f4")),
        (OverflowError, lambda w, a: w.insert(a, "Cell", (1, 70_000))),
        (OverflowError, lambda w, a: w.spawn(-1)),
        (formic.FormicError, lambda w, a: w.spawn(10**9, Position=(0, 0))),
        (formic.FormicError, lambda w, a: w.spawn(2**70)),
        (OverflowError, lambda w, a: w.get(-1, "Position")),
    ],
)
def test_bad_input_is_one_clear_error_and_changes_nothing(world, error, call):
    ants = world.spawn(2, Position=(1, 2))
    before = world.state_hash()
    with pytest.raises(error) as raised:
        call(world, ants)
    assert str(raised.value)
    assert world.state_hash() == before and len(world) == 2
    world.check()
