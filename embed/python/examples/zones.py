"""A world cut into zones, each with a log of its own; the figures of docs/scale.md.

Agents drift over a torus of 2 x 2 zones. A zone is a function of its log, which has its ticks with the inputs of players, and
the agents that came from other zones. Of two replicas of a zone one leads: it appends the next tick, if nothing else was
appended meanwhile, and then sends the agents that left to the logs of their zones, under a name that says tick and border.
Leaders are killed at random between the two; the other replica leads then, and sends again: what a log has is not taken twice.

``python zones.py`` runs it and prints the tables of the page, ``python zones.py --update`` writes them there.
"""

import argparse
import random
from pathlib import Path

import formic
import numpy as np

PAGE = Path(__file__).parent.parent.parent.parent / "docs" / "scale.md"
SPEED, SIZE, ZONES = 0.5, 100.0, 2
AGENT = np.dtype([("number", "u4"), ("x", "f4"), ("y", "f4"), ("vx", "f4"), ("vy", "f4")])


class Log:
    """A log with an order, that takes each name once."""

    def __init__(self):
        self.messages, self.names, self.twice, self.bytes = [], set(), 0, 0

    def append(self, name, data, last=None):
        """Whether it was taken: not if it was before, nor if another message came after `last`."""
        if last is not None and last != len(self.messages):
            return False
        if name in self.names:
            self.twice += 1
            return False
        self.names.add(name)
        self.messages.append((name, data))
        self.bytes += data.nbytes
        return True


