"""A server, recordings that grow, and what the command line says of them."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import threading
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

    def tags(self):
        """The number of tags of the first run."""
        return self.get("api/run")["runs"][0]["facts"]["tags"]


class Recorder(Process):
    """A recording that grows by a frame each 250 ms."""

    def __init__(self, file: pathlib.Path, *words, seconds=40, channels="1,2,3,4"):
        file.parent.mkdir(parents=True, exist_ok=True)
        super().__init__(
            [
                *["simulate", "--live", "9kHz", "--channels", channels, "--rate", "2kHz", "--jitter", "300ps"],
                *["--dark", "200Hz", "--duration", f"{seconds}s", *words, file, "--quiet"],
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until(file.exists)


class Watch(Process):
    """`tagq watch --format json`: the answers at each commit."""

    def __init__(self, *words):
        super().__init__(
            ["watch", *words, "--format", "json", "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        #: The rows of each answer, by the commit.
        self.commits = {}
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            answers = json.loads(line)["answers"]
            self.commits[answers[0]["run"]["commit"]] = [of["rows"] for of in answers]


class Network:
    """A relay to a server that can be cut: then it takes bytes and delivers none, as a network without a way does."""

    def __init__(self, address):
        host, port = address.split(":")
        self.to = (host, int(port))
        self.is_cut = False
        self.sockets = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        self.heal()

    def heal(self):
        """Delivers again; connections from before are gone."""
        self.is_cut = False
        for one in self.sockets:
            one.close()
        self.sockets.clear()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
                server = socket.create_connection(self.to)
            except OSError:
                return
            self.sockets += [client, server]
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self._relay, args=(source, sink), daemon=True).start()

    def _relay(self, source, sink):
        try:
            while data := source.recv(65536):
                while self.is_cut:
                    time.sleep(0.02)
                # The header of the host is that of the relay.
                sink.sendall(data.replace(self.address.encode(), f"{self.to[0]}:{self.to[1]}".encode()))
        except OSError:
            pass
        for one in (source, sink):
            one.close()


def drawn(page):
    """Waits until everything that was scheduled is drawn."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def until(condition, seconds=20.0, what="the condition"):
    """Waits until a condition holds and returns its value."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.03)
    raise AssertionError(f"{what} did not hold within {seconds} s")
