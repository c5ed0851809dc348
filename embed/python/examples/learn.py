"""Learns to forage by policy gradients, with numpy alone.

A linear policy over the 196 numbers that a forager sees, advantages by discounted returns, Adam. Prints the
reward per 200 ticks of what acts at random, and of what was learned.
"""

import argparse
import time

import numpy as np
from formic.envs import make_vec


def probabilities(weights, seen):
    scores = seen @ weights
    scores -= scores.max(1, keepdims=True)
    shares = np.exp(scores)
    return shares / shares.sum(1, keepdims=True)


def features(seen):
    flat = seen.reshape(len(seen), -1)
    return np.concatenate([flat, np.ones((len(flat), 1), np.float32)], 1)


def choose(random, shares):
    return (shares.cumsum(1) > random.random((len(shares), 1))).argmax(1)


def play(weights, num_envs, threads, seed, ticks=200):
    """The reward of each environment over some ticks."""
    envs = make_vec(num_envs=num_envs, threads=threads)
    seen, _ = envs.reset(seed=seed)
    random, total = np.random.default_rng(seed), np.zeros(num_envs)
    for _ in range(ticks):
        seen, rewards, *_ = envs.step(choose(random, probabilities(weights, features(seen))))
        total += rewards
    return total


def learn(updates, num_envs, threads, seed, span=32, discount=0.95, rate=0.01):
    envs = make_vec(num_envs=num_envs, threads=threads)
    seen, _ = envs.reset(seed=seed)
    random = np.random.default_rng(seed)
    seen = features(seen)
    weights = np.zeros((seen.shape[1], 5))
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    for update in range(1, updates + 1):
        steps = []
        for _ in range(span):
            shares = probabilities(weights, seen)
            actions = choose(random, shares)
            after, rewards, ended, truncated, _ = envs.step(actions)
            steps.append((seen, shares, actions, rewards, ended | truncated))
            seen = features(after)
        returns, gradient = np.zeros(num_envs), np.zeros_like(weights)
        for seen_then, shares, actions, rewards, over in reversed(steps):
            returns = rewards + discount * returns * ~over
            advantage = (returns - returns.mean()) / (returns.std() + 1e-6)
            wanted = -shares
            wanted[np.arange(num_envs), actions] += 1
            gradient += seen_then.T @ (wanted * advantage[:, None])
        gradient /= span * num_envs
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        step = mean / (1 - 0.9**update) / (np.sqrt(square / (1 - 0.999**update)) + 1e-8)
        weights += rate * step
    return weights


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--updates", type=int, default=200)
    parser.add_argument("--envs", type=int, default=128)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    begun = time.monotonic()
    weights = learn(given.updates, given.envs, given.threads, given.seed)
    took = time.monotonic() - begun
    by_chance = play(np.zeros_like(weights), 256, given.threads, 1000)
    learned = play(weights, 256, given.threads, 1000)
    print(f"{given.updates * given.envs * 32} steps in {took:.1f} s")
    print(f"reward in 200 ticks: {by_chance.mean():.2f} by chance, {learned.mean():.2f} learned")


if __name__ == "__main__":
    main()
