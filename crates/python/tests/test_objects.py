"""Parts of plans are counted over copies of the bytes that they need, from a server that speaks S3."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest
from test_answers import QUESTIONS

import tagq
from conftest import ROOT

pytestmark = pytest.mark.filterwarnings("default", "ignore::tagq.TagqWarning")
obstore = pytest.importorskip("obstore")
moto = pytest.importorskip("moto.server")


@pytest.fixture(scope="module")
def bucket() -> Iterator[obstore.store.S3Store]:
    import boto3

    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b"}
    endpoint = f"http://{host}:{port}"
    boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", **keys).create_bucket(Bucket="lab")
    yield obstore.store.S3Store(
        "lab",
        endpoint=endpoint,
        access_key_id="a",
        secret_access_key="b",
        region="us-east-1",
        client_options={"allow_http": True},
    )
    server.stop()


def upload(bucket: obstore.store.S3Store, folder: Path, path: str) -> None:
    for file in folder.iterdir():
        if file.is_file():
            obstore.put(bucket, f"{path}/{file.name}", file.read_bytes())


def plan_of(run: tagq.Run, query: str, words: dict, parts: int) -> tagq._tagq.Plan:
    from tagq import distributed

    plans = []

    class Executor:
        def submit(self, function: object, text: str, *_: object) -> None:
            plans.append(tagq._tagq.Plan(text))
            raise InterruptedError

    with pytest.raises(InterruptedError):
        getattr(distributed.query(run, executor=Executor(), parts=parts), query)(**words)
    return plans[0]


@pytest.mark.parametrize("io", ["map", "read"])
def test_parts_are_those_of_the_store_itself(
    run: tagq.Run, bucket: obstore.store.S3Store, tmp_path: Path, io: str
) -> None:
    upload(bucket, Path(run.store), "small/.tagq")
    for query, words, _ in QUESTIONS:
        plan = plan_of(run, query, words, 3)
        (tmp_path / "plan.json").write_text(plan.text())
        for part in range(len(plan)):
            counted = tagq.objects.partial(tmp_path / "plan.json", part, bucket, "small/.tagq")
            assert counted == plan.count(part, 1, io, None, None), (query, words)


def test_only_the_blocks_of_a_part_are_copied(
    blocks: tagq.Run, bucket: obstore.store.S3Store, tmp_path: Path
) -> None:
    folder = Path(blocks.store)
    upload(bucket, folder, "blocks")
    plan = plan_of(blocks, "coincidences", {"window": "9ps"}, 10)
    (tmp_path / "plan.json").write_text(plan.text())
    for part in (0, 4, 9):
        counted = tagq.objects.partial(tmp_path / "plan.json", part, bucket, "blocks")
        assert counted == plan.count(part, 1, "read", None, None)
        rows = plan.ranges(part, folder, True)
        index = plan.ranges(part, folder, False)
        copied = sum(end - begin for _, _, begin, end in rows)
        columns = {name for name, *_ in rows}
        assert {(folder / name).stat().st_size >= size for name, size, *_ in rows} == {True}
        # A part is cut inside blocks: it needs two or three of ten.
        assert 0 < copied <= 3 * 65_536 * 11, (part, copied)
        assert sum(end - begin for name, _, begin, end in index if name not in columns) < 16_384
    spread = tagq.distributed.query(blocks, executor=SameThread(), parts=7, objects=[(bucket, "blocks")])
    words = {"window": "9ps", "rule": "once"}
    assert spread.coincidences(**words).to_json() == blocks.coincidences(**words).to_json()


class SameThread:
    """An executor that calls at once."""

    _max_workers = 1

    def submit(self, function: object, *args: object) -> object:
        from concurrent.futures import Future

        future: Future = Future()
        try:
            future.set_result(function(*args))
        except Exception as error:
            future.set_exception(error)
        return future


def test_objects_that_are_absent_or_damaged_are_errors(
    blocks: tagq.Run, bucket: obstore.store.S3Store, tmp_path: Path
) -> None:
    folder = Path(blocks.store)
    plan = plan_of(blocks, "coincidences", {"window": "9ps"}, 4)
    path = tmp_path / "plan.json"
    path.write_text(plan.text())
    with pytest.raises(tagq.NotFoundError, match="nowhere: there is no store"):
        tagq.objects.partial(path, 1, bucket, "nowhere")
    upload(bucket, folder, "damaged")
    index = next(folder.glob("blocks*"))
    entries = bytearray(index.read_bytes())
    entries[4_096 + 3] ^= 1
    obstore.put(bucket, f"damaged/{index.name}", bytes(entries))
    with pytest.raises(tagq.TagqError, match="block"):
        tagq.objects.partial(path, 1, bucket, "damaged")
    upload(bucket, folder, "short")
    gaps = next(folder.glob("gap.*"))
    obstore.put(bucket, f"short/{gaps.name}", gaps.read_bytes()[:20_000])
    with pytest.raises(Exception, match=r"(?i)range|length|bytes|416"):
        tagq.objects.partial(path, 3, bucket, "short")


def test_names_in_a_manifest_lead_nowhere_else(
    blocks: tagq.Run, bucket: obstore.store.S3Store, tmp_path: Path
) -> None:
    folder = Path(blocks.store)
    plan = plan_of(blocks, "coincidences", {"window": "9ps"}, 4)
    path = tmp_path / "plan.json"
    path.write_text(plan.text())
    upload(bucket, folder, "evil")
    manifest = (folder / "manifest.json").read_text()
    gaps = next(folder.glob("gap.*")).name
    obstore.put(bucket, "evil/manifest.json", manifest.replace(gaps, f"../{gaps}").encode())
    with pytest.raises(tagq.TagqError):
        tagq.objects.partial(path, 1, bucket, "evil")


def test_the_example_of_the_page_works(
    run: tagq.Run,
    folder: Path,
    bucket: obstore.store.S3Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = (ROOT / "docs/clusters.md").read_text()
    example = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[1]
    upload(bucket, Path(run.store), "monday/.tagq")
    upload(bucket, folder, "monday")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("obstore.store.S3Store", lambda *_, **__: bucket)
    plan = plan_of(run, "coincidences", {"window": "2ns"}, 5)
    Path("plan.json").write_text(plan.text())
    names: dict[str, object] = {"tagq": tagq, "run": run, "client": SameThread()}
    exec(example, names)
    assert names["part"] == plan.count(3, 1, "map", None, None)
    assert names["pairs"].to_json() == run.coincidences(window="2ns").to_json()
    assert names["source"].read_bytes() == (folder / "1.tags.zst").read_bytes()


def test_files_and_folders_are_downloaded(
    blocks: tagq.Run, folder: Path, bucket: obstore.store.S3Store, tmp_path: Path
) -> None:
    upload(bucket, folder, "days/monday")
    upload(bucket, Path(blocks.store), "days/blocks.tagq")
    copy = tagq.objects.download(bucket, "days/blocks.tagq", tmp_path)
    assert copy == tmp_path / "blocks.tagq"
    assert numpy.array_equal(tagq.open(copy).time, blocks.time)
    source = sorted(folder.glob("*.tags.zst"))[0]
    one = tagq.objects.download(bucket, f"days/monday/{source.name}", tmp_path)
    assert one.read_bytes() == source.read_bytes()
    one.write_bytes(b"other")
    with pytest.raises(tagq.QuestionError, match="replace=True"):
        tagq.objects.download(bucket, f"days/monday/{source.name}", tmp_path)
    assert one.read_bytes() == b"other"
    tagq.objects.download(bucket, f"days/monday/{source.name}", tmp_path, replace=True)
    assert one.read_bytes() == source.read_bytes()
    assert not list(tmp_path.rglob("*.new"))
    with pytest.raises(tagq.NotFoundError, match="absent"):
        tagq.objects.download(bucket, "days/absent", tmp_path)


@pytest.mark.parametrize("path", ["..", "../", "days/..", "days/../days/monday", "../monday"])
def test_a_download_stays_in_its_folder(bucket: obstore.store.S3Store, tmp_path: Path, path: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(tagq.QuestionError, match="has no `..`"):
        tagq.objects.download(bucket, path, tmp_path / "folder")
    assert [file.name for file in tmp_path.rglob("*")] == ["folder"]
