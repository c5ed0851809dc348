"""Fleets: many runs of one program, on threads here or on many machines over NATS JetStream.

A job is a program (by the hash of its file), arguments, a seed and a number of ticks. Its answer is what the
program prints with ``--json``: figures and a ``state_hash``. Runs are deterministic, so delivering a job
*at least once* is enough: a second answer has to be equal, and one that is not is a divergence found.

::

    python -m formic.fleet run    --program target/release/demos --seeds 0:100 cats --ticks 500
    python -m formic.fleet submit --program target/release/demos --seeds 0:100 --grid agents=500,1000 cats --ticks 500
    python -m formic.fleet work   --program target/release/demos
    python -m formic.fleet report --wait

``run`` needs no server. The others need ``nats-server -js`` and ``pip install nats-py``. Workers and
the server may be killed at any time; what was not answered is run again.

On the server there are two logs, from which nothing goes: the jobs that were asked for, and the answers.
What waits is the difference. A consumer hands out the jobs, and is believed in nothing else: jobs without
an answer that it takes for done, which servers do after a kill, are queued again.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import dataclasses
import functools
import hashlib
import itertools
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

#: Figures of the machine, not of the run, beside all that end with "_ns" or "_ms".
UNSTEADY = {"ns_per_agent_tick", "threads"}
#: After so many seconds without a sign of life a job is given to another worker.
ACK_SECONDS = 10.0
#: A worker waits for its server so many seconds, also one that starts before it.
PATIENCE = 3600.0


class FleetError(Exception):
    """What cannot be done, and what to do about it."""


@dataclasses.dataclass(frozen=True)
class Job:
    """One run."""

    #: The SHA-256 of the program's file.
    program: str
    #: What stands before the seed, such as ``("cats", "--agents", "500")``.
    arguments: tuple[str, ...]
    seed: int
    ticks: int
    #: Whether the world at the end is to be kept.
    save: bool = False

    @property
    def id(self) -> str:
        """Equal for equal jobs."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:24]

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), sort_keys=True)

    @staticmethod
    def from_json(text: str | bytes) -> Job:
        fields = json.loads(text)
        job = Job(**{**fields, "arguments": tuple(fields["arguments"])})
        texts, numbers = (job.program, *job.arguments), (job.seed, job.ticks)
        if not (all(type(it) is str for it in texts) and all(type(it) is int for it in numbers) and type(job.save) is bool):
            raise ValueError(f"this is no job: {text!r}")
        return job

    def __str__(self) -> str:
        return f"{' '.join(self.arguments)} --seed {self.seed} --ticks {self.ticks}"


@dataclasses.dataclass(frozen=True)
class Answer:
    """What became of a job."""

    job: Job
    #: What the program printed; empty if it failed.
    figures: dict[str, Any]
    #: Why it failed.
    error: str | None = None
    #: Who ran it.
    worker: str = ""
    #: Which of the runs that were asked for.
    copy: int = 0

    @property
    def steady(self) -> dict[str, Any]:
        """What every other answer has to be equal in."""
        some = self.figures.items()
        return {key: it for key, it in some if key not in UNSTEADY and not key.endswith(("_ns", "_ms"))}

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), sort_keys=True)

    @staticmethod
    def from_json(text: str | bytes) -> Answer:
        fields = json.loads(text)
        answer = Answer(**{**fields, "job": Job.from_json(json.dumps(fields["job"]))})
        is_good = answer.error is None and type(answer.figures) is dict and type(answer.figures.get("state_hash")) is str
        if not (is_good or type(answer.error) is str) or type(answer.copy) is not int:
            raise ValueError(f"this is no answer: {text!r}")
        return answer


def hash_of(program: str | Path) -> str:
    """The name that a program has in a job."""
    try:
        return hashlib.sha256(Path(program).read_bytes()).hexdigest()
    except OSError as error:
        raise FleetError(f"{program}: {error.strerror or error}") from error


