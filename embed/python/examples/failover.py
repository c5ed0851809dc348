"""One world on several machines: the inputs of its ticks are a log, and whoever has read the log has the world.

A leader appends the inputs of the next tick; the server takes them only if nothing else was appended meanwhile
(``expected-last-sequence``), so that of two leaders one is refused and becomes a follower. Every replica reads the log and
does the ticks. Now and then the leader keeps a snapshot, and a replica that starts begins there.

Start it several times, and kill them as you like: ``python failover.py --server nats://127.0.0.1:4222 --ticks 400``. Each
prints ``tick hash role`` for every fiftieth tick; the hashes of one tick are equal.
"""

import argparse
import asyncio
import random
import sys

import numpy as np
from nats.js.api import StreamConfig
from nats.js.errors import APIError

import formic

STREAM, SUBJECT, SNAPSHOTS = "formic_world", "formic.world.ticks", "formic_world"
VECTOR = np.dtype([("x", "f4"), ("y", "f4")])


class Game:
    """A thousand agents that drift; an input kicks one of them."""

    def __init__(self):
        self.tick = 0
        self.world = formic.World()
        self.world.register("Position", VECTOR)
        self.world.register("Velocity", VECTOR)
        self.agents = self.world.spawn(1000, Position=(0, 0), Velocity=(0, 0))

    def step(self, kicks):
        self.tick += 1
        for number, x, y in np.frombuffer(kicks, [("agent", "i4"), ("x", "f4"), ("y", "f4")]):
            self.world.set(self.agents[number], "Velocity", (x, y))
        with self.world.query("mut Position", "Velocity").columns() as runs:
            for position, velocity in runs:
                position["x"] += velocity["x"]
                position["y"] += velocity["y"]


def kicks(dice):
    """What the players do in a tick; only the leader asks."""
    some = [(dice.randrange(1000), dice.uniform(-1, 1), dice.uniform(-1, 1)) for _ in range(3)]
    return np.array(some, [("agent", "i4"), ("x", "f4"), ("y", "f4")]).tobytes()


async def lead(js, game, dice):
    """Appends the next tick; whether this replica is the leader."""
    try:
        # The message of tick n has the sequence n.
        header = {"Nats-Expected-Last-Sequence": str(game.tick)}
        await js.publish(SUBJECT, kicks(dice), headers=header, timeout=2)
        return True
    except APIError as refused:
        if refused.err_code != 10071:  # wrong last sequence
            raise
        return False


async def run(server, ticks, seed):
    import nats

    connection = await nats.connect(server, max_reconnect_attempts=-1, reconnect_time_wait=0.2)
    js, game, dice = connection.jetstream(), Game(), random.Random(seed)
    await js.add_stream(StreamConfig(STREAM, subjects=[SUBJECT]))
    store = await js.create_object_store(SNAPSHOTS)
    try:
        kept = await store.get("latest")
        game.tick = int(kept.info.description)
        game.world.restore(kept.data)
    except nats.js.errors.ObjectNotFoundError:
        pass
    leading, quiet = False, 0.0
    while game.tick < ticks:
        try:
            message = await js.get_msg(STREAM, game.tick + 1)
        except nats.js.errors.NotFoundError:
            # Nothing new: the leader goes on, and a follower takes over after a while.
            if leading or quiet > 0.5:
                leading = await lead(js, game, dice)
            else:
                quiet += 0.05 + dice.random() / 20
                await asyncio.sleep(0.05)
            continue
        except (nats.errors.Error, OSError):
            await asyncio.sleep(0.1)
            continue
        quiet = 0.0
        game.step(message.data)
        if game.tick % 50 == 0:
            role = "leads" if leading else "follows"
            print(f"{game.tick} {game.world.state_hash():016x} {role}", flush=True)
            if leading:
                meta = nats.js.api.ObjectMeta(description=str(game.tick))
                await store.put("latest", game.world.snapshot(), meta=meta)
        if leading:
            await asyncio.sleep(0.002)
    await connection.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--server", default="nats://127.0.0.1:4222")
    parser.add_argument("--ticks", type=int, default=400)
    parser.add_argument("--seed", type=int, default=None, help="of the players")
    given = parser.parse_args()
    asyncio.run(run(given.server, given.ticks, given.seed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
