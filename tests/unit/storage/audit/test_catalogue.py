"""The topics of a directory by our registry or Kafka's metadata log, and our own files against their CRCs and one another."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from oncelog.protocol.records import build_batch
from oncelog.storage.audit.catalogue import audit_beside_log, audit_own_files, audit_topic_file, read_catalogue
from oncelog.storage.audit.findings import Findings, Kind, Severity
from oncelog.storage.audit.raw_directory import open_partition_folder
from oncelog.storage.files.twin_file import frame
from oncelog.storage.moving.kafka_topics import KafkaTopic
from support.damage import damaged
from support.own_files import TWINS, USERS
from support.storage_kit import SMALL, Kit


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Kit:
    """Stopped, with an aborted transaction in a closed segment: all files of ours are there."""
    kit = Kit(tmp_path_factory.mktemp("filled") / "data", flush_on_ack=False)
    kit.create()
    kit.manager.store.put("users", "alice", USERS["alice"])
    for number in range(40):
        kit.append(number, pid=7, txn=True)
        kit.mark(7, commit=False)
    kit.stop()
    return kit


@pytest.fixture
def path(filled: Kit, tmp_path: Path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(filled.data_dir, tmp_path / "data"))


def told(findings: Findings) -> list[tuple[Kind, Severity, str]]:
    return [(one.kind, one.severity, one.file) for one in findings.items]


def of_catalogue(path: Path) -> tuple[dict[str, KafkaTopic] | None, list[tuple[Kind, Severity, str]]]:
    findings = Findings()
    return read_catalogue(path, findings), told(findings)


def of_own_files(path: Path) -> list[tuple[Kind, Severity, str]]:
    findings = Findings()
    audit_own_files(path, findings)
    return told(findings)


def own(*files: str) -> list[tuple[Kind, Severity, str]]:
    return [(Kind.OWN_FILE, Severity.ERROR, file) for file in files]


def test_our_registry(filled: Kit, path: Path) -> None:
    topics, findings = of_catalogue(path)
    known = filled.manager.topics.get("t")
    assert known is not None
    assert topics == {"t": KafkaTopic("t", known.topic_id, 1, SMALL)}
    assert findings == of_own_files(path) == []


@pytest.mark.parametrize("name", TWINS)
def test_one_damaged_copy_is_told_and_the_other_read(path: Path, name: str) -> None:
    place = path / name
    place.write_bytes(damaged(place.read_bytes(), "flip", "tail"))
    topics, findings = of_catalogue(path)
    assert topics is not None
    assert list(topics) == ["t"]
    assert [*findings, *of_own_files(path)] == own(name)


def test_without_a_good_copy_there_is_no_catalogue(path: Path) -> None:
    for name in TWINS[:2]:
        (path / name).write_bytes(b"garbage")
    assert of_catalogue(path) == (None, own(*TWINS[:2], TWINS[0]))  # and what is left of the topics


def test_both_copies_gone_is_noticed_by_the_other_file(path: Path) -> None:
    kept = {name: (path / name).read_bytes() for name in TWINS}
    for gone in (TWINS[:2], TWINS[2:]):
        for name in gone:
            (path / name).unlink()
        assert of_own_files(path) == own(gone[0])
        for name in gone:
            (path / name).write_bytes(kept[name])


def test_a_metadata_file_from_before_there_were_copies_misses_no_registry(tmp_path: Path) -> None:
    for generation, expected in ((0, []), (1, own("oncelog.topics"))):
        for name in TWINS[2:]:
            (tmp_path / name).write_bytes(b"{}" if generation == 0 else frame("oncelog.metadata", generation, b"{}"))
        assert of_own_files(tmp_path) == expected


@pytest.mark.parametrize("payload", [b"{}", b'{"topics":7}', b'{"topics":[{"name":"t"}]}', b'{"topics":[7]}'])
def test_a_registry_with_a_right_crc_that_is_none(path: Path, payload: bytes) -> None:
    for name in TWINS[:2]:
        (path / name).write_bytes(frame("oncelog.topics", 9, payload))
    assert of_catalogue(path) == (None, own("oncelog.topics"))


def test_lost_configs_are_told(path: Path) -> None:
    payload = json.loads((path / "oncelog.topics").read_bytes().split(b"\n", 1)[1])
    payload["topics"][0]["configs_known"] = False
    for name in TWINS[:2]:
        (path / name).write_bytes(frame("oncelog.topics", 9, json.dumps(payload).encode()))
    assert of_catalogue(path)[1] == [(Kind.CONFIGS_UNKNOWN, Severity.ERROR, "")]


def test_kafkas_metadata_log_where_there_is_no_registry(golden: dict[str, Path]) -> None:
    topics, findings = of_catalogue(golden["clean"])
    assert findings == []
    assert topics is not None
    assert {"plain", "__consumer_offsets", "__transaction_state"} <= topics.keys()
    assert topics["plain"].partitions == 2


def test_a_directory_of_nobody_has_no_catalogue(tmp_path: Path) -> None:
    assert of_catalogue(tmp_path) == (None, [])
    assert of_own_files(tmp_path) == []


def test_a_metadata_log_that_cannot_be_read(tmp_path: Path) -> None:
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    (folder / f"{0:020d}.log").write_bytes(build_batch([(1, None, b"\2\0\0")]))
    assert of_catalogue(tmp_path) == (None, [(Kind.TOPIC_UNKNOWN, Severity.ERROR, "__cluster_metadata-0")])


def test_meta_properties_are_as_the_metadata_remembers_them(path: Path) -> None:
    file = path / "meta.properties"
    text = file.read_text()
    for other in (text.replace("node.id=", "node.id=7"), text + "more=1\n", text.replace("version=1\n", "")):
        assert other != text
        file.write_text(other)
        assert of_own_files(path) == [(Kind.META_PROPERTIES, Severity.ERROR, "meta.properties")]
    file.unlink()
    assert of_own_files(path) == []  # told by the audit of the directory


@pytest.mark.parametrize("name", ["oncelog.window", "oncelog.txnindexes"])
def test_files_beside_a_log_are_missed_where_they_say_something(path: Path, name: str) -> None:
    folder = path / "t-0"

    def beside() -> list[tuple[Kind, Severity, str]]:
        findings = Findings()
        audit_beside_log(open_partition_folder(folder, "t", 0), findings)
        return told(findings)

    assert beside() == []
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(damaged(data, "flip", "tail"))
    assert beside() == [(Kind.OWN_FILE, Severity.ERROR, name)]
    (folder / name).unlink()
    assert beside() == [(Kind.OWN_FILE, Severity.NOTE, name)]
    for file in (*folder.glob("*.txnindex"), *folder.glob("*.snapshot")):
        file.unlink()
    assert beside() == []


def test_a_topics_file_in_its_folder_against_the_registry(path: Path) -> None:
    folder = path / "t-0"

    def beside(topic: KafkaTopic | None) -> list[tuple[Kind, Severity, str]]:
        findings = Findings()
        audit_topic_file(folder, topic, findings)
        return told(findings)

    known = (of_catalogue(path)[0] or {})["t"]
    assert beside(known) == beside(None) == []
    assert beside(known._replace(partitions=2)) == beside(known._replace(configs={})) == [(Kind.OWN_FILE, Severity.NOTE, "oncelog.topic")]
    file = folder / "oncelog.topic"
    file.write_bytes(file.read_bytes()[:-1])
    assert beside(known) == own("oncelog.topic")
    file.unlink()
    assert beside(known) == []