def _state_of(program: str | Path) -> tuple[int, ...]:
    """What is another after the program was built anew."""
    try:
        state = os.stat(program)
    except OSError as error:
        raise FleetError(f"{program}: {error.strerror or error}") from error
    return state.st_mtime_ns, state.st_size, state.st_ino


def _expect_unchanged(program: str | Path, state: tuple[int, ...]) -> None:
    if _state_of(program) != state:
        raise FleetError(f"{program} is another program than when this began: begin again")


def _command(job: Job, program: str | Path, copy: int, save: Path | None = None) -> list[str]:
    # A second run is one on other threads, which must not matter.
    threads = (1, 3, 2, 8)[copy % 4]
    command = [str(Path(program).resolve()), *job.arguments, "--json", "--threads", str(threads)]
    command += ["--seed", str(job.seed), "--ticks", str(job.ticks)]
    return command if save is None else [*command, "--save", str(save), "--at", str(job.ticks)]


def _answer(job: Job, copy: int, status: int, out: bytes, err: bytes) -> Answer:
    answer = Answer(job, {}, None, f"{socket.gethostname()}:{os.getpid()}", copy)
    if status != 0:
        last = err.decode(errors="replace").strip().splitlines()[-1:] or ["without a word"]
        return dataclasses.replace(answer, error=f"it ended with status {status}: {last[0]}")
    try:
        figures = json.loads(out)
    except ValueError:
        return dataclasses.replace(answer, error=f"it printed no JSON: {out[:80]!r}")
    if not isinstance(figures, dict) or type(figures.get("state_hash")) is not str:
        return dataclasses.replace(answer, error="it printed no state_hash, which is a text")
    return dataclasses.replace(answer, figures=figures)


def run_job(job: Job, program: str | Path, copy: int = 0) -> Answer:
    """Runs a job here and now."""
    try:
        done = subprocess.run(_command(job, program, copy), capture_output=True, check=False)
    except OSError as error:
        raise FleetError(f"{program}: {error.strerror or error}") from error
    return _answer(job, copy, done.returncode, done.stdout, done.stderr)


def map(
    jobs: Iterable[Job],
    program: str | Path,
    *,
    workers: int | None = None,
    on: str = "threads",
    copy: int = 0,
) -> list[Answer]:
    """Runs jobs and returns their answers in the same order: on threads here, or ``on="ray"``."""
    jobs = list(jobs)
    state, expected = _state_of(program), hash_of(program)
    for job in jobs:
        if job.program != expected:
            raise FleetError(f"{program} is not the program of job {job.id}")
    if on == "ray":
        try:
            import ray  # type: ignore[import-not-found, unused-ignore]
        except ImportError as error:
            raise FleetError("on ray: `pip install ray`") from error
        remote: Any = ray.remote(run_job)
        answers = list(ray.get([remote.remote(job, str(program), copy) for job in jobs]))
    elif on == "threads":
        with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
            answers = list(pool.map(functools.partial(run_job, program=program, copy=copy), jobs))
    else:
        raise FleetError(f"on {on}: there are threads and ray")
    _expect_unchanged(program, state)
    return answers


