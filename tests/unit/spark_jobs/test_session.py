"""What a laptop needs for Spark: a Java that is new enough, and the connector, from the cache where it is whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from oncelog.spark_jobs import session
from oncelog.spark_jobs.session import (
    SessionError,
    cached_jars,
    connector_cache,
    connector_settings,
    find_java,
    java_candidates,
    java_version,
    kafka_session,
    laptop_settings,
    remember_connector,
    under_spark_submit,
    use_java,
)

COORDINATE = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0"


def java(home: Path, says: str, status: int = 0) -> Path:
    """A Java that answers `-version`."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{says}' >&2\nexit {status}\n")
    program.chmod(0o755)
    return home


@pytest.mark.parametrize(
    ("says", "status", "version"),
    [
        ('openjdk version "17.0.9" 2023-10-17', 0, 17),
        ('openjdk version "21" 2023-09-19', 0, 21),
        ('java version "1.8.0_392"', 0, 8),
        ("no such thing", 0, None),
        ('openjdk version "17.0.9"', 1, None),
    ],
)
def test_the_version_of_a_java(tmp_path: Path, says: str, status: int, version: int | None) -> None:
    assert java_version(java(tmp_path / "jdk", says, status)) == version
    assert java_version(tmp_path / "nowhere") is None


def test_the_first_java_that_is_new_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new, newer = (java(tmp_path / name, f'version "{name}"') for name in ("11.0.1", "17.0.1", "21.0.1"))
    monkeypatch.setattr(session, "java_candidates", lambda: iter([tmp_path / "none", old, new, newer]))
    assert find_java() == new
    monkeypatch.setattr(session, "java_candidates", lambda: iter([old]))
    with pytest.raises(SessionError, match=r"Spark needs Java 17 or 21; found .*11\.0\.1 \(Java 11\)\. Install one of"):
        find_java()
    monkeypatch.setattr(session, "java_candidates", lambda: iter([]))
    with pytest.raises(SessionError, match="found none"):
        find_java()


def test_where_a_java_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, other = java(tmp_path / "home", "x"), java(tmp_path / "other", "x")
    link = tmp_path / "path" / "java"
    link.parent.mkdir()
    link.symlink_to(other / "bin" / "java")
    monkeypatch.setattr(session.importlib.util, "find_spec", lambda _name: None)
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PATH", str(link.parent))
    assert list(java_candidates()) == [home, other.resolve()]
    monkeypatch.setenv("JAVA_HOME", "")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert list(java_candidates()) == []
    use_java(other)
    assert list(java_candidates()) == [other]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A resolution that was finished: two jars, not listed yet."""
    monkeypatch.setattr(session, "connector_coordinate", lambda: COORDINATE)
    monkeypatch.setenv("ONCELOG_CACHE", str(tmp_path))
    folder = connector_cache()
    (folder / "jars").mkdir(parents=True)
    (folder / "jars" / "org.apache.spark_spark-sql-kafka-0-10.jar").write_bytes(b"12345")
    (folder / "jars" / "kafka-clients.jar").write_bytes(b"123")
    return folder


class Session:
    def __init__(self, packages: str | None) -> None:
        self.conf = {} if packages is None else {"spark.jars.packages": packages}


def test_the_cache_belongs_to_one_version(cache: Path, tmp_path: Path) -> None:
    assert cache == tmp_path / "spark" / "org.apache.spark_spark-sql-kafka-0-10_2.13_4.0.0"


def test_what_was_resolved_is_taken_from_the_cache_ever_after(cache: Path) -> None:
    assert connector_settings(cache) == {"spark.jars.packages": COORDINATE, "spark.jars.ivy": str(cache)}
    remember_connector(cache, Session(COORDINATE))
    jars = sorted(str(jar) for jar in (cache / "jars").glob("*.jar"))
    assert connector_settings(cache) == {"spark.jars": ",".join(jars)}
    assert [path.name for path in cache.glob("resolved*")] == ["resolved.json"]
    before = (cache / "resolved.json").stat().st_mtime_ns
    remember_connector(cache, Session(None))
    assert (cache / "resolved.json").stat().st_mtime_ns == before


@pytest.mark.parametrize("damage", ["gone", "cut", "list"])
def test_a_jar_that_is_gone_or_cut_is_resolved_again(cache: Path, damage: str) -> None:
    remember_connector(cache, Session(COORDINATE))
    jar = cache / "jars" / "kafka-clients.jar"
    if damage == "gone":
        jar.unlink()
    elif damage == "cut":
        jar.write_bytes(b"12")
    else:
        (cache / "resolved.json").write_text("{")
    assert cached_jars(cache) == []
    assert "spark.jars.packages" in connector_settings(cache)


@pytest.mark.parametrize(("packages", "connector"), [(None, True), (COORDINATE, False)])
def test_what_somebody_else_brought_is_not_remembered(cache: Path, packages: str | None, connector: bool) -> None:
    if not connector:
        (cache / "jars" / "org.apache.spark_spark-sql-kafka-0-10.jar").unlink()
    remember_connector(cache, Session(packages))
    assert cached_jars(cache) == []


def test_a_sparks_own_scala_decides_the_connector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark")
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    with pytest.raises(SessionError, match="no spark-core jar"):
        session.connector_coordinate()
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core_2.13-4.0.0.jar").touch()
    assert session.connector_coordinate() == COORDINATE


class Builder:
    """Collects what a session is made with."""

    def __init__(self) -> None:
        self.settings: dict[str, str] = {}

    def appName(self, name: str) -> Builder:
        self.settings["name"] = name
        return self

    def config(self, key: str, value: str) -> Builder:
        self.settings[key] = value
        return self

    def getOrCreate(self) -> Any:
        return self


@pytest.fixture
def builder(monkeypatch: pytest.MonkeyPatch) -> Builder:
    sql = pytest.importorskip("pyspark.sql")
    made = Builder()
    monkeypatch.setattr(sql.SparkSession, "builder", made)
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    for name in ("JAVA_HOME", "PYSPARK_PYTHON", "SPARK_LOCAL_IP"):
        monkeypatch.setenv(name, "kept")
    return made


def test_on_a_laptop_what_is_missing_is_filled_in(builder: Builder, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "find_java", lambda: tmp_path / "jdk")
    monkeypatch.setattr(session, "remember_connector", lambda *_arguments: None)
    kafka_session("me", {"spark.ui.enabled": "true", "own": "1"})
    assert builder.settings == {"name": "me", "own": "1", **laptop_settings(), **connector_settings(cache), "spark.ui.enabled": "true"}
    assert session.os.environ["JAVA_HOME"] == str(tmp_path / "jdk")
    assert session.os.environ["SPARK_LOCAL_IP"] == "kept"


def test_under_spark_submit_all_is_the_submitters_business(builder: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not under_spark_submit()
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    monkeypatch.setattr(session, "find_java", lambda: pytest.fail("no Java is looked for"))
    kafka_session("me", {"own": "1"})
    assert builder.settings == {"name": "me", "own": "1"}


def test_resolved_lists_are_json_of_sizes(cache: Path) -> None:
    remember_connector(cache, Session(COORDINATE))
    assert sorted(json.loads((cache / "resolved.json").read_text()).values()) == [3, 5]
