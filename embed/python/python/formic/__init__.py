"""Deterministic worlds of entities whose columns are numpy arrays.

>>> import formic
>>> world = formic.World()
>>> world.register("Position", [("x", "f4"), ("y", "f4")])
>>> world.register("Velocity", [("x", "f4"), ("y", "f4")])
>>> ants = world.spawn(3, Position=(0, 0), Velocity=[(1, 0), (2, 0), (3, 0)])
>>> with world.query("mut Position", "Velocity").columns() as runs:
...     for position, velocity in runs:
...         position["x"] += velocity["x"]
>>> world.get(ants[1], "Position")["x"]
np.float32(2.0)
"""

from ._formic import (
    BadDataError,
    FormicError,
    LeasedError,
    NoSuchComponentError,
    NoSuchEntityError,
    ReleasedError,
)
from .columns import Column, Query
from .world import World

__all__ = [
    "BadDataError",
    "Column",
    "FormicError",
    "LeasedError",
    "NoSuchComponentError",
    "NoSuchEntityError",
    "Query",
    "ReleasedError",
    "World",
]