class Report:
    """Answers, put together."""

    def __init__(self, answers: Iterable[Answer]) -> None:
        self.of: dict[str, list[Answer]] = {}
        for answer in answers:
            self.of.setdefault(answer.job.id, []).append(answer)

    def good(self) -> list[Answer]:
        """An answer for each job that has one without an error."""
        first = (next((it for it in some if it.error is None), None) for some in self.of.values())
        return [it for it in first if it is not None]

    def failed(self) -> list[Answer]:
        """The last answer of each job that has none without an error."""
        return [some[-1] for some in self.of.values() if all(it.error is not None for it in some)]

    def divergences(self) -> list[tuple[Answer, Answer]]:
        """Two answers of each job whose answers are not all equal."""
        found = []
        for some in self.of.values():
            good = [it for it in some if it.error is None]
            other = next((it for it in good if it.steady != good[0].steady), None)
            if other is not None:
                found.append((good[0], other))
        return found

    def table(self) -> Iterator[tuple[str, str, int, float, float, float, float]]:
        """By arguments and figure: how many, mean, deviation, least and most."""
        groups: dict[str, list[dict[str, Any]]] = {}
        for answer in self.good():
            groups.setdefault(" ".join(answer.job.arguments), []).append(answer.figures)
        for arguments, runs in sorted(groups.items()):
            for figure in runs[0]:
                if figure in {"seed", "threads"} or figure.endswith("hash"):
                    continue
                values = [run.get(figure) for run in runs]
                numbers = [it for it in values if isinstance(it, int | float) and it is not True]
                if len(set(numbers)) > 1:
                    mean, deviation = statistics.fmean(numbers), statistics.stdev(numbers)
                    yield arguments, figure, len(numbers), mean, deviation, min(numbers), max(numbers)

    def __str__(self) -> str:
        count = sum(len(some) for some in self.of.values())
        lines = [f"{len(self.of)} jobs, {count} answers, {len(self.failed())} failed"]
        head, last = ("arguments", "figure", "runs", "mean", "deviation", "least", "most"), ""
        rows = [(*row[:2], str(row[2]), *(f"{it:.6g}" for it in row[3:])) for row in self.table()]
        for row in [head, *rows] if rows else []:
            lines.append(f"{'' if row[0] == last else row[0]:<32} {row[1]:<24}" + "".join(f" {it:>11}" for it in row[2:]))
            last = row[0]
        lines += [f"FAILED {it.job}: {it.error}" for it in self.failed()]
        for one, other in self.divergences():
            keys = sorted(one.steady.keys() | other.steady.keys())
            differs = [it for it in keys if one.steady.get(it) != other.steady.get(it)]
            lines.append(f"DIVERGENCE {one.job}: {', '.join(differs)} differ")
            for it in (one, other):
                lines.append(f"  {it.figures['state_hash']} by {it.worker}")
            lines.append(f"  take it apart: demos diff --threads 1,8 {one.job}")
        return "\n".join(lines)

    def plot(self, file: str | Path) -> None:
        """Draws the means with their deviations, one picture for each figure (needs matplotlib)."""
        try:
            from matplotlib.figure import Figure  # type: ignore[import-not-found, unused-ignore]
        except ImportError:
            raise FleetError(f"{file}: pictures need matplotlib") from None

        rows = list(self.table())
        figures = sorted({row[1] for row in rows})
        picture = Figure(figsize=(8, 2.2 * max(1, len(figures))), layout="constrained")
        axes = picture.subplots(max(1, len(figures)), squeeze=False)[:, 0]
        for axis, figure in zip(axes, figures, strict=False):
            some = [row for row in rows if row[1] == figure]
            axis.barh([row[0] for row in some], [row[3] for row in some], xerr=[row[4] for row in some])
            axis.set_xlabel(f"{figure}, mean and deviation")
        try:
            picture.savefig(file)
        except (OSError, ValueError) as error:
            raise FleetError(f"{file}: {error}") from error


