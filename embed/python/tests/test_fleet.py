"""Fleets: on threads, and on a server whose workers are killed all the time."""

import contextlib
import json
import os
import random
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from formic import fleet

# A program of the shape that demos have: the hash is a function of its arguments, unless told to.
PROGRAM = """#!{python}
import argparse, hashlib, json, os, sys, time
parser = argparse.ArgumentParser()
parser.add_argument("demo")
for name in ["seed", "ticks", "threads", "agents", "at"]:
    parser.add_argument("--" + name, type=int, default=1)
parser.add_argument("--save")
parser.add_argument("--json", action="store_true")
given = parser.parse_args()
time.sleep(float(os.environ.get("FLEET_TEST_SECONDS", 0)))
if given.demo == "fails" or given.seed == int(os.environ.get("FLEET_TEST_FAILS", -1)):
    sys.exit("it is broken")
state = [given.demo, given.seed, given.ticks, given.agents]
if given.seed == 13 and "FLEET_TEST_FLAKY" in os.environ:
    state.append(given.threads)
digest = hashlib.sha256(repr(state).encode()).hexdigest()
if given.save:
    # As in the saves of demos: how they were made.
    open(given.save, "w").write(" ".join([digest, *sys.argv]))
print(json.dumps(dict(demo=given.demo, state_hash=digest[:16], seed=given.seed,
    agents=given.agents, berries=int(digest[:2], 16) * given.agents, elapsed_ms=time.time())))
"""


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "program"
    path.write_text(PROGRAM.replace("{python}", sys.executable))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def jobs(program, count, demo="ants"):
    name = fleet.hash_of(program)
    return [fleet.Job(name, (demo, "--agents", str(3 + seed % 2)), seed, 5) for seed in range(count)]


def test_answers_come_in_the_order_of_the_jobs(program):
    wanted = jobs(program, 12)
    answers = fleet.map(wanted, program, workers=3)
    assert [it.job for it in answers] == wanted and all(it.error is None for it in answers)
    assert fleet.map(wanted, program)[5].steady == answers[5].steady


def test_a_job_of_another_program_is_refused_here(program):
    other = fleet.Job(fleet.hash_of(sys.executable), ("ants",), 1, 5)
    with pytest.raises(fleet.FleetError, match="is not the program of job"):
        fleet.map([other], program)


def test_a_program_that_is_built_anew_meanwhile_gives_no_answers(program, tmp_path, monkeypatch):
    changing = tmp_path / "changing"
    shutil.copy(program, changing)
    wanted, run_job = jobs(changing, 3), fleet.run_job

    def build(*arguments, **more):
        with changing.open("a") as file:
            file.write("# of another version\n")
        return run_job(*arguments, **more)

    monkeypatch.setattr(fleet, "run_job", build)
    with pytest.raises(fleet.FleetError, match="another program than when this began"):
        # One at a time: a program is not started while another thread writes to it.
        fleet.map(wanted, changing, workers=1)