class Replica:
    """One zone as a function of its log."""

    def __init__(self, row, column, agents):
        self.place, self.read, self.tick = (row, column), 0, 0
        self.world, self.entities, self.left = formic.World(), {}, {}
        for name, dtype in [("Number", "u4"), ("Position", [("x", "f4"), ("y", "f4")]), ("Velocity", [("x", "f4"), ("y", "f4")])]:
            self.world.register(name, dtype)
        self.take(agents)

    def take(self, agents):
        places, speeds = agents[["x", "y"]].tolist(), agents[["vx", "vy"]].tolist()
        came = self.world.spawn(len(agents), Number=agents["number"], Position=places, Velocity=speeds)
        self.entities.update(zip(agents["number"].tolist(), came, strict=True))

    def follow(self, log):
        """Does what the log has and this replica has not done."""
        for name, data in log.messages[self.read :]:
            if name[0] == "tick":
                self.step(data)
            else:
                self.take(data)
        self.read = len(log.messages)

    def step(self, kicks):
        self.tick += 1
        for kick in kicks:
            if (entity := self.entities.get(int(kick["number"]))) is not None:
                self.world.set(entity, "Velocity", (kick["vx"], kick["vy"]))
        gone = [np.zeros(0, AGENT)]
        with self.world.query("Number", "mut Position", "Velocity").columns() as runs:
            for number, position, velocity in runs:
                for axis in "xy":
                    position[axis] = (position[axis] + velocity[axis]) % np.float32(SIZE * ZONES)
                where = [np.floor_divide(position[axis], np.float32(SIZE)) for axis in "yx"]
                out = np.flatnonzero((where[0] != self.place[0]) | (where[1] != self.place[1]))
                rows = np.zeros(len(out), AGENT)
                rows["number"] = np.asarray(number)[out]
                for axis in "xy":
                    rows[axis], rows["v" + axis] = position[axis][out], velocity[axis][out]
                gone.append(rows)
        gone = np.concatenate(gone)
        self.world.despawn([self.entities.pop(it) for it in gone["number"].tolist()])
        # By the zone that they come to. Kept until the next tick: another leader may have to send them.
        places = np.stack([gone["y"] // SIZE, gone["x"] // SIZE], 1).astype(int) % ZONES
        self.left = {place: gone[(places == place).all(1)] for place in {tuple(it) for it in places.tolist()}}

    def send(self, logs):
        for place, agents in sorted(self.left.items()):
            logs[place].append(("agents", *self.place, self.tick), agents)


def simulate(agents=4000, ticks=100, players=40, seed=1):
    """Runs the world; returns what it came to. A broken promise is an AssertionError."""
    dice, random_numbers = random.Random(seed), np.random.default_rng(seed)
    all_agents = np.zeros(agents, AGENT)
    all_agents["number"] = np.arange(agents)
    for axis in "xy":
        all_agents[axis] = random_numbers.random(agents, "f4") * np.float32(SIZE * ZONES)
        all_agents["v" + axis] = (random_numbers.random(agents, "f4") * 2 - 1) * np.float32(SPEED)
    places = [(row, column) for row in range(ZONES) for column in range(ZONES)]

    def replica(place):
        inside = (all_agents["y"] // SIZE == place[0]) & (all_agents["x"] // SIZE == place[1])
        return Replica(*place, all_agents[inside])

    logs = {place: Log() for place in places}
    zones = {place: [replica(place), replica(place)] for place in places}
    killed = refused = crossed = most_away = 0
    for tick in range(1, ticks + 1):
        # Zones take turns in any order: no tick of one waits for a tick of another.
        for place in dice.sample(places, len(places)):
            leader, other = zones[place]
            log = logs[place]
            leader.follow(log)
            kicks = np.zeros(players // len(places), AGENT)
            kicks["number"] = random_numbers.integers(agents, size=len(kicks))
            for axis in ("vx", "vy"):
                kicks[axis] = (random_numbers.random(len(kicks), "f4") * 2 - 1) * np.float32(SPEED)
            assert log.append(("tick", tick), kicks, leader.read)
            # One that believes to lead still, and has read less.
            refused += not log.append(("tick", tick, "late"), kicks, other.read)
            leader.follow(log)
            crossed += sum(len(it) for it in leader.left.values())
            if dice.random() < 0.1:
                # Before it sends, or after: the other one leads, and a new one reads the log from the beginning.
                if dice.random() < 0.5:
                    leader.send(logs)
                killed += 1
                zones[place] = [other, replica(place)]
                leader = other
                leader.follow(log)
            leader.send(logs)
            other.follow(log)
        inside = [number for one, _ in zones.values() for number in one.entities]
        count = sum(len(one.world) for one, _ in zones.values())
        assert count == len(inside) == len(set(inside)), "no agent is there twice"
        most_away = max(most_away, agents - len(inside))
    for place, both in zones.items():
        again = replica(place)
        for one in (*both, again):
            one.follow(logs[place])
        assert len({one.world.state_hash() for one in (*both, again)}) == 1, "a zone is a function of its log"
        zones[place] = again
    for one in zones.values():
        one.world.check()
    assert sorted(number for one in zones.values() for number in one.entities) == list(range(agents)), "none is lost"
    return {
        "agents": agents, "ticks": ticks, "killed": killed, "refused": refused, "twice": sum(it.twice for it in logs.values()),
        "crossed": crossed / ticks, "expected": crossings(agents, SPEED, SIZE), "most_away": most_away,
        "bytes": sum(it.bytes for it in logs.values()) / ticks,
    }  # fmt: skip


def crossings(agents, speed, size):
    """How many agents leave their zone in a tick: evenly spread, each axis of their speed from -speed to speed."""
    # Through a unit of border goes a fourth of speed times density, and a square zone has 4 * size of it around size * size.
    return agents * speed / 4 * 4 * size / size**2


def simulated(found):
    yield "| in the simulation | |"
    yield "|---|---:|"
    yield f"| agents, zones, ticks | {found['agents']:,}, {ZONES * ZONES}, {found['ticks']} |"
    yield f"| leaders killed; replicas, also those that begin anew, that differ | {found['killed']}; 0 |"
    yield f"| ticks of a second leader that were refused | {found['refused']} |"
    yield f"| messages sent again and not taken twice | {found['twice']} |"
    yield "| agents lost, or there twice | 0 |"
    yield f"| agents that cross a border, a tick; by the model | {found['crossed']:.1f}; {found['expected']:.1f} |"
    yield f"| agents in no zone at the end of a tick, at most | {found['most_away']} |"
    yield f"| written to all logs, a tick | {found['bytes']:,.0f} bytes |"


# Measured: a utility agent with actions that are entities, and the same with a tenth thinking, ns a tick.
AGENT_NS, STAGGERED_NS = 172, 95
INPUT_BYTES, AGENT_BYTES, SEEN_AGENTS, SEEN_BYTES, VIEWS = 16, 64, 200, 12, 10


def costs(agents=1_000_000, players=10_000, rate=20, speed=0.1, size=2000.0):
    """Lines of the table: one machine, and four zones."""
    yield f"| at {agents:,} agents, {players:,} players and {rate} ticks a second | one zone | each of four |"
    yield "|---|---:|---:|"

    def row(name, value, form):
        return f"| {name} | {form.format(value)} | {form.format(value / 4)} |"

    yield row("utility agents with actions that are entities: cores that do nothing else", agents * AGENT_NS * rate / 1e9, "{:.1f}")
    yield row("the same, each thinking in a tenth of the ticks", agents * STAGGERED_NS * rate / 1e9, "{:.1f}")
    yield row("inputs into the log and to every replica, MB/s", players * INPUT_BYTES * rate / 1e6, "{:.1f}")
    yield row("the log of an hour, GB", players * INPUT_BYTES * rate * 3600 / 1e9, "{:.1f}")
    yield row("a snapshot, MB", agents * AGENT_BYTES / 1e6, "{:.0f}")
    yield row("views for players, Gbit/s", players * SEEN_AGENTS * SEEN_BYTES * VIEWS * 8 / 1e9, "{:.1f}")
    # Of four zones each borders on others on all sides.
    across = crossings(agents, speed, size)
    yield f"| agents that cross a border, a tick | 0 | {across / 4:.0f} |"
    yield f"| the same in the logs, kB/s | 0 | {across / 4 * AGENT_BYTES * rate / 1e3:.0f} |"


def tables():
    return {"simulation": list(simulated(simulate())), "costs": list(costs())}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--update", action="store_true", help="write the tables into docs/scale.md")
    given = parser.parse_args()
    page = PAGE.read_text()
    for name, lines in tables().items():
        print("\n".join(lines), end="\n\n")
        head, foot = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, rest = page.split(head)
        page = before + head + "\n".join(lines) + "\n" + foot + rest.split(foot)[1]
    if given.update:
        PAGE.write_text(page)


if __name__ == "__main__":
    main()