class Fleet:
    """Jobs and answers on a server. Use :meth:`connect` as ``async with``."""

    def __init__(self, connection: Any, name: str, patience: float = 0.0) -> None:
        self._js = connection.jetstream(timeout=5)
        self._patience = max(patience, 60.0)
        self._reading = asyncio.Lock()
        self._name = name
        self._jobs, self._answers = f"formic.{name}.jobs", f"formic.{name}.answers"
        self._read_jobs: list[tuple[Job, int]] = []
        self._read_answers: list[Answer] = []
        self._next = {"jobs": 1, "answers": 1}

    @staticmethod
    @contextlib.asynccontextmanager
    async def connect(server: str, name: str, patience: float = 0.0) -> Any:
        """A fleet on a server, which is made if it is not there.

        ``patience`` is how many seconds to wait for a server that is not there.
        """
        try:
            import nats
        except ImportError as error:
            raise FleetError("a server needs `pip install nats-py`") from error
        if not name.isidentifier():
            raise FleetError(f"a fleet cannot be called {name!r}: letters, digits and _")

        async def quiet(_error: Exception) -> None: ...

        # A client that comes back after its server has restarted also waits for ever for one that
        # was never there: this one looks.
        connect = functools.partial(nats.connect, server, connect_timeout=3, error_cb=quiet)
        end, said = asyncio.get_running_loop().time() + patience, False
        while True:
            try:
                await (await connect(allow_reconnect=False, max_reconnect_attempts=1)).close()
                connection = await connect(max_reconnect_attempts=-1, reconnect_time_wait=0.2)
                break
            except (OSError, nats.errors.Error) as error:
                text = f"no server at {server} ({error or type(error).__name__}): start `nats-server -js`"
                if asyncio.get_running_loop().time() >= end:
                    raise FleetError(text) from error
                if not said:
                    print(f"{text}; waiting for it", file=sys.stderr)
                    said = True
                await asyncio.sleep(0.2)
        try:
            fleet = Fleet(connection, name, patience)
            await fleet._make()
            yield fleet
        finally:
            with contextlib.suppress(Exception):
                await connection.close()

    async def _make(self) -> None:
        from nats.js.api import ConsumerConfig, StreamConfig

        for stream, subject in [
            (self._stream("jobs"), self._jobs),
            (self._stream("answers"), f"{self._answers}.*"),
        ]:
            config = StreamConfig(stream, subjects=[subject], duplicate_window=24 * 3600.0)
            await self._persist(functools.partial(self._js.add_stream, config))
        workers = ConsumerConfig(durable_name="workers", ack_wait=ACK_SECONDS, max_deliver=-1)
        await self._persist(lambda: self._js.add_consumer(self._stream("jobs"), workers))

    def _stream(self, kind: str) -> str:
        return f"formic_{self._name}_{kind}"

    async def _persist(
        self, call: Callable[[], Awaitable[Any]], passed: type[Exception] | tuple[()] = ()
    ) -> Any:
        """Calls until the server answers: it may be starting again, or have a full disk."""
        from nats.errors import Error
        from nats.js.errors import APIError

        begun, said = asyncio.get_running_loop().time(), False
        while True:
            try:
                return await call()
            except passed:
                raise
            except (Error, OSError, asyncio.TimeoutError) as error:
                refused = isinstance(error, APIError) and 400 <= (error.code or 0) < 500
                waited, why = asyncio.get_running_loop().time() - begun, error or type(error).__name__
                if refused or waited > self._patience:
                    raise FleetError(f"the server refused: {why}") from error
                if waited > 5 and not said:
                    print(f"waiting for the server: {why}", file=sys.stderr)
                    said = True
                await asyncio.sleep(0.2)

    async def submit(self, jobs: Iterable[Job], copy: int = 0) -> int:
        """Queues jobs, and returns how many of them were not queued before: in the last day, for as long
        the server knows. One that is queued again is run again.

        Another ``copy`` of a job is run again, and its answer compared.
        """
        return sum([await self._publish(job, f"{job.id}.{copy}") for job in jobs])

    async def _publish(self, job: Job, name: str) -> bool:
        """Whether the job was queued: by one name it is once."""
        publish = functools.partial(
            self._js.publish, self._jobs, job.to_json().encode(), headers={"Nats-Msg-Id": name}
        )
        return not (await self._persist(publish)).duplicate

    async def _read(self, kind: str) -> list[Any]:
        """The messages of a log that were not read yet."""
        from nats.js.errors import NotFoundError

        stream, found = self._stream(kind), []
        async with self._reading:
            state = (await self._persist(lambda: self._js.stream_info(stream))).state
            for number in range(max(self._next[kind], state.first_seq), state.last_seq + 1):
                get = functools.partial(self._js.get_msg, stream, number)
                # A number may be empty, after a server was killed while it wrote.
                with contextlib.suppress(NotFoundError):
                    found.append(await self._persist(get, passed=NotFoundError))
            self._next[kind] = state.last_seq + 1
        return found

    async def _read_all_jobs(self) -> None:
        for message in await self._read("jobs"):
            with contextlib.suppress(ValueError, TypeError, KeyError):
                self._read_jobs.append(_job_of(message))

    async def _without_answer(self) -> list[tuple[Job, int]]:
        done = {(answer.job.id, answer.copy) for answer in await self.answers()}
        waiting = {(job.id, copy): (job, copy) for job, copy in self._read_jobs}
        return [some for key, some in waiting.items() if key not in done]

    async def pending(self, program: str | None = None) -> int:
        """How many jobs wait for an answer: all of them, or those of the program with this hash."""
        await self._read_all_jobs()
        waiting = await self._without_answer()
        return sum(program in (None, job.program) for job, _ in waiting)

    async def answers(self) -> list[Answer]:
        """All answers there are."""
        for message in await self._read("answers"):
            try:
                self._read_answers.append(Answer.from_json(message.data))
            except (ValueError, TypeError, KeyError):
                print(f"this is no answer: {message.data[:80]!r}", file=sys.stderr)
        return list(self._read_answers)

    async def _settle(self) -> int:
        """How many jobs are on their way; 0 only if each has its answer in the log.

        What the consumer takes for done without an answer is queued again.
        """
        if out := await self._handed_out():
            return out
        # In this order: what was asked for, whether all of it was acknowledged, and so answered.
        await self._read_all_jobs()
        if out := await self._handed_out():
            return out
        waiting = await self._without_answer()
        for job, copy in waiting:
            # Of all that find it missing in a log of this length, one queues it.
            await self._publish(job, f"{job.id}.{self._next['jobs']}.{copy}")
        return len(waiting)

    async def _handed_out(self) -> int:
        stream = self._stream("jobs")
        info = await self._persist(lambda: self._js.consumer_info(stream, "workers"))
        return (info.num_pending or 0) + (info.num_ack_pending or 0)

    async def saved(self, job: Job) -> bytes:
        """The save of a job that was to be kept."""
        store = await self._saves()
        # It waits without an end for the parts of one that is replaced meanwhile.
        kept = await self._persist(lambda: asyncio.wait_for(store.get(job.id), 20))
        return bytes(kept.data)

    async def _saves(self) -> Any:
        return await self._persist(lambda: self._js.create_object_store(f"formic_{self._name}"))

    async def work(self, program: str | Path, *, once: bool = False) -> int:
        """Takes jobs and answers them, for ever or until none of this program waits; returns how many.

        Jobs of another program go back, and are given to another worker.
        """
        from nats.errors import Error

        state, expected, done = _state_of(program), hash_of(program), 0
        workers = await self._persist(lambda: self._subscribe())
        while True:
            try:
                (message,) = await workers.fetch(1, timeout=0.5)
            except (Error, OSError, asyncio.TimeoutError):
                await self._settle()
                if once and not await self.pending(expected):
                    return done
                continue
            try:
                job, copy = _job_of(message)
            except (ValueError, TypeError, KeyError):
                print(f"this is no job: {message.data[:80]!r}", file=sys.stderr)
                with contextlib.suppress(Error, OSError):
                    await message.term()
                continue
            if job.program != expected:
                print(f"job {job.id} is for another program than {program}", file=sys.stderr)
                with contextlib.suppress(Error, OSError):
                    await message.nak(delay=1)
                if once and not await self.pending(expected):
                    return done
                await asyncio.sleep(0.2)
                continue
            running = self._run(job, program, copy)
            answer = await self._with_signs_of_life(message, running)
            # The job is given to another worker.
            _expect_unchanged(program, state)
            subject, text = f"{self._answers}.{job.id}", answer.to_json().encode()
            # The answer is kept before the job goes: one who dies in between leaves both.
            await self._persist(lambda: self._js.publish(subject, text))
            with contextlib.suppress(Error, OSError):
                await message.ack_sync(timeout=2)
            done += 1

    async def _subscribe(self) -> Any:
        return await self._js.pull_subscribe_bind("workers", stream=self._stream("jobs"))

    async def _with_signs_of_life(self, message: Any, running: Awaitable[Answer]) -> Answer:
        task = asyncio.ensure_future(running)
        while not task.done():
            await asyncio.wait([task], timeout=ACK_SECONDS / 3)
            if not task.done():
                with contextlib.suppress(Exception):
                    await message.in_progress()
        return task.result()

    async def _run(self, job: Job, program: str | Path, copy: int) -> Answer:
        with contextlib.ExitStack() as folders:
            save = None
            if job.save:
                try:
                    save = Path(folders.enter_context(tempfile.TemporaryDirectory(prefix="formic-")), "save")
                except OSError as error:
                    raise FleetError(f"no room for a save: {error.strerror or error}") from error
            pipe = asyncio.subprocess.PIPE
            command = _command(job, program, copy, save)
            try:
                process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
            except OSError as error:
                raise FleetError(f"{program}: {error.strerror or error}") from error
            try:
                out, err = await process.communicate()
            finally:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
            answer = _answer(job, copy, process.returncode or 0, out, err)
            if save is not None and answer.error is None:
                try:
                    data = save.read_bytes()
                except OSError as error:
                    return dataclasses.replace(answer, figures={}, error=f"it wrote no save: {error.strerror or error}")
                store = await self._saves()
                await self._persist(lambda: store.put(job.id, data))
        return answer


