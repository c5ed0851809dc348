"""One world on several machines: the inputs of its ticks are a log, and whoever has read the log has the world.

A leader appends the inputs of the next tick; the server takes them only if nothing else was appended meanwhile
(``expected-last-sequence``), so that of two leaders one is refused. Every replica reads the log and does the ticks; who
wrote the last of them leads. Now and then the leader keeps a snapshot, and a replica that starts begins there.

Start it several times, and kill them as you like: ``python failover.py --server nats://127.0.0.1:4222 --ticks 400``. Each
prints ``tick hash role`` for every fiftieth tick; the hashes of one tick are equal.
"""

import argparse
import asyncio
import contextlib
import os
import random
import signal
import sys
import uuid

import nats
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


async def append(js, game, dice, name):
    """Appends the next tick, if no other replica has: the log tells."""
    # The message of tick n has the sequence n.
    header = {"Nats-Expected-Last-Sequence": str(game.tick), "Writer": name}
    try:
        await js.publish(SUBJECT, kicks(dice), headers=header, timeout=2)
    except APIError as refused:
        if refused.err_code != 10071:  # wrong last sequence
            raise
    except (nats.errors.Error, OSError):
        await asyncio.sleep(0.1)


async def begin(store):
    """The game of the last snapshot, or of tick 0: the log has all that followed."""
    game = Game()
    try:
        # It waits without an end for the parts of one that the leader replaces meanwhile.
        kept = await asyncio.wait_for(store.get("latest"), 5)
        game.world.restore(kept.data)
        game.tick = int(kept.info.description)
        return game
    except (nats.errors.Error, OSError, formic.BadDataError):
        # There is none, or the leader replaced it meanwhile.
        return Game()


async def run(server, ticks, seed, die_at):
    connection = await nats.connect(server, max_reconnect_attempts=-1, reconnect_time_wait=0.2)
    js, dice, name = connection.jetstream(), random.Random(seed), uuid.uuid4().hex
    await js.add_stream(StreamConfig(STREAM, subjects=[SUBJECT]))
    store = await js.create_object_store(SNAPSHOTS)
    game, leads, quiet = await begin(store), False, 0.0
    while game.tick < ticks:
        try:
            message = await js.get_msg(STREAM, game.tick + 1)
        except nats.js.errors.NotFoundError:
            # Nothing new: the leader goes on, and a follower takes over after a while.
            if leads or quiet > 0.5:
                await append(js, game, dice, name)
            else:
                quiet += 0.05 + dice.random() / 20
                await asyncio.sleep(0.05)
            continue
        except (nats.errors.Error, OSError):
            await asyncio.sleep(0.1)
            continue
        leads, quiet = message.headers["Writer"] == name, 0.0
        game.step(message.data)
        if game.tick % 50 == 0:
            print(f"{game.tick} {game.world.state_hash():016x} {'leads' if leads else 'follows'}", flush=True)
        if leads and game.tick in die_at:
            os.kill(os.getpid(), signal.SIGKILL)
        if leads and game.tick % 50 == 0:
            meta = nats.js.api.ObjectMeta(description=str(game.tick))
            # Without it the next replica to start reads more of the log.
            with contextlib.suppress(nats.errors.Error, OSError):
                await store.put("latest", game.world.snapshot(), meta=meta)
        if leads:
            await asyncio.sleep(0.002)
    await connection.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--server", default="nats://127.0.0.1:4222")
    parser.add_argument("--ticks", type=int, default=400)
    parser.add_argument("--seed", type=int, default=None, help="of the players")
    parser.add_argument("--die-at", type=int, action="append", default=[], help="a tick at which the leader is killed")
    given = parser.parse_args()
    asyncio.run(run(given.server, given.ticks, given.seed, given.die_at))
    return 0


if __name__ == "__main__":
    sys.exit(main())
