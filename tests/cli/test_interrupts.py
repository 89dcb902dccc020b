"""Tests of cli/interrupts."""

import os
import signal
import subprocess
import sys
import time

import pytest

from conftest import hears_interruptions

# Python ends itself by the signal where it came in the middle of an import; a shell sees 130.
STOPPED = (130, -signal.SIGINT)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("more", "said"), [((), "cached; run the same command to resume"), (("--no-cache",), "nothing")]
)
def test_what_is_interrupted_says_truly_what_is_kept(here, more, said):
    call = [sys.executable, "-m", "unmask", "run", *more, "-o", "r"]
    env = {**os.environ, "UNMASK_CACHE": str(here / "cache")}
    out = {"stderr": subprocess.PIPE, "stdout": subprocess.DEVNULL}
    made = subprocess.Popen(call, env=env, preexec_fn=hears_interruptions, **out)
    for _ in range(600):
        time.sleep(0.1)
        if (here / "r").exists():  # it is made when all arguments are known to be right
            break
    time.sleep(1)
    made.send_signal(signal.SIGINT)
    err = made.communicate()[1].decode()
    assert made.returncode in STOPPED
    assert said in err
    assert err.strip().count("\n") == 0
    assert not (here / "r").exists()


def test_a_termination_leaves_no_empty_folder(here):
    call = [sys.executable, "-m", "unmask", "run", "--no-cache", "-o", "r"]
    made = subprocess.Popen(call, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    for _ in range(600):
        time.sleep(0.1)
        if (here / "r").exists():
            break
    time.sleep(1)
    made.terminate()
    err = made.communicate()[1].decode()
    assert made.returncode in STOPPED
    assert "nothing is cached" in err
    assert not (here / "r").exists()
