"""Stores of files as clouds have them, served on this machine."""

import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

# Azurite's own account: it knows no other, and everybody knows its key.
_ACCOUNT = "devstoreaccount1"
_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
SECRETS = ("hidden-hidden", "AKIASECRET", _KEY)
PROTOCOLS = ("s3", "gs", "az")


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def variables(ports):
    """Return what tells the libraries of the stores where they are, and who asks."""
    azure = f"http://127.0.0.1:{ports['az']}/{_ACCOUNT}"
    return {
        "AWS_ACCESS_KEY_ID": "AKIASECRETSECRETSECR",
        "AWS_SECRET_ACCESS_KEY": "hidden-hidden-hidden",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{ports['s3']}",
        "STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{ports['gs']}",
        # Otherwise it asks what kind of bucket this is, for which there is nobody to ask here.
        "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false",
        "AZURE_STORAGE_CONNECTION_STRING": (
            f"DefaultEndpointsProtocol=http;AccountName={_ACCOUNT};AccountKey={_KEY};"
            f"BlobEndpoint={azure};"
        ),
    }


def missing(protocol):
    """Return what a store needs and is not installed; nothing if it can be served."""
    modules = {"s3": ("moto", "s3fs"), "gs": ("gcp_storage_emulator", "gcsfs"), "az": ("adlfs",)}
    absent = [name for name in modules[protocol] if find_spec(name) is None]
    if protocol == "az" and _azurite() is None:
        absent.append("azurite")
    return ", ".join(absent)


def _azurite():
    own = Path(sys.prefix) / "node_modules" / ".bin"
    return shutil.which("azurite-blob", path=own) or shutil.which("azurite-blob")


@contextmanager
def served(protocol, port, folder):
    """Serve a store that is empty."""
    at = str(port)
    commands = {
        "s3": [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", at],
        "gs": [sys.executable, "-m", "gcp_storage_emulator", "start", "--host", "127.0.0.1",
               "--port", at, "--in-memory"],
        "az": [_azurite(), "--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry",
               "--silent", "--blobHost", "127.0.0.1", "--blobPort", at],
    }  # fmt: skip
    server = subprocess.Popen(
        commands[protocol], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        end = time.monotonic() + 60
        while not _answers(port):
            assert server.poll() is None, "the store has ended"
            assert time.monotonic() < end
            time.sleep(0.02)
        yield
    finally:
        server.terminate()
        server.wait(20)


def _answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