def test_without_ray_there_is_one_clear_error(program, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(fleet.FleetError, match="pip install ray"):
        fleet.map(jobs(program, 1), program, on="ray")
    with pytest.raises(fleet.FleetError, match="on moon: there are threads and ray"):
        fleet.map(jobs(program, 1), program, on="moon")


@pytest.mark.parametrize(
    "change",
    [
        {"arguments": [1]}, {"arguments": 7}, {"seed": "1"}, {"seed": 1.5}, {"seed": True}, {"ticks": None},
        {"save": 1}, {"program": None}, {"of_another_version": 1},
    ],
)  # fmt: skip
def test_a_job_is_read_as_it_was_written_or_not_at_all(program, change):
    (job,) = jobs(program, 1)
    assert fleet.Job.from_json(job.to_json()) == job
    with pytest.raises((ValueError, TypeError)):
        fleet.Job.from_json(json.dumps({**json.loads(job.to_json()), **change}))
    for text in ["", "7", "null", "[]", '"job"', "{}"]:
        with pytest.raises((ValueError, TypeError, KeyError)):
            fleet.Job.from_json(text)


@pytest.mark.parametrize(
    "change", [{"figures": {}}, {"figures": None}, {"error": 7}, {"copy": "1"}, {"job": {}}, {"job": None}, {"of_another_version": 1}]
)
def test_an_answer_is_read_as_it_was_written_or_not_at_all(program, change):
    answer = fleet.run_job(jobs(program, 1)[0], program)
    assert fleet.Answer.from_json(answer.to_json()) == answer
    with pytest.raises((ValueError, TypeError, KeyError)):
        fleet.Answer.from_json(json.dumps({**json.loads(answer.to_json()), **change}))


@pytest.mark.parametrize("printed", ["{}", '{"state_hash": 1}', '{"state_hash": null}', "[1]"])
def test_a_program_whose_hash_is_no_text_has_failed(tmp_path, printed):
    # A server would not give such an answer back: `from_json` refuses it.
    program = tmp_path / "program"
    program.write_text(f"#!{sys.executable}\nprint({printed!r})\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    answer = fleet.run_job(jobs(program, 1)[0], program)
    assert answer.error == "it printed no state_hash, which is a text"
    assert fleet.Answer.from_json(answer.to_json()) == answer


def test_ray_gives_the_answers_that_threads_give(program):
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR")
    try:
        wanted = jobs(program, 12)
        answers = fleet.map(wanted, program, on="ray")
    finally:
        ray.shutdown()
    assert [it.job for it in answers] == wanted
    assert [it.steady for it in answers] == [it.steady for it in fleet.map(wanted, program)]


def test_a_report_has_figures_by_arguments(program, capsys):
    arguments = ["run", "--program", str(program), "--seeds", "0:6", "--grid", "agents=1,10", "ants"]
    assert fleet.main(arguments) == 0
    said = capsys.readouterr().out
    assert said.startswith("12 jobs, 12 answers, 0 failed")
    assert "ants --agents 10" in said and "berries" in said and "elapsed_ms" in said


def test_a_failure_is_in_the_report(program, capsys):
    assert fleet.main(["run", "--program", str(program), "--seeds", "7", "fails"]) == 1
    assert "FAILED fails --seed 7 --ticks 100: it ended with status 1: it is broken" in capsys.readouterr().out


def test_a_sample_is_of_all_jobs_and_the_same_each_time(program):
    arguments = ["submit", "--program", str(program), "--seeds", "0:40", "--grid", "agents=1,10", "--sample", "7", "ants"]
    taken = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fleet, "_submit", lambda given: _keep(taken, fleet.jobs_of(given)))
        assert fleet.main(arguments) == fleet.main(arguments) == 0
    first, again = taken
    assert first == again and len({it.id for it in first}) == 7
    assert {it.arguments[-1] for it in first} == {"1", "10"} and len({it.seed for it in first}) > 3


async def _keep(taken, jobs):
    taken.append(jobs)


def test_a_plot_has_a_bar_with_a_deviation_for_each_group(program, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    drawn, file = [], tmp_path / "ants.png"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", lambda self, path: drawn.append(self) or path.write_bytes(b"drawn"))
        report = fleet.Report(fleet.map(jobs(program, 12), program))
        report.plot(file)
    assert file.read_bytes() == b"drawn"
    axes = {it.get_xlabel(): it for it in drawn[0].axes}
    berries = axes["berries, mean and deviation"]
    means = {row[0]: row[3] for row in report.table() if row[1] == "berries"}
    assert [bar.get_width() for bar in berries.patches] == list(means.values())
    assert [text.get_text() for text in berries.get_yticklabels()] == ["ants --agents 3", "ants --agents 4"]

    run = ["run", "--program", str(program), "--seeds", "0:4", "ants"]
    assert fleet.main([*run, "--plot", str(file)]) == 0
    assert file.read_bytes().startswith(b"\x89PNG")
    # What cannot be drawn does not cost the report.
    assert fleet.main([*run, "--plot", str(tmp_path / "ants.sound")]) == 2
    said = capsys.readouterr()
    assert said.out.count("4 jobs, 4 answers") == 2 and "ants.sound: " in said.err


def test_times_of_a_run_are_no_divergence(program):
    (job,) = jobs(program, 1)
    answers = [fleet.Answer(job, {"state_hash": "1", "tree_ns": it, "elapsed_ms": it, "ants": 3}) for it in (1, 2)]
    assert fleet.Report(answers).divergences() == []
    answers.append(fleet.Answer(job, {"state_hash": "1", "ants": 4}))
    assert len(fleet.Report(answers).divergences()) == 1


def test_a_hash_is_no_figure(program):
    figures = [{"state_hash": str(it), "behaviour_hash": 10**18 + it, "ants": it} for it in (3, 4)]
    answers = [fleet.Answer(job, it) for job, it in zip(jobs(program, 3)[::2], figures, strict=True)]
    assert [row[1] for row in fleet.Report(answers).table()] == ["ants"]


def test_a_second_answer_that_differs_is_a_divergence(program, monkeypatch):
    monkeypatch.setenv("FLEET_TEST_FLAKY", "1")
    wanted = jobs(program, 20)
    report = fleet.Report(fleet.map(wanted, program) + fleet.map(wanted, program, copy=1))
    ((one, other),) = report.divergences()
    assert one.job.seed == other.job.seed == 13
    text = str(report)
    assert "DIVERGENCE ants --agents 4 --seed 13 --ticks 5: " in text and "state_hash differ" in text
    assert "take it apart: demos diff --threads 1,8 ants --agents 4 --seed 13 --ticks 5" in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "--program", "no/such", "ants"], "no/such: No such file"),
        (["run", "--program", sys.executable, "--seeds", "x", "ants"], "--seeds x: a number, or FROM:TO"),
        (["run", "--program", sys.executable, "--seeds", "2:0", "ants"], "--seeds 2:0: there is none"),
        (["run", "--program", sys.executable, "--grid", "agents", "ants"], "--grid agents: NAME=VALUE"),
        (["report", "--server", "nats://127.0.0.1:9"], "no server at nats://127.0.0.1:9"),
        (["report", "--fleet", "a.b"], "a fleet cannot be called 'a.b'"),
    ],
)
def test_bad_input_is_one_clear_error(arguments, said, capsys):
    if arguments[0] == "report":
        pytest.importorskip("nats")
    assert fleet.main(arguments) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (["--sample", "0"], "--sample: 0: a whole number above 0"),
        (["--sample", "-3"], "--sample: -3: a whole number above 0"),
        (["--audit", "7"], "--audit: 7: a share from 0 to 1"),
        (["--jobs", "none"], "--jobs: none: a whole number above 0"),
        (["--ticks", "1.5"], "--ticks: 1.5: a whole number above 0"),
    ],
)
def test_an_option_without_sense_is_refused_before_anything_runs(option, said, capsys):
    with pytest.raises(SystemExit) as end:
        fleet.main(["run", "--program", sys.executable, *option, "ants"])
    assert end.value.code == 2 and said in capsys.readouterr().err