def _job_of(message: Any) -> tuple[Job, int]:
    """The job in a message, and its copy."""
    name = (message.headers or {}).get("Nats-Msg-Id", "")
    return Job.from_json(message.data), int(name.rpartition(".")[2] or 0)


def jobs_of(given: argparse.Namespace) -> list[Job]:
    """The jobs that a command line asks for: seeds times the grid, or a sample of it."""
    program = hash_of(given.program)
    first, _, end = given.seeds.partition(":")
    try:
        seeds = range(int(first), int(end)) if end else range(int(first), int(first) + 1)
    except ValueError:
        raise FleetError(f"--seeds {given.seeds}: a number, or FROM:TO") from None
    if not seeds:
        raise FleetError(f"--seeds {given.seeds}: there is none, as FROM:TO is without TO")
    axes = []
    for text in given.grid:
        name, _, values = text.partition("=")
        if not name or not values:
            raise FleetError(f"--grid {text}: NAME=VALUE,VALUE")
        axes.append([(f"--{name}", value) for value in values.split(",")])
    points = [tuple(itertools.chain(*point)) for point in itertools.product(*axes)]
    jobs = [
        Job(program, (*given.demo, *point), seed, given.ticks, given.save)
        for point in points
        for seed in seeds
    ]
    if given.sample is not None:
        jobs = random.Random(0).sample(jobs, min(given.sample, len(jobs)))
    return jobs


