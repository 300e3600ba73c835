"""Measure `bboxqa batch` on several hosts: network namespaces of this machine, a core each.

    python benchmarks/hosts.py --data DIR

Each host has an address and a disk for temporary files of its own, and is tied to the others by
links of 1 Gbit/s. The scheduler and the client are a host too. Projects are on a disk that all of
them see; with `--store` they are in a store that speaks S3 (moto), and the workers do not see the
disk. Needs Linux, root, `ip` and `tc`; nothing outside of the namespaces is touched.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from growth import CASES, make
from results import machine_facts, write_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent
SWITCH = "bboxqa-switch"
# Name and last number of the address; the first is where the user sits.
HOSTS = {"bboxqa-client": 1, "bboxqa-one": 2, "bboxqa-two": 3}
CLIENT, *WORKERS = HOSTS
SCHEDULER = "tcp://10.77.0.1:8786"
STORE = "http://10.77.0.1:5000"
OF_STORE = {
    "AWS_ENDPOINT_URL": STORE,
    "AWS_ACCESS_KEY_ID": "anybody",
    "AWS_SECRET_ACCESS_KEY": "anything",
    "AWS_DEFAULT_REGION": "us-east-1",
}


def run(*command: str) -> None:
    """Run a command that sets up the network."""
    subprocess.run(command, check=True)


@contextmanager
def network(rate: str) -> Iterator[None]:
    """Tie the hosts together by a switch."""
    try:
        run("ip", "netns", "add", SWITCH)
        run("ip", "-n", SWITCH, "link", "add", "switch", "type", "bridge")
        run("ip", "-n", SWITCH, "link", "set", "switch", "up")
        for name, number in HOSTS.items():
            port = f"port{number}"
            run("ip", "netns", "add", name)
            run("ip", "link", "add", "eth0", "netns", name, "type", "veth",
                "peer", "name", port, "netns", SWITCH)  # fmt: skip
            run("ip", "-n", SWITCH, "link", "set", port, "master", "switch", "up")
            run("ip", "-n", name, "addr", "add", f"10.77.0.{number}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                run("ip", "-n", name, "link", "set", device, "up")
            for place, device in ((name, "eth0"), (SWITCH, port)):
                run("ip", "netns", "exec", place, "tc", "qdisc", "add", "dev", device, "root",
                    "tbf", "rate", rate, "burst", "1mb", "latency", "50ms")  # fmt: skip
        yield
    finally:
        for name in (*HOSTS, SWITCH):
            subprocess.run(["ip", "netns", "del", name], check=False)


def moved() -> int:
    """Return the bytes at the workers' hosts; what goes from one to the other is there twice."""
    total = 0
    for name in WORKERS:
        text = subprocess.run(
            ["ip", "-n", name, "-s", "-j", "link", "show", "eth0"], check=True, capture_output=True
        ).stdout
        (link,) = json.loads(text)
        total += sum(link["stats64"][way]["bytes"] for way in ("rx", "tx"))
    return total


