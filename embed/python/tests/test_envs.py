"""The environments: by the checkers of the libraries they are for, and the same on any threads."""

import itertools

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

import formic  # noqa: E402
from formic import FormicError  # noqa: E402
from formic.envs import Dungeon, Foragers, make_vec  # noqa: E402
from gymnasium.utils.env_checker import check_env  # noqa: E402


IDS = ["formic/Foragers-v0", "formic/Dungeon-v0"]


@pytest.mark.parametrize("name", IDS)
def test_gymnasium_finds_no_fault(name):
    check_env(gymnasium.make(name, render_mode="rgb_array").unwrapped)


@pytest.mark.parametrize("name", ["ForagersParallel", "DungeonParallel"])
def test_pettingzoo_finds_no_fault(name):
    test = pytest.importorskip("pettingzoo.test")
    import formic.parallel

    kind = getattr(formic.parallel, name)
    test.parallel_api_test(kind(), num_cycles=1000)
    test.parallel_seed_test(kind)


def run(name, threads, ticks=120, num_envs=13):
    envs = formic.make_vec(name, num_envs, threads)
    seen, _ = envs.reset(seed=5)
    random, trace = np.random.default_rng(1), []
    for _ in range(ticks):
        *answer, _ = envs.step(random.integers(0, envs.single_action_space.n, num_envs))
        trace.append([it.tobytes() for it in answer] + envs.unwrapped.state_hashes())
    return trace


@pytest.mark.parametrize("name", IDS)
def test_episodes_are_the_same_on_any_threads(name):
    first = run(name, 0)
    assert all(run(name, threads) == first for threads in [1, 2, 3, 7])


def test_every_environment_is_drawn():
    envs = make_vec("formic/Dungeon-v0", 3, render_mode="rgb_array", side=40)
    envs.reset(seed=1)
    images = envs.render()
    assert len(images) == 3 and {it.shape for it in images} == {(320, 320, 3)}
    assert not np.array_equal(images[0], images[1])


def test_a_thief_digs_its_way_and_closes_it_behind():
    env, dug, closed = Dungeon(guards=0, gold=0), 0, 0
    seen, _ = env.reset(seed=2)
    for _ in range(60):
        closed_south, closed_north = seen[4, 3, 0], seen[2, 3, 0]
        seen, reward, *_ = env.step(3)
        if closed_south and reward < 0:
            # Rock was dug, from where it stands: it is open now, and to be gone to.
            assert reward == pytest.approx(-0.05) and seen[4, 3, 0] == 0
            assert seen[2, 3, 0] == closed_north
            dug += 1
            seen, reward, *_ = env.step(3)
            assert reward == 0 and seen[2, 3, 0] == 0
            seen, reward, *_ = env.step(5)
            assert reward == pytest.approx(-0.05) and seen[2, 3, 0] == 1
            closed += 1
            # It is closed already.
            seen, reward, *_ = env.step(5)
            assert reward == 0 and seen[2, 3, 0] == 1
    assert dug >= 1 and closed == dug


def test_a_closed_way_holds_guards_up():
    """Thieves that dig into rock and close the way behind live longer than those that stand in the open."""

    def lives(shut):
        total = 0
        for seed in range(20):
            env = Dungeon(guards=6, gold=0)
            seen, _ = env.reset(seed=seed)
            ended = truncated = False
            while not (ended or truncated):
                action = 0 if not shut else 5 if seen[2, 3, 0] == 0 and seen[4, 3, 0] == 1 else 3
                seen, _, ended, truncated, _ = env.step(action)
                total += 1
        return total

    assert lives(True) > 2 * lives(False)


def test_all_outcomes_of_a_dungeon_happen():
    env = Dungeon(guards=20, gold=300)
    env.reset(seed=1)
    env.action_space.seed(1)
    rewards, seeds = set(), itertools.count(2)
    for _ in range(3000):
        seen, reward, ended, truncated, _ = env.step(env.action_space.sample())
        assert seen[3, 3, 0] == 0
        rewards.add(round(reward, 2))
        if ended or truncated:
            env.reset(seed=next(seeds))
    assert {0.0, 1.0, -0.05, -5.0} <= rewards
    assert env.reasons()[0].startswith("tick ") and "guard 0 chose " in env.reasons()[0]


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
    assert env.reasons() == env.decisions() == []
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
        lambda: _stepped(-1),
        lambda: _stepped(300),
        lambda: Foragers(guards=2),
        lambda: Dungeon(side=31),
        lambda: make_vec(num_envs=1_000_000_000),
        lambda: make_vec(num_envs=2, threads=100_000),
        lambda: _stepped(6, Dungeon),
    ],
)
def test_bad_input_is_one_clear_error(call):
    with pytest.raises(FormicError):
        call()


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (FormicError, lambda envs: envs.reset(seed=[1, 2])),
        (FormicError, lambda envs: envs.reset(seed=[1, 2, 3, 4])),
        (gymnasium.error.Error, lambda envs: envs.reset(seed=[1, 2, -3])),
        (gymnasium.error.Error, lambda envs: envs.reset(seed=-7)),
        (FormicError, lambda envs: envs.step(np.zeros(3))),
        (FormicError, lambda envs: envs.step(np.array(["north"] * 3))),
        (FormicError, lambda envs: envs.step(None)),
        (FormicError, lambda envs: envs.step(np.zeros(2, int))),
        (FormicError, lambda envs: envs.step(np.zeros((3, 2), int))),
        (FormicError, lambda envs: envs.unwrapped.reasons(3)),
        (OverflowError, lambda envs: envs.unwrapped.reasons(-1)),
        (TypeError, lambda envs: Foragers().step(1.5)),
        (TypeError, lambda envs: Foragers().step("north")),
    ],
)
def test_a_call_that_is_refused_changes_no_episode(error, call):
    envs, others = make_vec(num_envs=3, threads=1, ticks=2), make_vec(num_envs=3, ticks=2)
    for it in (envs, others):
        it.reset(seed=4)
        # All of them begin anew in the next step.
        it.step(np.full(3, 2))
        it.step(np.full(3, 2))
    with pytest.raises(error):
        call(envs)
    for _ in range(3):
        for it in (envs, others):
            it.step(np.full(3, 2))
        assert envs.unwrapped.state_hashes() == others.unwrapped.state_hashes()


def test_a_seed_may_be_a_number_of_numpy():
    envs = make_vec(num_envs=2)
    first, _ = envs.reset(seed=3)
    for seed in (np.int64(3), [np.int64(3), 4], np.array([3, 4])):
        again, _ = envs.reset(seed=seed)
        assert np.array_equal(first, again)


def test_seeds_are_those_of_single_environments():
    envs = make_vec(num_envs=3)
    singles = gymnasium.make_vec("formic/Foragers-v0", 3, vectorization_mode="sync")
    for seed in ([1, 2, 3], [None, 7, None], None, 5, [None, None, 1]):
        assert np.array_equal(envs.reset(seed=seed)[0], singles.reset(seed=seed)[0])


def _stepped(action, kind=Foragers):
    env = kind()
    env.reset(seed=1)
    env.step(action)
