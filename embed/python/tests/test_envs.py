"""The environments: by the checkers of the libraries they are for, and the same on any threads."""

import itertools

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from formic import FormicError  # noqa: E402
from formic.envs import Foragers, make_vec  # noqa: E402
from gymnasium.utils.env_checker import check_env  # noqa: E402


def test_gymnasium_finds_no_fault():
    check_env(gymnasium.make("formic/Foragers-v0", render_mode="rgb_array").unwrapped)


def test_pettingzoo_finds_no_fault():
    test = pytest.importorskip("pettingzoo.test")
    from formic.parallel import ForagersParallel

    test.parallel_api_test(ForagersParallel(), num_cycles=1000)
    test.parallel_seed_test(ForagersParallel)


def run(threads, ticks=300, num_envs=17):
    envs = make_vec(num_envs=num_envs, threads=threads, wolves=3)
    seen, _ = envs.reset(seed=5)
    random, trace = np.random.default_rng(1), []
    for _ in range(ticks):
        *answer, _ = envs.step(random.integers(0, 5, num_envs))
        trace.append([it.tobytes() for it in answer] + envs.unwrapped.state_hashes())
    return trace


def test_episodes_are_the_same_on_any_threads():
    first = run(0)
    assert all(run(threads) == first for threads in [1, 2, 3, 7])


def test_a_field_among_many_is_the_field_alone():
    many, alone = make_vec(num_envs=3, threads=2), Foragers()
    seen, _ = many.reset(seed=11)
    again, _ = alone.reset(seed=12)
    ended, ends = False, 0
    random = np.random.default_rng(3)
    for _ in range(500):
        assert np.array_equal(seen[1], again)
        assert many.unwrapped.state_hashes()[1] == alone.state_hash()
        actions = random.integers(0, 5, 3)
        seen, rewards, terminated, truncated, _ = many.step(actions)
        if ended:
            again, _ = alone.reset()
            assert rewards[1] == 0
            ended = False
            continue
        again, reward, *over, _ = alone.step(actions[1])
        assert (reward, *over) == (rewards[1], terminated[1], truncated[1])
        ended = any(over)
        ends += ended
    assert ends >= 2


def test_a_berry_is_worth_one_and_a_wolf_costs_five():
    env = Foragers(side=8, wolves=2, berries=20)
    env.reset(seed=1)
    env.action_space.seed(1)
    rewards, seeds = set(), itertools.count(2)
    for _ in range(2000):
        seen, reward, ended, truncated, _ = env.step(env.action_space.sample())
        assert seen[3, 3, 0] == 0 and set(np.unique(seen)) <= {0, 1}
        rewards.add(reward)
        assert ended == (reward < 0)
        if ended or truncated:
            env.reset(seed=next(seeds))
    assert {0.0, 1.0, -5.0} <= rewards


def test_wolves_say_why():
    env = Foragers()
    env.reset(seed=1)
    env.step(0)
    first = env.reasons()[0]
    assert first.startswith("tick 1: wolf 0 chose ") and " over " in first
    assert all(word in first for word in ["chase", "rest", "prowl"])


@pytest.mark.parametrize(
    "call",
    [
        lambda: Foragers(side=7),
        lambda: Foragers(side=257),
        lambda: Foragers(side=8, berries=64),
        lambda: _stepped(5),
        lambda: _stepped(255),
    ],
)
def test_bad_input_is_one_clear_error(call):
    with pytest.raises(FormicError):
        call()


def _stepped(action):
    env = Foragers()
    env.reset(seed=1)
    env.step(action)
