"""Arrow tables."""

import formic
import numpy as np
import pytest

pytest.importorskip("pyarrow")

from formic import arrow  # noqa: E402


@pytest.fixture
def world():
    world = formic.World()
    world.register("Position", [("x", "f4"), ("y", ">i2")])
    world.register("Matrix", ("f8", (2, 3)))
    world.register("Age", "u2")
    world.register("Raw", "V4")
    return world


def test_a_table_has_every_row_of_every_run(world):
    young = world.spawn(3, Position=[(1, 2), (3, 4), (5, 6)], Age=[7, 8, 9])
    old = world.spawn(2, Position=(0.5, -1), Age=99, Matrix=np.arange(12.0).reshape(2, 2, 3))
    table = arrow.table(world, "Position", "Age")
    assert table.column_names == ["entity", "Position.x", "Position.y", "Age"]
    assert table["entity"].to_pylist() == [*young.tolist(), *old.tolist()]
    assert table["Position.x"].to_pylist() == [1, 3, 5, 0.5, 0.5]
    assert table["Position.y"].to_pylist() == [2, 4, 6, -1, -1]
    assert table["Age"].to_pylist() == [7, 8, 9, 99, 99]
    assert arrow.table(world, "Age", without=["Matrix"]).num_rows == 3
    matrix = arrow.table(world, "Matrix")["Matrix"].to_pylist()
    assert matrix == np.arange(12.0).reshape(2, 2, 3).tolist()
    # It shares no memory with the world.
    world.despawn(young)
    assert table["Age"].to_pylist()[:3] == [7, 8, 9]


def test_a_table_of_nothing_has_its_columns(world):
    table = arrow.table(world, "Position", "Matrix")
    assert table.num_rows == 0 and table.column_names == ["entity", "Position.x", "Position.y", "Matrix"]


def test_columns_of_one_name_are_all_there():
    world = formic.World()
    world.register("P", [("x", "f4")])
    world.register("P.x", "f4")
    world.register("entity", "f4")
    ants = world.spawn(1, **{"P": (1,), "P.x": 2, "entity": 3})
    table = arrow.table(world, "P", "P.x", "entity")
    assert table.schema.names == ["entity", "P.x", "P.x", "entity"]
    assert [column[0].as_py() for column in table.columns] == [ants[0], 1, 2, 3]


def test_what_arrow_cannot_hold_is_an_error(world):
    world.spawn(1, Raw=np.zeros(1, "V4"))
    with pytest.raises(TypeError, match="Raw: Arrow has no column for"):
        arrow.table(world, "Raw")


def test_decisions_are_rows():
    envs = pytest.importorskip("formic.envs")
    env, rows = envs.Foragers(wolves=3), []
    env.reset(seed=1)
    for _ in range(10):
        env.step(0)
        rows += env.decisions()
    table = arrow.decisions(rows)
    assert table.column_names == ["tick", "agent", "chosen", "score.chase", "score.rest", "score.prowl"]
    assert table["tick"].to_pylist() == [tick for tick in range(1, 11) for _ in range(3)]
    # Each chose what has the highest score, as its reasons say.
    for row in table.to_pylist():
        assert row["score." + row["chosen"]] == max(row[key] for key in row if key.startswith("score."))
    last = table.to_pylist()[-3:]
    assert [f"wolf {row['agent']} chose {row['chosen']} " in reason for row, reason in zip(last, env.reasons(), strict=True)] == [True] * 3
