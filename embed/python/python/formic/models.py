"""Models of agents whose behaviour is compiled: a step is systems of a schedule, on as many threads as wanted."""

from __future__ import annotations

import numpy as np

from . import _formic


class Schelling:
    """Schelling's model of segregation on a torus of ``side`` x ``side`` cells.

    Residents of two kinds fill the share ``density`` of the cells. One of whose neighbours less than the
    share ``homophily`` is of its kind is unhappy; who has no neighbours has the share 0. In a step all that are
    unhappy move, one after the other in random order, each to a random empty cell; then all look again. Whether
    one stays is a utility of that share. The same seed gives the same town on any number of ``threads`` besides the caller's.
    """

    def __init__(
        self,
        side: int,
        density: float = 0.8,
        homophily: float = 0.4,
        seed: int = 0,
        threads: int = 0,
    ) -> None:
        self.side = side
        self._town = _formic.Town(side, density, homophily, seed, threads)

    def __len__(self) -> int:
        """How many residents there are."""
        return self._town.happy()[1]

    def step(self) -> None:
        self._town.step()

    def board(self) -> np.ndarray:
        """The kind in each cell, 0 or 1, and -1 where there is none."""
        cells = np.frombuffer(self._town.cells(), np.uint8).reshape(self.side, self.side)
        return np.where(cells == 2, -1, cells.astype(np.int8))

    def happy(self) -> float:
        """The share of the residents that are happy."""
        happy, count = self._town.happy()
        return happy / max(1, count)

    def state_hash(self) -> int:
        """The hash of all residents."""
        return self._town.state_hash()