def nats_server():
    """Of this environment, or else of the system."""
    return shutil.which("nats-server", path=os.path.dirname(sys.executable)) or shutil.which("nats-server")


def free_port():
    """One below those that systems give to the near ends of connections: it is free again when a
    server that was killed starts anew, whatever was connected meanwhile."""
    for port in random.SystemRandom().sample(range(10_000, 30_000), 100):
        with socket.socket() as free, contextlib.suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


class Server:
    """A nats-server of our own, which can be killed and started again."""

    def __init__(self, folder):
        self.binary = nats_server()
        self.folder, self.port = folder, free_port()
        self.url = f"nats://127.0.0.1:{self.port}"
        #: How much it may keep, or all that there is.
        self.room = None
        self.start()

    def start(self):
        room = f", max_file_store: {self.room}" if self.room else ""
        config = Path(self.folder, "config")
        config.write_text(f'listen: "127.0.0.1:{self.port}", jetstream {{ store_dir: "{self.folder}"{room} }}')
        self.process = subprocess.Popen([self.binary, "-c", str(config), "-l", f"{self.folder}/log"])
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            log = Path(self.folder, "log")
            assert self.process.poll() is None, log.read_text() if log.exists() else "no server"
            time.sleep(0.05)

    def kill(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture
def server(tmp_path):
    pytest.importorskip("nats")
    if nats_server() is None:
        pytest.skip("there is no nats-server")
    server = Server(tmp_path)
    yield server
    server.kill()


def command(server, *arguments):
    return [sys.executable, "-m", "formic.fleet", arguments[0], "--server", server.url, *arguments[1:]]


def run(server, *arguments, **more):
    return subprocess.run(command(server, *arguments), capture_output=True, text=True, **more)


def submit(server, program, *more):
    return run(server, "submit", "--program", str(program), *more).stdout


def test_jobs_are_queued_once_and_answered_once(server, program):
    asked = ["--seeds", "0:5", "ants"]
    assert submit(server, program, *asked) == "5 queued, 5 asked for\n"
    assert submit(server, program, *asked) == "0 queued, 5 asked for\n"
    assert run(server, "report").stdout.startswith("5 jobs wait for an answer\n")
    assert run(server, "work", "--program", str(program), "--once").stdout == "5 answered\n"
    report = run(server, "report", "--wait")
    assert report.stdout.startswith("5 jobs, 5 answers, 0 failed") and report.returncode == 0


def test_what_failed_is_run_again(server, program):
    asked = ["--seeds", "0:4", "ants"]
    submit(server, program, *asked)
    run(server, "work", "--program", str(program), "--once", env={**os.environ, "FLEET_TEST_FAILS": "2"})
    assert run(server, "report").returncode == 1
    assert submit(server, program, "--failed", *asked) == "1 queued, 1 asked for\n"
    run(server, "work", "--program", str(program), "--once")
    report = run(server, "report")
    assert report.stdout.startswith("4 jobs, 5 answers, 0 failed") and report.returncode == 0


def test_a_build_that_is_not_deterministic_is_found_and_named(server, program):
    assert submit(server, program, "--seeds", "0:20", "--audit", "1", "ants") == "40 queued, 20 asked for\n"
    run(server, "work", "--program", str(program), "--once", env={**os.environ, "FLEET_TEST_FLAKY": "1"})
    report = run(server, "report")
    assert report.returncode == 1
    assert report.stdout.count("DIVERGENCE") == 1
    assert "DIVERGENCE ants --seed 13 --ticks 100" in report.stdout


def test_a_job_of_another_program_waits_for_its_worker(server, program, tmp_path):
    other = tmp_path / "other"
    shutil.copy(program, other)
    with other.open("a") as file:
        file.write("# of another version\n")
    submit(server, program, "--seeds", "0:3", "ants")
    wrong = subprocess.Popen(command(server, "work", "--program", str(other)), stderr=subprocess.PIPE, text=True)
    assert "is for another program than" in wrong.stderr.readline()
    wrong.kill()
    wrong.wait()
    # What is not for it, it does not wait for.
    once = run(server, "work", "--program", str(other), "--once", timeout=30)
    assert once.stdout == "0 answered\n" and "3 jobs wait for workers of other programs" in once.stderr
    assert run(server, "work", "--program", str(program), "--once").stdout == "3 answered\n"


def test_the_world_at_the_end_is_kept(server, program):
    import asyncio

    submit(server, program, "--seeds", "4", "--save", "--audit", "1", "ants")
    run(server, "work", "--program", str(program), "--once")
    report = run(server, "report")
    assert report.stdout.startswith("1 jobs, 2 answers, 0 failed") and report.returncode == 0

    async def saved():
        async with fleet.Fleet.connect(server.url, "fleet") as found:
            answer, _ = await found.answers()
            return answer, await found.saved(answer.job)

    answer, data = asyncio.run(saved())
    assert data.decode().startswith(answer.figures["state_hash"])


def test_nothing_is_lost_when_workers_and_the_server_are_killed(server, program, monkeypatch):
    monkeypatch.setenv("FLEET_TEST_SECONDS", "0.05")
    # The short version; scripts/deep-check has 200 jobs, and each worker killed five times.
    count, least = (int(it) for it in os.environ.get("FLEET_TEST_SIZE", "40 2").split())
    kills, dice = [0] * 4, random.Random(1)
    submit(server, program, "--seeds", f"0:{count}", "ants")
    work = command(server, "work", "--program", str(program))
    workers = [subprocess.Popen(work, stderr=subprocess.DEVNULL) for _ in kills]
    server_kills = 0
    while min(kills) < least or server_kills < 2:
        time.sleep(dice.uniform(0.1, 0.6))
        number = min(range(4), key=lambda it: (kills[it], dice.random()))
        workers[number].send_signal(signal.SIGKILL)
        workers[number].wait()
        workers[number] = subprocess.Popen(work, stderr=subprocess.DEVNULL)
        kills[number] += 1
        if sum(kills) in (3, 6):
            server.kill()
            time.sleep(0.5)
            server.start()
            server_kills += 1
    assert [it.poll() for it in workers] == [None] * 4, "a worker waits for its server"
    report = run(server, "report", "--wait")
    for worker in workers:
        worker.kill()
        worker.wait()
    assert report.returncode == 0 and f"{count} jobs, " in report.stdout, report.stdout

    monkeypatch.setenv("FLEET_TEST_SECONDS", "0")
    serial = fleet.map([fleet.Job(fleet.hash_of(program), ("ants",), it, 100) for it in range(count)], program)
    expected = {it.job.id: it.steady for it in serial}
    assert json.loads(json.dumps(answers_of(server))) == expected


def answers_of(server):
    import asyncio

    async def all_of():
        async with fleet.Fleet.connect(server.url, "fleet") as found:
            return await found.answers()

    report = fleet.Report(asyncio.run(all_of()))
    assert not report.divergences()
    return {it.job.id: it.steady for it in report.good()}


def test_a_job_that_the_server_forgot_is_queued_again(server, program):
    """After a kill a server may take a job for done that has no answer, or the other way round."""
    import asyncio

    submit(server, program, "--seeds", "0:5", "ants")

    async def forget():
        async with fleet.Fleet.connect(server.url, "fleet") as found:
            workers = await found._subscribe()
            for message in await workers.fetch(2):
                await message.ack_sync()
            # And this one is answered, but not acknowledged.
            (message,) = await workers.fetch(1)
            (job, copy) = fleet._job_of(message)
            answer = fleet.run_job(job, program, copy)
            await found._js.publish(f"{found._answers}.{job.id}", answer.to_json().encode())
            await message.nak()

    asyncio.run(forget())
    assert run(server, "work", "--program", str(program), "--once").stdout == "5 answered\n"
    report = run(server, "report")
    assert report.stdout.startswith("5 jobs, 6 answers, 0 failed"), report


def test_what_is_no_job_or_no_answer_is_thrown_out(server, program):
    import asyncio

    submit(server, program, "--seeds", "0:2", "ants")
    poison = fleet.Job(fleet.hash_of(program), ("ants", 7), 1, 5).to_json().encode()

    async def disturb():
        async with fleet.Fleet.connect(server.url, "fleet") as found:
            await found._js.publish(found._jobs, b"what is this")
            await found._js.publish(found._jobs, poison)
            await found._js.publish(f"{found._answers}.none", b"and this")

    asyncio.run(disturb())
    work = run(server, "work", "--program", str(program), "--once")
    assert work.stdout == "2 answered\n" and "this is no job: b'what is this'" in work.stderr
    assert work.stderr.count("this is no job") == 2
    report = run(server, "report", "--wait")
    assert report.stdout.startswith("2 jobs, 2 answers, 0 failed") and report.returncode == 0
    assert "this is no answer: b'and this'" in report.stderr


def test_a_worker_whose_program_is_built_anew_ends_and_loses_nothing(server, program, tmp_path):
    changing = tmp_path / "changing"
    shutil.copy(program, changing)
    submit(server, changing, "--seeds", "0:12", "ants")
    work = subprocess.Popen(
        command(server, "work", "--program", str(changing), "--once"),
        stderr=subprocess.PIPE, text=True, env={**os.environ, "FLEET_TEST_SECONDS": "1"},
    )  # fmt: skip
    while run(server, "report").stdout.startswith("12 jobs wait"):
        assert work.poll() is None
    # In one step, as linkers do: a file that is open for writing cannot be started.
    newer = tmp_path / "newer"
    newer.write_text(program.read_text() + "# of another version\n")
    newer.chmod(0o755)
    newer.replace(changing)
    said = work.communicate()[1]
    assert work.returncode == 2 and "is another program than when this began" in said, said
    before = int(run(server, "report").stdout.split()[0])
    assert 0 < before < 12
    assert run(server, "work", "--program", str(program), "--once").stdout == f"{before} answered\n"
    assert run(server, "report").stdout.startswith("12 jobs, 12 answers, 0 failed")


def test_a_program_that_cannot_be_run_is_one_clear_error(server, program, tmp_path):
    dull = tmp_path / "dull"
    shutil.copyfile(program, dull)
    submit(server, dull, "--seeds", "0:1", "ants")
    work = run(server, "work", "--program", str(dull), "--once")
    assert work.returncode == 2 and work.stderr == f"error: {dull}: Permission denied\n"
    assert run(server, "report").stdout.startswith("1 jobs wait for an answer")
    here = [sys.executable, "-m", "formic.fleet", "run", "--program", str(dull), "ants"]
    here = subprocess.run(here, capture_output=True, text=True)
    assert here.returncode == 2 and here.stderr == f"error: {dull}: Permission denied\n"


def test_a_save_that_was_not_written_is_a_failure_of_its_job(server, program, tmp_path):
    forgetful = tmp_path / "forgetful"
    forgetful.write_text(program.read_text().replace("if given.save:", "if False:"))
    forgetful.chmod(0o755)
    submit(server, forgetful, "--seeds", "0:1", "--save", "ants")
    assert run(server, "work", "--program", str(forgetful), "--once").stdout == "1 answered\n"
    report = run(server, "report")
    assert report.returncode == 1 and "it wrote no save: No such file or directory" in report.stdout


def test_a_worker_with_a_full_disk_says_so_and_loses_nothing(server, program):
    resource = pytest.importorskip("resource")

    def full():
        # No file of the worker or of its program can grow.
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    work = ["work", "--program", str(program), "--once"]
    submit(server, program, "--seeds", "0:1", "ants")
    assert run(server, *work, preexec_fn=full).stdout == "1 answered\n"
    submit(server, program, "--seeds", "0:1", "--save", "ants")
    ended = run(server, *work, preexec_fn=full)
    assert ended.returncode == 2 and ended.stderr.startswith("error: no room for a save: "), ended.stderr
    assert ended.stderr.count("\n") == 1
    assert run(server, *work).stdout == "1 answered\n"
    assert run(server, "report").stdout.startswith("2 jobs, 2 answers, 0 failed")


def test_a_worker_waits_for_its_server(server, program):
    submit(server, program, "--seeds", "0:2", "ants")
    server.kill()
    work = subprocess.Popen(
        command(server, "work", "--program", str(program), "--once"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert "; waiting for it" in work.stderr.readline()
    server.start()
    assert work.communicate()[0] == "2 answered\n"


def test_a_full_disk_is_one_clear_error_and_loses_nothing(server, program):
    import asyncio

    submit(server, program, "--seeds", "0:3", "ants")
    server.kill()
    server.room = "40KB"
    server.start()
    wanted = [fleet.Job(fleet.hash_of(program), ("ants",), seed, 100) for seed in range(400)]

    async def fill():
        async with fleet.Fleet.connect(server.url, "fleet") as found:
            found._patience = 0.3
            with pytest.raises(fleet.FleetError, match="the server refused: .*(storage|resource)"):
                await found.submit(wanted)
            return await found.pending()

    assert 3 < asyncio.run(fill()) < 400
    server.kill()
    server.room = None
    server.start()

    async def again():
        async with fleet.Fleet.connect(server.url, "fleet") as found:
            await found.submit(wanted)
            return await found.pending()

    assert asyncio.run(again()) == 400


def test_a_world_goes_on_when_its_leader_is_killed(server, tmp_path):
    """Three replicas; the one that leads at tick 100 is killed, and so at 200; another one is started each time."""
    example = os.path.join(os.path.dirname(__file__), "..", "examples", "failover.py")
    said = []

    def start():
        said.append(tmp_path / f"replica{len(said)}")
        call = [sys.executable, example, "--server", server.url, "--ticks", "400", "--die-at", "100", "--die-at", "200"]
        with said[-1].open("w") as out:
            return subprocess.Popen(call, stdout=out)

    replicas, ends = [start() for _ in range(3)], []
    while replicas:
        time.sleep(0.02)
        for ended in [it for it in replicas if it.poll() is not None]:
            replicas.remove(ended)
            ends.append(ended.returncode)
            if ended.returncode == -signal.SIGKILL:
                replicas.append(start())
    assert sorted(ends) == [-signal.SIGKILL] * 2 + [0] * 3
    hashes = {}
    for file in said:
        for line in file.read_text().splitlines():
            tick, digest, _ = line.split()
            hashes.setdefault(int(tick), set()).add(digest)
    assert set(hashes) == set(range(50, 401, 50)) and all(len(it) == 1 for it in hashes.values())
    assert len({tuple(it) for it in hashes.values()}) == len(hashes)
