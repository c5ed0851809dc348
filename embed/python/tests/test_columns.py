"""Columns in place: what they write is in the world, and none outlives its memory."""

import gc

import formic
import numpy as np
import pytest

VECTOR = np.dtype([("x", "f4"), ("y", "f4")])


@pytest.fixture
def world():
    world = formic.World()
    world.register("Position", VECTOR)
    world.register("Velocity", VECTOR)
    world.register("Matrix", ("f8", (2, 2)))
    return world


def test_what_is_written_is_in_the_world(world):
    ants = world.spawn(10_000, Position=(0, 0), Velocity=(1, 2))
    for _ in range(3):
        with world.query("mut Position", "Velocity").columns() as runs:
            for position, velocity in runs:
                position["x"] += velocity["x"]
                position["y"] += velocity["y"] * 0.5
    for ant in ants[[0, 1, 4999, 9999]]:
        assert world.get(ant, "Position").tolist() == (3, 3)


def test_a_column_is_used_like_an_array(world):
    world.spawn(4, Matrix=np.arange(16.0).reshape(4, 2, 2))
    with world.query("mut Matrix").columns() as runs:
        ((matrix,),) = runs
        assert matrix.shape == (4, 2, 2) and len(matrix) == 4 and matrix.dtype == np.float64
        assert np.sum(matrix) == 120 and matrix.max() == 15 and (matrix > 7).sum() == 8
        assert np.stack([matrix, matrix]).shape == (2, 4, 2, 2)
        matrix[matrix > 7] = 0
        matrix[0] += [[1, 1], [1, 1]]
        matrix[1:3, 0] = 5
        matrix *= 2
        np.multiply(matrix, 2, out=matrix)
        whole = matrix.copy()
    assert whole.tolist()[:2] == [[[4, 8], [12, 16]], [[20, 20], [24, 28]]]
    with world.query("Matrix").columns() as runs:
        assert all((matrix == whole).all() for (matrix,) in runs)


def test_runs_say_which_entities_they_have(world):
    still = world.spawn(3, Position=(0, 0))
    moving = world.spawn(2, Position=(0, 0), Velocity=(1, 1))
    with world.query("Position").columns() as runs:
        assert [run.tolist() for run in runs.entities()] == [still.tolist(), moving.tolist()]
    assert world.query(with_=["Position"], without=["Velocity"]).entities().tolist() == still.tolist()


def test_a_column_that_is_only_read_cannot_be_written(world):
    world.spawn(3, Position=(1, 1))
    with world.query("Position").columns() as runs:
        for (position,) in runs:
            with pytest.raises(ValueError, match="read-only"):
                position["x"] += 1
            with pytest.raises(ValueError, match="WRITEABLE"):
                np.asarray(position).setflags(write=True)
    assert (world.get(world.query("Position").entities()[0], "Position")["x"]) == 1


def test_nothing_moves_while_columns_are_lent(world):
    ants = world.spawn(3, Position=(1, 1), Velocity=(0, 0))
    with world.query("mut Position").columns() as runs:
        for call in [
            lambda: world.spawn(1),
            lambda: world.despawn(ants),
            lambda: world.insert(ants, "Matrix", np.eye(2)),
            lambda: world.remove(ants, "Velocity"),
            lambda: world.set_parent(ants[0], ants[1]),
            lambda: world.register("Late", "f4"),
            lambda: world.restore(b""),
            lambda: world.clear(),
            lambda: world.get(ants[0], "Position"),
            lambda: world.set(ants[0], "Position", (2, 2)),
            lambda: world.state_hash(),
            lambda: world.snapshot(),
            lambda: world.version(),
            lambda: world.check(),
            lambda: world.query("Position").entities(),
        ]:
            with pytest.raises((formic.LeasedError, formic.BadDataError)):
                call()
        # What the columns do not use is free.
        assert world.get(ants[0], "Velocity")["x"] == 0
        world.set(ants[0], "Velocity", (3, 3))
        with world.query("mut Velocity").columns() as others:
            assert [len(velocity) for (velocity,) in others] == [3]
        assert [len(position) for (position,) in runs] == [3]
    world.despawn(ants)


def test_two_leases_may_read_one_column(world):
    world.spawn(3, Position=(1, 1))
    with world.query("Position").columns() as first, world.query("Position").columns() as second:
        assert len(list(first)) == len(list(second)) == 1
        with pytest.raises(formic.LeasedError):
            world.query("mut Position").columns().__enter__()
        assert world.state_hash()
    world.spawn(1)


