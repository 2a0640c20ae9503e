"""Counts a run by dask-jobqueue on two jobs of Slurm, one of which is cancelled while it counts.

Usage: jobqueue.py RUN, in a folder for the files of the jobs. The exit code is 1 if the answer is not that of one
process.
"""

from __future__ import annotations

import faulthandler
import os
import subprocess
import sys
import time
import warnings

import dask
import tagq
from dask.distributed import Client
from dask_jobqueue import SLURMCluster

PARTS = 16
#: Parts that are counted before a job is cancelled.
COUNTED_FIRST = 3
LIMIT_S = 300


def main() -> None:
    faulthandler.dump_traceback_later(LIMIT_S, exit=True)
    # Queries of some seconds say so.
    warnings.simplefilter("ignore", tagq.TagqWarning)
    run = tagq.open(sys.argv[1])
    start = time.perf_counter()
    one = ask(run)
    one_s = time.perf_counter() - start
    # Dask takes a worker for lost after this time, and asks for another job.
    dask.config.set({"distributed.deploy.lost-worker-timeout": "1s"})
    with (
        SLURMCluster(
            cores=1,
            processes=1,
            memory="1GB",
            interface="lo",
            # Each job has a node to itself.
            job_extra_directives=["--exclusive"],
            local_directory=os.path.abspath("dask"),
            log_directory=os.getcwd(),
            scheduler_options={"dashboard": False},
        ) as cluster,
        Client(cluster) as client,
    ):
        cluster.adapt(minimum_jobs=2, maximum_jobs=2, interval="500ms")
        client.wait_for_workers(2, timeout=LIMIT_S)
        jobs = dict(client.run(job).values())
        check(sorted(jobs.values()) == ["node1", "node2"], f"the jobs are on {jobs}")
        cancelled = min(jobs)

        def cancel(done: int, _: int) -> None:
            if done == COUNTED_FIRST:
                subprocess.run(["scancel", cancelled], check=True)

        start = time.perf_counter()
        counted = ask(tagq.distributed.query(run, executor=client, parts=PARTS, progress=cancel))
        counted_s = time.perf_counter() - start
        check(counted == one, "the answer is not that of one process")
        replaced = wait_for_another_job(client, set(jobs))
        check(cancelled not in replaced, f"the cancelled job {cancelled} is among {replaced}")
        again = ask(tagq.distributed.query(run, executor=client, parts=PARTS))
        check(again == one, "the second answer is not that of one process")
    new = ", ".join(sorted(replaced - set(jobs)))
    print(
        f"jobqueue: one process {one_s:.1f} s; {PARTS} parts {counted_s:.1f} s on 2 jobs; job {cancelled} cancelled "
        f"after {COUNTED_FIRST} parts and replaced by job {new}; equal, and again",
        flush=True,
    )


def ask(of: tagq.Run | tagq.distributed.Query) -> str:
    return of.g2(1, 2, range="1ms", bin="1us").to_json()


def job() -> tuple[str, str]:
    return os.environ["SLURM_JOB_ID"], os.environ["SLURMD_NODENAME"]


def wait_for_another_job(client: Client, jobs: set[str]) -> set[str]:
    """Waits until two workers run, one of them of a job that is not among ``jobs``."""
    while True:
        client.wait_for_workers(2, timeout=LIMIT_S)
        running = {number for number, _ in client.run(job, on_error="ignore").values()}
        if len(running) == 2 and running - jobs:
            return running
        time.sleep(0.2)


def check(holds: bool, message: str) -> None:
    if not holds:
        sys.exit(message)


if __name__ == "__main__":
    main()
