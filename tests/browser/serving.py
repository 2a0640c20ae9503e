"""A server, recordings that grow, and what the command line says of them."""

import json
import os
import pathlib
import signal
import subprocess
import time
import urllib.request

PROGRAM = os.environ["TAGQ_PROGRAM"]


def tagq(*words, cwd=None):
    """Runs the command and returns what it prints."""
    done = subprocess.run([PROGRAM, *map(str, words)], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def answer(*words, cwd=None):
    """Returns the answer of a query."""
    return json.loads(tagq(*words, "--json", cwd=cwd))


class Process:
    """A process that is killed at the end."""

    def __init__(self, words, **options):
        self.process = subprocess.Popen([PROGRAM, *map(str, words)], **options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self, by=signal.SIGINT):
        if self.process.poll() is None:
            self.process.send_signal(by)
            try:
                self.process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class Server(Process):
    """`tagq serve`."""

    def __init__(self, *words, bind="127.0.0.1:0", cwd=None):
        super().__init__(
            ["serve", *words, "--bind", bind], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith("http"), "the server has not started"

    @property
    def address(self):
        return self.url.split("/")[2]

    def get(self, path):
        with urllib.request.urlopen(f"http://{self.address}/{path}", timeout=10) as reply:
            return json.load(reply)


class Recorder(Process):
    """A recording that grows by a frame each 250 ms."""

    def __init__(self, file: pathlib.Path, *words, seconds=40, channels="1,2,3,4"):
        file.parent.mkdir(parents=True, exist_ok=True)
        super().__init__(
            [
                *["simulate", "--live", "60kHz", "--channels", channels, "--rate", "20kHz", "--jitter", "300ps"],
                *["--dark", "2kHz", "--duration", f"{seconds}s", *words, file, "--quiet"],
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until(file.exists)


class Watch(Process):
    """`tagq watch --format json`: the answers at each commit."""

    def __init__(self, *words):
        super().__init__(["watch", *words, "--format", "json", "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def until_commit(self, commit):
        """Returns the answers at this commit; `None` if there were none at it."""
        for line in self.process.stdout:
            answers = json.loads(line)["answers"]
            now = answers[0]["run"]["commit"]
            if now >= commit:
                return answers if now == commit else None
        raise AssertionError("the watch has ended")


def until(condition, seconds=20.0, what="the condition"):
    """Waits until a condition holds and returns its value."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.03)
    raise AssertionError(f"{what} did not hold within {seconds} s")
