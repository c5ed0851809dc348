"""The examples: what they compute, not how fast."""

import importlib.util
from pathlib import Path

import formic
import numpy as np
import pytest
from formic import models

EXAMPLES = Path(__file__).parent.parent / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def of_columns():
    town = load("schelling").Schelling(40, seed=3)
    return town, len(town.world)


def of_behaviours():
    town = models.Schelling(40, seed=3)
    return town, len(town)


@pytest.mark.parametrize("made", [of_columns, of_behaviours])
def test_residents_of_schellings_town_move_until_they_are_happy(made):
    town, count = made()
    before = np.sort(town.board().reshape(-1))
    assert 0.2 < town.happy() < 0.9
    for _ in range(60):
        board = town.board().reshape(-1)
        # Each cell has one resident, or is on the list of empty ones.
        assert (board >= 0).sum() == count
        if made is of_columns:
            assert np.array_equal(np.sort(town.empty), np.flatnonzero(board < 0))
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


def test_a_town_is_the_same_on_any_number_of_threads():
    towns = [models.Schelling(200, seed=7, threads=threads) for threads in (0, 1, 3)]
    other = models.Schelling(200, seed=8)
    for _ in range(5):
        for town in (*towns, other):
            town.step()
        hashes = {town.state_hash() for town in towns}
        assert len(hashes) == 1 and other.state_hash() not in hashes


@pytest.mark.parametrize("rules", [{"side": 2}, {"side": 10_001}, {"density": 1.5}, {"homophily": -0.1}, {"density": float("nan")}])
def test_a_town_without_sense_is_refused(rules):
    with pytest.raises(formic.FormicError, match="from"):
        models.Schelling(**{"side": 40, **rules})


def test_a_full_town_stays_as_it_is():
    town = models.Schelling(10, density=1, homophily=1)
    before = town.board()
    town.step()
    assert np.array_equal(town.board(), before) and len(town) == 100


def test_a_short_run_learns_to_forage():
    pytest.importorskip("gymnasium")
    learn = load("learn")
    weights = learn.learn(updates=40, num_envs=64, threads=1, seed=1)
    by_chance, learned = (learn.play(it, 64, 1, seed=1000).mean() for it in (np.zeros_like(weights), weights))
    assert learned > by_chance + 1


def test_mesa_comes_to_the_same_end():
    pytest.importorskip("mesa")
    schelling = load("schelling")
    mine, other, compiled = schelling.Schelling(30), schelling.mesa_model(30, 1), models.Schelling(30)
    for _ in range(60):
        for it in (mine, other, compiled):
            it.step()
    assert mine.happy() > 0.99 and compiled.happy() > 0.99 and other.happy > 0.99 * len(other.agents)


def test_the_figures_of_the_page_on_scale_are_those_of_its_simulation():
    zones = load("zones")
    page = zones.PAGE.read_text()
    for name, lines in zones.tables().items():
        of_page = page.split(f"<!-- {name} -->\n")[1].split(f"\n<!-- end of {name} -->")[0]
        assert of_page == "\n".join(lines), "python examples/zones.py --update"


def test_zones_without_names_of_messages_would_double_agents():
    zones = load("zones")
    append = zones.Log.append
    zones.Log.append = lambda self, name, data, last=None: append(self, (*name, len(self.messages)), data, last)
    with pytest.raises(AssertionError, match="no agent is there twice"):
        zones.simulate(agents=1000, ticks=20)


def test_the_notebook_runs():
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    for name in ("matplotlib", "ipykernel", "pyarrow", "gymnasium"):
        pytest.importorskip(name)
    notebook = nbformat.read(EXAMPLES / "wolves.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=None, kernel_name="python3", resources={"metadata": {"path": str(EXAMPLES)}}).execute()
    kinds = [kind for cell in notebook.cells for output in cell.get("outputs", []) for kind in output.get("data", {})]
    assert kinds.count("image/png") >= 2