def _audited(jobs: list[Job], given: argparse.Namespace) -> list[Job]:
    return random.Random(1).sample(jobs, round(given.audit * len(jobs)))


def _count(text: str) -> int:
    """A whole number above 0 of the command line."""
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text}: a whole number above 0")


def _share(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 <= float(text) <= 1:
            return float(text)
    raise argparse.ArgumentTypeError(f"{text}: a share from 0 to 1")


async def _submit(given: argparse.Namespace) -> None:
    async with Fleet.connect(given.server, given.fleet) as fleet:
        jobs = jobs_of(given)
        if given.failed:
            report = Report(await fleet.answers())
            again = {it.job.id: len(report.of[it.job.id]) for it in report.failed()}
            jobs = [job for job in jobs if job.id in again]
            new = sum([await fleet.submit([job], again[job.id]) for job in jobs])
        else:
            new = await fleet.submit(jobs)
            new += await fleet.submit(_audited(jobs, given), 1)
        print(f"{new} queued, {len(jobs)} asked for")


async def _work(given: argparse.Namespace) -> None:
    async with Fleet.connect(given.server, given.fleet, PATIENCE) as fleet:
        some = (fleet.work(given.program, once=given.once) for _ in range(given.jobs))
        print(f"{sum(await asyncio.gather(*some))} answered")
        if left := await fleet.pending():
            print(f"{left} jobs wait for workers of other programs", file=sys.stderr)


async def _report(given: argparse.Namespace) -> Report:
    async with Fleet.connect(given.server, given.fleet) as fleet:
        most = 0
        while (left := await (fleet._settle() if given.wait else fleet.pending())) and given.wait:
            most = max(most, left)
            bar = "#" * round(40 * (most - left) / most)
            print(f"\r[{bar:<40}] {left} left ", end="", file=sys.stderr, flush=True)
            await asyncio.sleep(0.5)
        if most:
            print(file=sys.stderr)
        if left:
            print(f"{left} jobs wait for an answer")
        return Report(await fleet.answers())


def _show(report: Report, given: argparse.Namespace) -> int:
    print(report)
    if given.plot:
        report.plot(given.plot)
    return 1 if report.divergences() or report.failed() else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns 1 if a job failed or two answers differ, 2 for bad input."""
    parser = argparse.ArgumentParser(
        prog="python -m formic.fleet", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )  # fmt: skip
    commands = parser.add_subparsers(dest="command", required=True)
    made = {}
    for name, text in [
        ("run", "run jobs on threads here, and report"),
        ("submit", "queue jobs on the server"),
        ("work", "take jobs from the server and answer them"),
        ("report", "put the answers together"),
    ]:
        command = made[name] = commands.add_parser(name, help=text)
        if name != "run":
            command.add_argument("--server", default="nats://127.0.0.1:4222")
            command.add_argument("--fleet", default="fleet", help="the name of the queue")
        if name != "report":
            command.add_argument("--program", required=True, help="a file that can be run")
        if name in {"run", "submit"}:
            command.add_argument("--seeds", default="0:10", help="one, or FROM:TO without TO")
            command.add_argument("--grid", action="append", default=[], metavar="NAME=VALUE,VALUE")
            command.add_argument("--sample", type=_count, help="only so many of all these jobs")
            command.add_argument("--save", action="store_true", help="keep the worlds (with a server)")
            command.add_argument("--ticks", type=_count, default=100)
            command.add_argument("--audit", type=_share, default=0.0, help="the share to be run twice")
            command.add_argument("demo", nargs="+", help="what the program is to run")
        if name in {"run", "report"}:
            command.add_argument("--plot", metavar="FILE", help="draw it (needs matplotlib)")
    made["run"].add_argument("--jobs", type=_count, help="at a time")
    made["submit"].add_argument("--failed", action="store_true", help="those that failed, again")
    made["work"].add_argument("--jobs", type=_count, default=1, help="at a time")
    made["work"].add_argument("--once", action="store_true", help="until there are no jobs")
    made["report"].add_argument("--wait", action="store_true", help="until there are no jobs")
    given = parser.parse_args(arguments)
    try:
        if given.command == "run":
            given.save, jobs = False, jobs_of(given)
            answers = map(jobs, given.program, workers=given.jobs)
            answers += map(_audited(jobs, given), given.program, workers=given.jobs, copy=1)
            return _show(Report(answers), given)
        if given.command == "report":
            return _show(asyncio.run(_report(given)), given)
        asyncio.run({"submit": _submit, "work": _work}[given.command](given))
        return 0
    except FleetError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
