"""Columns and decisions as Arrow tables, for analysis (``pip install pyarrow``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, import-not-found, unused-ignore]

from .world import World


def table(world: World, *components: str, **filters: Any) -> Any:
    """A table of all entities that have these components: a copy, which outlives the world.

    ``filters`` are those of :meth:`World.query`. The first column is ``entity``. A component of fields has a
    column for each, such as ``Position.x``; a component of an array a list of fixed size.
    """
    query = world.query(*components, **filters)
    with query.columns() as runs:
        entities = np.concatenate([np.empty(0, np.uint64), *runs.entities()])
        parts = [[np.array(column) for column in run] for run in runs]
    found: list[tuple[str, Any]] = [("entity", pa.array(entities))]
    for place, name in enumerate(components):
        dtype = world.dtype(name.removeprefix("mut "))
        empty = np.empty((0, *dtype.shape), dtype.base)
        values = np.concatenate([empty, *(run[place] for run in parts)])
        found += _columns(name.removeprefix("mut "), values)
    return pa.Table.from_arrays([column for _, column in found], [name for name, _ in found])


def _columns(name: str, values: np.ndarray) -> list[tuple[str, Any]]:
    if values.dtype.names is not None:
        fields = [_columns(f"{name}.{field}", values[field]) for field in values.dtype.names]
        return [column for some in fields for column in some]
    if values.dtype.kind not in "biufMm":
        raise TypeError(f"{name}: Arrow has no column for {values.dtype}")
    flat = np.ascontiguousarray(values).reshape(-1)
    # Arrow has the byte order of the machine.
    array = pa.array(flat.astype(flat.dtype.newbyteorder("="), copy=False))
    for size in reversed(values.shape[1:]):
        array = pa.FixedSizeListArray.from_arrays(array, size)
    return [(name, array)]


def decisions(rows: Iterable[dict[str, Any]]) -> Any:
    """A table of what :meth:`formic.envs.Foragers.decisions` returned, of as many ticks as were collected."""
    rows = list(rows)
    options = list(dict.fromkeys(name for row in rows for name in row["scores"]))
    return pa.table(
        {
            "tick": pa.array([row["tick"] for row in rows], pa.uint32()),
            "agent": pa.array([row["agent"] for row in rows], pa.uint32()),
            "chosen": pa.array([row["chosen"] for row in rows], pa.string()).dictionary_encode(),
            **{
                f"score.{name}": pa.array([row["scores"].get(name) for row in rows], pa.float32())
                for name in options
            },
        }
    )
