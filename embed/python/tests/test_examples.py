"""The examples: what they compute, not how fast."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_residents_of_schellings_town_move_until_they_are_happy():
    town = load("schelling").Schelling(40, seed=3)
    count, before = len(town.world), np.sort(town.board().reshape(-1))
    assert 0.2 < town.happy() < 0.9
    for _ in range(60):
        board = town.board().reshape(-1)
        # Each cell has one resident, or is on the list of empty ones.
        assert (board >= 0).sum() == count and np.array_equal(np.sort(town.empty), np.flatnonzero(board < 0))
        # Happy is who has enough neighbours of its kind, counted here cell by cell.
        happy = []
        for place in np.flatnonzero(board >= 0):
            y, x = divmod(place, 40)
            around = [board[(y + dy) % 40 * 40 + (x + dx) % 40] for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dy or dx]
            alike, both = around.count(board[place]), sum(it >= 0 for it in around)
            happy.append(both > 0 and alike >= 0.4 * both)
        assert town.happy() == pytest.approx(np.mean(happy))
        if town.happy() == 1:
            break
        town.step()
    assert town.happy() > 0.99 and np.array_equal(np.sort(town.board().reshape(-1)), before)


def test_mesa_comes_to_the_same_end():
    pytest.importorskip("mesa")
    schelling = load("schelling")
    mine, other = schelling.Schelling(30), schelling.mesa_model(30, 1)
    for _ in range(60):
        mine.step()
        other.step()
    assert mine.happy() > 0.99 and other.happy > 0.99 * len(other.agents)


def test_the_notebook_runs():
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    for name in ("matplotlib", "ipykernel", "pyarrow", "gymnasium"):
        pytest.importorskip(name)
    notebook = nbformat.read(EXAMPLES / "wolves.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=None, kernel_name="python3", resources={"metadata": {"path": str(EXAMPLES)}}).execute()
    kinds = [kind for cell in notebook.cells for output in cell.get("outputs", []) for kind in output.get("data", {})]
    assert kinds.count("image/png") >= 2
