"""Measures, and writes the tables of embed/python/README.md between their marks.

``pip install gymnasium pettingzoo mesa envpool`` beside a release build, then ``python bench/figures.py``. A peer that is not
installed has no row.
"""

import importlib.util
import os
import platform
import sys
import time
from pathlib import Path

import formic
import gymnasium
import numpy as np
from formic import envs as _registers  # noqa: F401

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
SECONDS = 3.0


def rate(count, step):
    """Steps of one environment in a second: the best of three rounds."""
    best = 0.0
    for _ in range(3):
        begun, steps = time.perf_counter(), 0
        while time.perf_counter() < begun + SECONDS / 3:
            step()
            steps += count
        best = max(best, steps / (time.perf_counter() - begun))
    return best


def of_vector(envs):
    envs.reset(seed=1)
    actions = [envs.action_space.sample() for _ in range(64)]
    place = iter(range(1 << 60))
    return rate(envs.num_envs, lambda: envs.step(actions[next(place) % 64]))


def of_envpool(name, count):
    import envpool

    envs = envpool.make(name, env_type="gymnasium", num_envs=count, seed=1)
    envs.reset()
    actions = [np.random.default_rng(it).integers(0, 2, count).astype(np.int32) for it in range(64)]
    place = iter(range(1 << 60))
    return rate(count, lambda: envs.step(actions[next(place) % 64]))


def steps(count=256):
    others = os.cpu_count() - 1
    rows = []
    for name in ("formic/Foragers-v0", "formic/Dungeon-v0"):
        for threads in sorted({0, others}):
            rate_of = of_vector(formic.make_vec(name, count, threads))
            rows.append((f"`{name}` by `formic.make_vec`, {'one thread' if threads == 0 else f'{threads + 1} threads'}", rate_of))
        rows.append((f"`{name}` one by one (`SyncVectorEnv`)", of_vector(gymnasium.make_vec(name, count, vectorization_mode="sync"))))
    text = "`CartPole-v1`, vectorised by numpy (Gymnasium's own)"
    rows.append((text, of_vector(gymnasium.make_vec("CartPole-v1", count, vectorization_mode="vector_entry_point"))))
    if importlib.util.find_spec("envpool"):
        for name in ("CartPole-v1", "FrozenLake-v1"):
            rows.append((f"`{name}` by EnvPool", of_envpool(name, count)))
    yield f"| {count} environments | steps a second |"
    yield "|---|---:|"
    for name, value in rows:
        yield f"| {name} | {value:,.0f} |"


def between(mark, lines):
    text = README.read_text()
    head, foot = f"<!-- {mark} -->\n", f"<!-- end of {mark} -->"
    before, rest = text.split(head)
    after = rest.split(foot)[1]
    README.write_text(before + head + "\n".join(lines) + "\n" + foot + after)


def main():
    sys.path.insert(0, str(HERE.parent / "examples"))
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, numpy {np.__version__}, by `python bench/figures.py`."
    between("steps", [*steps(), "", machine])
    if importlib.util.find_spec("mesa"):
        import mesa
        import schelling

        between("models", [*schelling.table(), "", f"Mesa {mesa.__version__}; {machine}"])


if __name__ == "__main__":
    main()