def test_a_column_raises_after_its_block(world):
    world.spawn(3, Position=(1, 1))
    with world.query("mut Position").columns() as runs:
        ((position,),) = runs
        part = position["x"]
    for use in [
        lambda: position["x"],
        lambda: part + 1,
        lambda: part.sum(),
        lambda: np.asarray(part),
        lambda: len(position),
        lambda: position.__setitem__(0, (1, 1)),
        lambda: list(runs),
    ]:
        with pytest.raises(formic.ReleasedError):
            use()
    assert repr(position) == "Column(released)"
    world.spawn(1)


def test_an_array_that_is_kept_keeps_the_world_as_it_is(world):
    ants = world.spawn(3, Position=(1, 1))
    with pytest.raises(formic.LeasedError, match="1 arrays still share memory"):
        with world.query("mut Position").columns() as runs:
            kept = np.asarray(next(iter(runs))[0])
    with pytest.raises(formic.LeasedError):
        world.despawn(ants)
    kept["x"] = 7
    part = kept[1:]
    del kept, runs
    gc.collect()
    with pytest.raises(formic.LeasedError):
        world.despawn(ants)
    assert part["x"].tolist() == [7, 7]
    del part
    gc.collect()
    assert world.get(ants[2], "Position")["x"] == 7
    world.despawn(ants)


def test_columns_that_are_kept_keep_nothing_as_it_is(world):
    ants = world.spawn(3, Position=(1, 1))
    with pytest.raises(formic.LeasedError, match="1 arrays still share memory"):
        with world.query("mut Position").columns() as runs:
            ((position,),) = runs
            kept = np.asarray(position)
    with pytest.raises(formic.ReleasedError):
        position["x"]
    with pytest.raises(formic.LeasedError):
        world.despawn(ants)
    del kept
    world.despawn(ants)
    world.check()


def test_a_column_may_say_where_and_be_one_of_several_results(world):
    world.register("Number", "i4")
    world.register("On", "?")
    world.spawn(3, Number=[5, 6, 7], On=[True, False, True], Position=(1, 2))
    with world.query("mut Number", "On", "mut Position").columns() as runs:
        ((number, on, position),) = runs
        assert np.sum(number, where=on) == 12
        assert np.add(number, 1, where=on, out=number) is number and number.tolist() == [6, 6, 8]
        quotient, rest = np.divmod(number, 4, out=(None, number))
        assert quotient.tolist() == [1, 1, 2] and rest is number and number.tolist() == [2, 2, 0]
        # In place as well: some of the fields, no row.
        parts = [position[["y"]], position[:0], position[1:][["x", "y"]], position[..., None]]
        parts[0]["y"] = 9
        copies = [position[[0, 1]], position["x"][on], number[on, None]]
        copies[0]["x"] = 9
        assert position["y"].tolist() == [9, 9, 9] and position["x"].tolist() == [1, 1, 1]
    world.spawn()
    assert copies[1].tolist() == [1, 1]


def test_parts_of_rows_are_in_place(world):
    world.register("Part", [("v", "f4", (3,)), ("sub", [("n", "i2"), ("w", "f4", (2,))])])
    ant = world.spawn(1, Part=([1, 2, 3], (5, [6, 7])))[0]
    with world.query("mut Part").columns() as runs:
        ((part,),) = runs
        row = part[0]
        parts = [row, row["v"], row["sub"], row["sub"]["w"], row[0], part["v"][0], part[:1]["sub"]["w"][0]]
        assert all(isinstance(it, formic.Column) for it in parts)
        parts[1][0] = 9
        parts[3][:] = 8
        numbers = [row["sub"]["n"], row["v"][1]]
    world.spawn()
    value = world.get(ant, "Part")
    assert value["v"].tolist() == [9, 2, 3] and value["sub"]["w"].tolist() == [8, 8] and numbers == [5, 2]


def test_an_array_outlives_its_world(world):
    world.spawn(1000, Position=(4, 5))
    runs = world.query("Position").columns().__enter__()
    kept = [np.asarray(position) for (position,) in runs]
    del runs, world
    gc.collect()
    assert sum(array["y"].sum() for array in kept) == 5000


def test_a_block_that_fails_says_why(world):
    ants = world.spawn(3, Position=(1, 1))

    def block():
        with world.query("Position").columns() as runs:
            kept = [np.asarray(position) for (position,) in runs]
            raise KeyError(len(kept))

    with pytest.raises(KeyError):
        block()
    gc.collect()
    world.despawn(ants)


def test_equal_runs_have_equal_hashes():
    def run():
        world = formic.World()
        world.register("Position", VECTOR)
        random = np.random.default_rng(7)
        values = np.zeros(5000, VECTOR)
        values["x"] = random.random(5000, "f4")
        ants = world.spawn(5000, Position=values)
        for tick in range(20):
            with world.query("mut Position").columns() as runs:
                for (position,) in runs:
                    position["x"] = np.sin(position["x"] + tick)
            world.despawn(ants[tick * 7 : tick * 7 + 7])
        return world.state_hash()

    assert run() == run()
