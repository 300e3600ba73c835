import json
import logging
import os
import re
import socket
import subprocess
import sys
import threading
import time
from signal import SIGKILL

import pytest
from support.batch import left_by
from support.cli import run
from support.datasets import noisy, write

from bboxqa.batch.run import Run, run_batch
from bboxqa.batch.settings import Settings
from bboxqa.core.errors import ConfigError

distributed = pytest.importorskip("distributed", exc_type=ImportError)
fsspec = pytest.importorskip("fsspec", exc_type=ImportError)
from distributed.comm import CommClosedError  # noqa: E402
from support import stores  # noqa: E402

from bboxqa.batch import workers  # noqa: E402
from bboxqa.batch.workers import connected, run_on  # noqa: E402

# Each of its processes imports all of Dask, for which a busy machine takes its time.
_SECONDS_TO_START = 180
SETTINGS = Settings({"iou_threshold": [0.5, 0.7], "bootstrap": 50}, {})
# Sockets and loops that Dask leaves to the collector are not what is tested here.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::pytest.PytestWarning"
)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Projects of all kinds: two and three annotators, outlines, broken, alone, own settings."""
    root = tmp_path_factory.mktemp("projects") / "root"
    documents = {
        "boxes/export.json": noisy(1, 40),
        "three/export.json": noisy(2, 30, ("ann", "bob", "eve")),
        "outlines/annotations/export.json": noisy(3, 25, outlines=True),
        "no outlines/export.json": noisy(4, 9),
        "one each/ann.json": noisy(5, 12, ("ann",)),
        "one each/bob.json": noisy(5, 12, ("bob",)),
        "alone/export.json": noisy(6, 5, ("ann",)),
    }
    for name, document in documents.items():
        write(root / name, document)
    write(root / "broken/export.json", '{"images": [')
    for name in ("outlines", "no outlines"):
        write(root / name / "bboxqa.toml", 'similarity = "polygon"\n')
    write(root / "other.json", '{"some": "thing"}')
    return root


@pytest.fixture(scope="module")
def local(root, tmp_path_factory):
    """What a run without a cluster leaves."""
    out = tmp_path_factory.mktemp("local") / "out"
    result = run_batch(root, out, SETTINGS, Run(jobs=2))
    statuses = {row.project: row.status for row in result.rows}
    assert statuses["three"] == statuses["outlines"] == "measured"
    assert statuses["broken"] == statuses["no outlines"] == "failed"
    found = left_by(out)
    assert len(found) > 40
    return found


@pytest.fixture(scope="module")
def ports():
    """Where the stores are, for this process and the workers; none is asked before a test does."""
    found = {protocol: stores.free_port() for protocol in stores.PROTOCOLS}
    values = {
        **stores.variables(found),
        "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1",
        # Workers that are replaced need not import all of Dask again.
        "DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD": "forkserver",
    }
    before = dict(os.environ)
    os.environ.update(values)
    yield found
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="module")
def address(ports, tmp_path_factory):
    """A scheduler and two workers, each a process of its own; on a busy machine they are slow."""
    folder = tmp_path_factory.mktemp("dask")
    file = folder / "scheduler.json"
    common = ("--scheduler-file", str(file), "--no-dashboard")
    commands = (
        ("scheduler", "--host", "127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0",
         *common),
        ("worker", "--nworkers", "2", "--nthreads", "1", "--local-directory", str(folder),
         "--host", "127.0.0.1", *common),
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch, (folder / "log.txt").open("w") as log:
        patch.setattr(workers, "_SECONDS_TO_ANSWER", 60)
        processes = [
            subprocess.Popen([sys.executable, "-m", "dask", *command], stdout=log, stderr=log)
            for command in commands
        ]
        try:
            # The file is there before it is written.
            until(lambda: file.exists() and "}" in file.read_text()[-2:], _SECONDS_TO_START)
            address = json.loads(file.read_text())["address"]
            with connected(address) as client:
                client.wait_for_workers(2, timeout=_SECONDS_TO_START)
            yield address
            with connected(address) as client:
                client.shutdown()
        finally:
            for process in reversed(processes):
                process.terminate()
            for process in processes:
                try:
                    process.wait(5)
                except subprocess.TimeoutExpired:
                    # A worker in the middle of a restart does not always hear it.
                    process.kill()
                    process.wait()
    log = (folder / "log.txt").read_text()
    assert not any(secret in log for secret in stores.SECRETS)


def until(done, seconds=30):
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_two_workers_give_every_byte_of_the_local_run(address, root, local, tmp_path):
    run_batch(root, tmp_path, SETTINGS, Run(scheduler=address))
    assert left_by(tmp_path) == local


def test_a_worker_killed_at_work_changes_nothing(address, root, local, tmp_path):
    killed, ready = [], threading.Event()

    def kill():
        with connected(address) as client:
            pids = client.run(os.getpid)
            ready.set()

            def at_work():
                for worker, keys in client.processing().items():
                    if worker in pids and any(str(key).startswith("project-") for key in keys):
                        os.kill(pids[worker], SIGKILL)
                        killed.append(worker)
                        return True
                return False

            until(at_work)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        assert ready.wait(60)
        run_batch(root, tmp_path, SETTINGS, Run(scheduler=address))
    finally:
        killer.join()
    assert killed
    assert left_by(tmp_path) == local


def test_a_scheduler_that_dies_is_told(address, monkeypatch):
    def gone():
        raise CommClosedError

    with connected(address) as client:
        monkeypatch.setattr(client, "nthreads", gone)
        with pytest.raises(ConfigError, match="the scheduler has closed"):
            list(run_on(client, [1], abs))


@pytest.fixture(scope="module")
def bucket(request, ports, root, tmp_path_factory):
    """The projects in a store; in S3 with names that are no paths."""
    protocol = request.param
    if stores.missing(protocol):
        pytest.skip(f"{protocol}:// needs {stores.missing(protocol)}")
    with stores.served(protocol, ports[protocol], tmp_path_factory.mktemp(protocol)):
        system = fsspec.filesystem(protocol, skip_instance_cache=True)
        system.mkdir("exports")
        for file in root.rglob("*"):
            if file.is_file():
                system.pipe(f"exports/all/{file.relative_to(root)}", file.read_bytes())
        system.pipe("exports/all/.hidden/export.json", b'{"images": []}')
        if protocol == "s3":
            # The others resolve such names, or refuse them.
            system.pipe("exports/all/boxes/../../../escaped.json", b'{"images": []}')
            system.pipe("exports/all/boxes/images/../../../../escaped.jpg", b"x")
        yield f"{protocol}://exports/all"


def without_unreadable(files):
    summary = json.loads(files["summary.json"])
    unreadable = summary.pop("unreadable")
    listed = rb"<h2>Cannot be read</h2>\s*<ul>.*?</ul>\s*"
    page = re.sub(listed, b"", files["index.html"], flags=re.DOTALL)
    assert (page != files["index.html"]) == bool(unreadable)
    return {**files, "summary.json": summary, "index.html": page}, unreadable


# Each store, and each way; those of S3 with names that are no paths by both.
@pytest.mark.parametrize(
    ("bucket", "clustered"),
    [("s3", True), ("s3", False), ("gs", True), ("az", False)],
    indirect=["bucket"],
)
def test_files_in_a_store_give_the_same(
    bucket, address, root, local, tmp_path, clustered, caplog, capfd
):
    caplog.set_level(logging.DEBUG)
    options = {"scheduler": address} if clustered else {}
    result = run_batch(bucket, tmp_path / "out", SETTINGS, Run(**options))
    assert all("cannot be the name of a file" in text for text in result.found.unreadable)
    ours, unreadable = without_unreadable(left_by(tmp_path / "out", bucket, str(root)))
    theirs, _ = without_unreadable(local)
    assert len(unreadable) == (2 if bucket.startswith("s3") else 0)
    # A key has what the store tells of a file instead of its bytes.
    assert ours.keys() == theirs.keys()
    for name in ours:
        if name.endswith("record.json"):
            assert json.loads(ours[name])["row"] == json.loads(theirs[name])["row"]
        else:
            assert ours[name] == theirs[name], name
    assert not list(tmp_path.rglob("escaped*"))
    assert not list((tmp_path / "out" / "projects").glob(".*"))
    again = run_batch(bucket, tmp_path / "out", SETTINGS, Run(**options))
    assert again.n_reused == len(result.rows) == 7
    shown = capfd.readouterr()
    written = b"".join(left_by(tmp_path / "out").values())
    for secret in stores.SECRETS:
        assert secret not in shown.out + shown.err
        assert secret.encode() not in written


@pytest.mark.parametrize(
    ("scheduler", "told"),
    [
        ("tcp://127.0.0.1:{port}", "no Dask scheduler answers"),
        ("host:8786", "expected tcp://host:port, local, or local:N"),
        ("local:0", "expected tcp://host:port, local, or local:N"),
    ],
)
def test_a_scheduler_that_is_not_there_is_told(tmp_path, root, scheduler, told, monkeypatch):
    monkeypatch.setattr(workers, "_SECONDS_TO_ANSWER", 0.5)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    result = run(
        "batch", root, "--out", tmp_path / "out", "--scheduler", scheduler.format(port=port)
    )
    assert result.returncode == 2
    assert result.stderr.startswith("Error: ")
    assert told in result.stderr
    assert result.stderr.count("\n") == 1


def test_without_dask_the_error_names_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ConfigError, match=r"pip install 'bboxqa\[dask\]'"), connected("local"):
        pass
