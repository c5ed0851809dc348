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

from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from .envs import make_vec
else:

    def make_vec(*arguments, **rules):
        """:func:`formic.envs.make_vec`, which needs ``pip install gymnasium pettingzoo``."""
        from . import envs

        return envs.make_vec(*arguments, **rules)


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
    "make_vec",
]
