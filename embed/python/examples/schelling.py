"""Schelling's model of segregation: as columns of a world, by behaviours that are compiled, and Mesa's own.

Agents of two kinds live on a torus of cells. One of whose neighbours too few are of its kind moves to a random empty cell;
then all look again. All have Mesa's rule, step by step; random numbers differ, and so the episodes. The model below is in
Python and numpy, over the columns of a world; that of ``formic.models`` is systems of a schedule.

``python schelling.py`` prints a table of all (needs ``pip install mesa``), ``python schelling.py --plot FILE`` a picture.
"""

import argparse
import time

import formic
import numpy as np
from formic import models


class Schelling:
    """A world of residents: a cell, a kind, and whether they are happy."""

    def __init__(self, side, density=0.8, homophily=0.4, seed=0):
        self.side, self.homophily = side, homophily
        self.random = np.random.default_rng(seed)
        self.world = formic.World()
        for name, dtype in [("Cell", "i8"), ("Kind", "i1"), ("Happy", "?")]:
            self.world.register(name, dtype)
        cells = np.flatnonzero(self.random.random(side * side) < density)
        kinds = (self.random.random(len(cells)) < 0.5).astype("i1")
        self.world.spawn(len(cells), Cell=cells, Kind=kinds, Happy=False)
        self.empty = np.setdiff1d(np.arange(side * side), cells)
        self.look()

    def board(self):
        """The kind in each cell, and -1 where there is none."""
        board = np.full(self.side * self.side, -1, "i1")
        with self.world.query("Cell", "Kind").columns() as runs:
            for cell, kind in runs:
                board[cell] = kind
        return board.reshape(self.side, self.side)

    def look(self):
        board = self.board()
        alike = np.empty((2, self.side * self.side), "i1")
        for kind in (0, 1):
            middle = np.pad((board == kind).astype("i1"), 1, mode="wrap")
            rows = middle[:-2] + middle[1:-1] + middle[2:]
            alike[kind] = (rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:] - middle[1:-1, 1:-1]).reshape(-1)
        both = alike.sum(0)
        with self.world.query("Cell", "Kind", "mut Happy").columns() as runs:
            for cell, kind, happy in runs:
                there = np.asarray(cell)
                same = np.where(np.asarray(kind) == 0, alike[0][there], alike[1][there])
                happy[:] = (both[there] > 0) & (same >= self.homophily * both[there])
                del there

    def step(self):
        empty = self.empty.tolist()
        with self.world.query("mut Cell", "Happy").columns() as runs:
            for cell, happy in runs:
                movers = self.random.permutation(np.flatnonzero(~np.asarray(happy)))
                places = self.random.integers(len(empty), size=len(movers))
                # One after the other: who leaves makes room for those that follow.
                left = cell[movers]
                for mover, place in enumerate(places.tolist()):
                    left[mover], empty[place] = empty[place], int(left[mover])
                cell[movers] = left
        self.empty = np.array(empty)
        self.look()

    def happy(self):
        with self.world.query("Happy").columns() as runs:
            return np.concatenate([np.array(happy) for (happy,) in runs]).mean()


def mesa_model(side, seed):
    from mesa.examples.basic.schelling.model import Schelling as Model

    model = Model(height=side, width=side, seed=seed)
    # Only the model is measured.
    model.datacollector.collect = lambda _: None
    return model


def seconds(step, steps):
    begun = time.perf_counter()
    for _ in range(steps):
        step()
    return (time.perf_counter() - begun) / steps


def table(sides=(20, 100, 300), steps=20):
    """Lines of a table: milliseconds for a step, times as fast as Mesa, and how many are happy at the end."""
    yield "| cells | agents | Mesa | columns in numpy | `formic.models` | on two threads | happy at the end, in this order |"
    yield "|---:|---:|---:|---:|---:|---:|---|"
    for side in sides:
        mesa = mesa_model(side, 0)
        towns = [Schelling(side), models.Schelling(side), models.Schelling(side, threads=1)]
        slow, *fast = [seconds(it.step, steps) for it in (mesa, *towns)]
        cells = [f"{slow * 1e3:.1f} ms", *(f"{it * 1e3:.3g} ms, {slow / it:.0f} x" for it in fast)]
        happy = [mesa.happy / len(mesa.agents), *(it.happy() for it in towns)]
        shares = ", ".join(f"{it:.0%}" for it in happy)
        yield f"| {side} x {side} | {len(mesa.agents):,} | {' | '.join(cells)} | {shares} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--plot", metavar="FILE", help="a town before and after 20 steps (needs matplotlib)")
    given = parser.parse_args()
    if given.plot is None:
        print("\n".join(table()))
        return
    from matplotlib.figure import Figure

    picture, town = Figure(figsize=(8, 4)), Schelling(100)
    left, right = picture.subplots(1, 2)
    left.imshow(town.board())
    for _ in range(20):
        town.step()
    right.imshow(town.board())
    picture.savefig(given.plot)


if __name__ == "__main__":
    main()
