"""Environments to learn in, by the conventions of Gymnasium and PettingZoo.

``formic/Foragers-v0`` is a walled field of cells. Foragers (who learn) look for berries; wolves (who do not:
they decide by utility, and walk shortest ways) look for foragers, tire of chasing, and rest. At most one
forager eats a berry, which grows again at a random place.

* **Observation** of a forager: the 7 x 7 cells around it, with four numbers each of 0 or 1: closed, berry, wolf,
  other forager.
* **Actions**: 0 stay, 1 north, 2 east, 3 south, 4 west; into a closed cell is to stay.
* **Reward**: 1 for a berry, -5 for being caught, which is the end of that forager. After ``ticks`` the episode is
  truncated.

``formic/Dungeon-v0`` is a dungeon of caves in rock. Thieves (who learn) look for gold, much of which lies in rock or in
caves without a way in; guards (who do not) decide as wolves do and walk shortest ways through what is open. Thieves dig,
which opens ways to guards as well, and close what they dug behind them.

* **Observation** of a thief: the 7 x 7 cells around it, with closed, gold, guard, other thief.
* **Actions**: 0 stay, 1 north, 2 east, 3 south, 4 west; into rock is to dig that cell, and to stay. 5 closes the cell that
  the thief left last, if no guard is in it and no thief, be it a caught one. The outermost cells stay as they are.
* **Reward**: 1 for gold, -0.05 for a cell that was dug or closed, -5 for being caught, which is the end of that thief.

In both, after ``ticks`` the episode is truncated. The same seed and actions give the same episode on any number of
threads. ``reasons`` says why each wolf or guard did what it did, ``render`` draws, and rules are given by name:
``side``, ``wolves``, ``berries``, ``ticks`` of a field, ``side``, ``guards``, ``gold``, ``ticks`` of a dungeon.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from . import _formic

_SEEN = (7, 7, 4)
_COLORS = {1: (60, 60, 60), 2: (70, 160, 60), 4: (200, 60, 50), 8: (50, 110, 220)}


#: What a dungeon calls the rules of a field.
_NAMES = {"guards": "wolves", "gold": "berries"}
_FIELD = {"side": 16, "wolves": 2, "berries": 12, "ticks": 200}
_DUNGEON = {"side": 32, "guards": 3, "gold": 40, "ticks": 300}


#: The last action of a field, and of a dungeon.
_LAST = (4, 5)


def _spaces(dungeon: bool) -> tuple[gymnasium.Space[Any], gymnasium.Space[Any]]:
    return gymnasium.spaces.Box(0, 1, _SEEN, np.float32), gymnasium.spaces.Discrete(_LAST[dungeon] + 1)


class _Fields:
    """Fields and their answers as arrays: of the shapes (fields, foragers, ...) and (fields,)."""

    def __init__(
        self, dungeon: bool, count: int, foragers: int = 1, threads: int = 0, **given: int
    ) -> None:
        usual = _DUNGEON if dungeon else _FIELD
        if unknown := given.keys() - usual.keys():
            raise _formic.FormicError(f"no rule {sorted(unknown)}: there are {', '.join(usual)}")
        rules = {_NAMES.get(name, name): value for name, value in {**usual, **given}.items()}
        self._fields = _formic.Fields(count, threads, dungeon, foragers=foragers, **rules)
        self.count, self.foragers, self._side = count, foragers, rules["side"]
        self._last, self._who = _LAST[dungeon], "guard" if dungeon else "wolf"

    def reset(self, again: list[tuple[int, int]]) -> None:
        self._fields.reset(again)

    def step(self, actions: Any, again: Callable[[], list[tuple[int, int]]] = list) -> None:
        given = np.asarray(actions).reshape(-1)
        if given.dtype.kind not in "iu":
            raise _formic.FormicError(f"actions are integers, not {given.dtype}")
        if given.size != self.count * self.foragers or ((given < 0) | (given > self._last)).any():
            text = f"a step takes {self.count * self.foragers} actions, each from 0 to {self._last}"
            raise _formic.FormicError(text)
        # Only now: a step that is refused draws no seeds.
        self._fields.step(given.tolist(), again())

    def look(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        seen, rewards, caught, over = self._fields.look()
        shape = (self.count, self.foragers)
        return (
            np.frombuffer(seen, np.float32).reshape(*shape, *_SEEN),
            np.frombuffer(rewards, np.float32).reshape(shape),
            np.frombuffer(caught, np.bool).reshape(shape),
            np.frombuffer(over, np.bool),
        )

    def render(self, number: int, scale: int = 8) -> np.ndarray:
        cells = np.frombuffer(self._fields.picture(number), np.uint8).reshape(self._side, -1)
        image = np.full((*cells.shape, 3), 235, np.uint8)
        for kind, color in _COLORS.items():
            image[cells & kind != 0] = color
        return image.repeat(scale, 0).repeat(scale, 1)

    def reasons(self, number: int) -> list[str]:
        reasons = []
        for it in self.decisions(number):
            texts = {name: f"{name} {score:.2f}" for name, score in it["scores"].items()}
            chosen = texts.pop(it["chosen"])
            reasons.append(f"tick {it['tick']}: {self._who} {it['agent']} chose {chosen} over {', '.join(texts.values())}")
        return reasons

    def decisions(self, number: int) -> list[dict[str, Any]]:
        return [
            {"tick": tick, "agent": agent, "chosen": scores[chosen][0], "scores": dict(scores)}
            for agent, (tick, chosen, scores) in enumerate(self._fields.decisions(number))
        ]

    def state_hash(self, number: int) -> int:
        return self._fields.state_hash(number)


def _seed(random: np.random.Generator) -> int:
    return int(random.integers(2**63))


class _One(gymnasium.Env[np.ndarray, np.int64]):
    _dungeon: bool

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}

    def __init__(self, render_mode: str | None = None, **rules: int) -> None:
        self.render_mode = render_mode
        self._fields = _Fields(self._dungeon, 1, **rules)
        self.observation_space, self.action_space = _spaces(self._dungeon)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._fields.reset([(0, _seed(self.np_random))])
        return self._fields.look()[0][0, 0], {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self._fields.step([operator.index(action)])
        seen, rewards, caught, over = self._fields.look()
        ended = bool(caught[0, 0])
        return seen[0, 0], float(rewards[0, 0]), ended, bool(over[0]) and not ended, {}

    def render(self) -> np.ndarray | None:
        return self._fields.render(0) if self.render_mode == "rgb_array" else None

    def reasons(self) -> list[str]:
        """Why each wolf or guard did what it did in the last tick."""
        return self._fields.reasons(0)

    def decisions(self) -> list[dict[str, Any]]:
        """The same as rows: tick, agent, what was chosen, and the scores by name."""
        return self._fields.decisions(0)

    def state_hash(self) -> int:
        """The hash of everything in the field."""
        return self._fields.state_hash(0)


class Foragers(_One):
    """One forager in one field; the module says what it sees and does."""

    _dungeon = False


class Dungeon(_One):
    """One thief in one dungeon; the module says what it sees and does."""

    _dungeon = True


class _Many(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    _dungeon: bool
    metadata = {"render_modes": ["rgb_array"], "autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self, num_envs: int, threads: int = 0, render_mode: str | None = None, **rules: int
    ) -> None:
        self.num_envs = num_envs
        self.render_mode = render_mode
        self._fields = _Fields(self._dungeon, num_envs, 1, threads, **rules)
        self.single_observation_space, self.single_action_space = _spaces(self._dungeon)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._random: list[np.random.Generator] = []
        self._ended = np.zeros(num_envs, np.bool)

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[np.ndarray, dict[str, Any]]:
        if seed is not None or not self._random:
            if isinstance(seed, int | np.integer):
                seeds: list[int | None] = [int(seed) + number for number in range(self.num_envs)]
            else:
                some = [None] * self.num_envs if seed is None else seed
                seeds = [None if it is None else operator.index(it) for it in some]
            if len(seeds) != self.num_envs:
                raise _formic.FormicError(f"{self.num_envs} seeds, not {len(seeds)}")
            # The generators that single environments have, so that these are the same episodes: a seed
            # that is None leaves one as it is.
            known: list[np.random.Generator | None] = [*self._random] or [None] * self.num_envs
            self._random = [
                old if it is None and old else gymnasium.utils.seeding.np_random(it)[0]
                for it, old in zip(seeds, known, strict=True)
            ]
        self._fields.reset(self._seeds(range(self.num_envs)))
        self._ended[:] = False
        return self._fields.look()[0][:, 0], {}

    def _seeds(self, numbers: Iterable[int]) -> list[tuple[int, int]]:
        """Of fields that begin anew, each from its own generator."""
        return [(number, _seed(self._random[number])) for number in numbers]

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        self._fields.step(actions, lambda: self._seeds(np.flatnonzero(self._ended).tolist()))
        seen, rewards, caught, over = self._fields.look()
        ended = caught[:, 0]
        truncated = over & ~ended
        self._ended = ended | truncated
        return seen[:, 0], rewards[:, 0].astype(np.float64), ended, truncated, {}

    def render(self) -> tuple[np.ndarray, ...] | None:
        if self.render_mode != "rgb_array":
            return None
        return tuple(self._fields.render(number) for number in range(self.num_envs))

    def reasons(self, number: int) -> list[str]:
        """Why each wolf or guard of one of them did what it did in the last tick."""
        return self._fields.reasons(number)

    def decisions(self, number: int) -> list[dict[str, Any]]:
        """The same as rows: tick, agent, what was chosen, and the scores by name."""
        return self._fields.decisions(number)

    def state_hashes(self) -> list[int]:
        """The hash of everything in each field."""
        return [self._fields.state_hash(number) for number in range(self.num_envs)]


class ForagersVec(_Many):
    """Many fields with one forager each, stepped on threads; a field that ended begins anew in the
    next step, as Gymnasium's ``AutoresetMode.NEXT_STEP`` has it."""

    _dungeon = False


class DungeonVec(_Many):
    """Many dungeons with one thief each, as :class:`ForagersVec`."""

    _dungeon = True


for _name in ("Foragers", "Dungeon"):
    gymnasium.register(
        f"formic/{_name}-v0",
        entry_point=f"formic.envs:{_name}",
        vector_entry_point=f"formic.envs:{_name}Vec",
    )


def make_vec(
    id: str = "formic/Foragers-v0", num_envs: int = 1, threads: int = 0, **rules: Any
) -> VectorEnv[Any, Any, Any]:
    """Many environments of one kind, stepped on this number of threads besides the caller's."""
    made = gymnasium.make_vec(
        id, num_envs, vectorization_mode="vector_entry_point", threads=threads, **rules
    )
    assert isinstance(made, VectorEnv)
    return made
