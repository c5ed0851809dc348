"""``formic.envs`` with many foragers in one field, or thieves in one dungeon, by PettingZoo's parallel API."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.utils import seeding
from pettingzoo import ParallelEnv

from .envs import _Fields, _seed, _spaces


class _Parallel(ParallelEnv[str, np.ndarray, int]):
    _dungeon: bool

    def __init__(self, agents: list[str], render_mode: str | None = None, **rules: int) -> None:
        self.possible_agents = agents
        self.agents: list[str] = []
        self.render_mode = render_mode
        self._fields = _Fields(self._dungeon, 1, len(agents), **rules)
        seen, actions = _spaces(self._dungeon)
        self.observation_spaces = dict.fromkeys(self.possible_agents, seen)
        self.action_spaces = dict.fromkeys(self.possible_agents, actions)
        self._random: np.random.Generator | None = None

    def observation_space(self, agent: str) -> Any:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, dict[str, Any]]]:
        if seed is not None or self._random is None:
            self._random, _ = seeding.np_random(seed)
        self._fields.reset([(0, _seed(self._random))])
        self.agents = list(self.possible_agents)
        seen = dict(zip(self.agents, self._fields.look()[0][0], strict=True))
        return seen, {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, int]) -> tuple[dict[str, Any], ...]:
        self._fields.step([actions.get(agent, 0) for agent in self.possible_agents])
        all_seen, rewards, caught, over = (it[0] for it in self._fields.look())
        everyone = dict(zip(self.possible_agents, range(len(self.possible_agents)), strict=True))
        here = {agent: everyone[agent] for agent in self.agents}
        ended = {agent: bool(caught[it]) for agent, it in here.items()}
        truncated = {agent: bool(over) and not ended[agent] for agent in here}
        self.agents = [agent for agent in here if not (ended[agent] or truncated[agent])]
        return (
            {agent: all_seen[it] for agent, it in here.items()},
            {agent: float(rewards[it]) for agent, it in here.items()},
            ended,
            truncated,
            {agent: {} for agent in here},
        )

    def render(self) -> np.ndarray | None:
        return self._fields.render(0) if self.render_mode == "rgb_array" else None

    def reasons(self) -> list[str]:
        """Why each wolf or guard did what it did in the last tick."""
        return self._fields.reasons(0)


class ForagersParallel(_Parallel):
    """Several foragers in one field; one that is caught leaves."""

    metadata = {"render_modes": ["rgb_array"], "name": "formic_foragers_v0"}
    _dungeon = False

    def __init__(self, foragers: int = 4, render_mode: str | None = None, **rules: int) -> None:
        super().__init__([f"forager_{number}" for number in range(foragers)], render_mode, **rules)


class DungeonParallel(_Parallel):
    """Several thieves in one dungeon; one that is caught leaves."""

    metadata = {"render_modes": ["rgb_array"], "name": "formic_dungeon_v0"}
    _dungeon = True

    def __init__(self, thieves: int = 4, render_mode: str | None = None, **rules: int) -> None:
        super().__init__([f"thief_{number}" for number in range(thieves)], render_mode, **rules)