@contextmanager
def started(host: str, command: Sequence[str], hidden: Path | None = None) -> Iterator[None]:
    """Run a program on a host; it does not see a hidden folder."""
    if hidden is not None:
        shell = 'mount -t tmpfs none "$0" && exec "$@"'
        command = ["unshare", "--mount", "sh", "-c", shell, str(hidden), *command]
    process = subprocess.Popen(
        ["ip", "netns", "exec", host, *command],
        env={**os.environ, **OF_STORE},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def cluster(n_hosts: int, scratch: Path, hidden: Path | None) -> Iterator[None]:
    """Run a scheduler, and a worker on each of so many hosts, on a core of its own."""
    dask = [sys.executable, "-m", "dask"]
    with ExitStack() as stack:
        scheduler = [*dask, "scheduler", "--host", "10.77.0.1", "--port", "8786", "--no-dashboard"]
        stack.enter_context(started(CLIENT, scheduler))
        for core, name in enumerate(WORKERS[:n_hosts]):
            own = scratch / name
            own.mkdir(exist_ok=True)
            worker = [
                "taskset", "-c", str(core), *dask, "worker", SCHEDULER, "--nworkers", "1",
                "--nthreads", "1", "--no-dashboard", "--host", f"10.77.0.{HOSTS[name]}",
                "--local-directory", str(own),
            ]  # fmt: skip
            stack.enter_context(started(name, worker, hidden))
        wait = (
            "from distributed import Client; "
            f"Client({SCHEDULER!r}).wait_for_workers({n_hosts}, timeout=60)"
        )
        run("ip", "netns", "exec", CLIENT, sys.executable, "-c", wait)
        yield


def batch(root: str, out: Path, *options: str, host: str | None = None) -> float:
    """Run a cold batch; return how long it took, in seconds."""
    shutil.rmtree(out, ignore_errors=True)
    where = [] if host is None else ["ip", "netns", "exec", host]
    begun = time.perf_counter()
    done = subprocess.run(
        [*where, str(BIN / "bboxqa"), "batch", root, "--out", str(out), *options],
        env={**os.environ, **OF_STORE},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    if done.returncode not in (0, 1):
        sys.exit(f"{root}: {done.stderr.decode(errors='replace')}")
    return time.perf_counter() - begun


def results(out: Path, root: str, apart: str) -> dict[str, bytes]:
    """Return the files of a run by name, without what tells times and where the root is."""
    return {
        file.relative_to(out).as_posix(): file.read_bytes().replace(root.encode(), b"ROOT")
        for file in sorted(out.rglob("*"))
        if file.is_file() and not file.name.startswith((".lock", ".root", "history.", apart))
    }


@contextmanager
def stored(root: Path) -> Iterator[str]:
    """Copy projects into a store on the client's host; yield its address."""
    server = [sys.executable, "-m", "moto.server", "-H", "10.77.0.1", "-p", "5000"]
    copy = (
        "import sys, time, s3fs\n"
        "for _ in range(60):\n"
        "    try:\n"
        "        s3fs.S3FileSystem(skip_instance_cache=True).mkdir('projects')\n"
        "        break\n"
        "    except OSError:\n"
        "        time.sleep(0.5)\n"
        "s3fs.S3FileSystem().put(sys.argv[1] + '/', 'projects/root', recursive=True)\n"
    )
    with started(CLIENT, server):
        subprocess.run(
            ["ip", "netns", "exec", CLIENT, sys.executable, "-c", copy, str(root)],
            env={**os.environ, **OF_STORE},
            check=True,
        )
        yield "s3://projects/root"


def cut(host: str, seconds: float) -> threading.Timer:
    """Pull the plug of a host after a while."""
    timer = threading.Timer(seconds, run, ("ip", "-n", host, "link", "set", "eth0", "down"))
    timer.start()
    return timer


def measured(arguments: argparse.Namespace, case: str) -> list[str]:
    """Measure one case on one host and on two, compare with a local run, return the lines."""
    folder, n = make(arguments.data, case, arguments.images)
    out = arguments.data / "hosts results"
    batch(str(folder), out)
    # A key has what the store tells of a file instead of its bytes.
    apart = "record." if arguments.store else ".lock"
    expected = results(out, str(folder), apart)
    hidden = folder if arguments.store else None
    lines, medians = [], []
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        root = stack.enter_context(stored(folder)) if arguments.store else str(folder)
        for n_hosts in (2,) if arguments.cut else (1, 2):
            seconds, traffic = [], []
            for _ in range(arguments.runs):
                with cluster(n_hosts, scratch, hidden):
                    before = moved()
                    plug = cut(WORKERS[1], 8) if arguments.cut else None
                    seconds.append(batch(root, out, "--scheduler", SCHEDULER, host=CLIENT))
                    traffic.append((moved() - before) / 1e6)
                    if plug is not None:
                        if plug.is_alive():
                            sys.exit(f"{case}: done before the host was cut off")
                        run("ip", "-n", WORKERS[1], "link", "set", "eth0", "up")
                found = results(out, root, apart)
                differ = [name for name in expected if found.get(name) != expected[name]]
                if differ or found.keys() != expected.keys():
                    sys.exit(f"{case}, {n_hosts} hosts: not the local run: {differ[:5]}")
            medians.append(statistics.median(seconds))
            hosts = "2, one cut off" if arguments.cut else str(n_hosts)
            times = "" if arguments.cut else f"{medians[0] / medians[-1]:.2f}"
            lines.append(
                f"| {case} | {n:,} | {hosts} | {medians[-1]:.2f} "
                f"| {min(seconds):.2f}-{max(seconds):.2f} | {len(seconds)} "
                f"| {times} | {statistics.median(traffic):.1f} |"
            )
            print(lines[-1], flush=True)
    return lines


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="DIR", help="where projects and results go")
    add("--images", type=int, default=100_000)
    add("--cases", nargs="+", choices=CASES, default=[*CASES])
    add("--runs", type=int, default=3)
    add("--rate", default="1gbit", help="of each link, as tc takes it")
    add("--store", action="store_true", help="projects in a store, on a disk workers do not see")
    add("--cut", action="store_true", help="cut one of two hosts off in the middle of each run")
    add("--out", type=Path, default=HERE / "results" / "hosts.md", metavar="FILE")
    arguments = parser.parse_args()
    lines = [
        "| projects | annotations | hosts | median s | min-max s | runs | times one | MB moved |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    with network(arguments.rate):
        for case in arguments.cases:
            lines += measured(arguments, case)
    report = "\n".join([*machine_facts(), "", *lines]) + "\n"
    write_text(arguments.out, report)
    print(report)


if __name__ == "__main__":
    main()
