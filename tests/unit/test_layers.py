"""The architecture, read from the syntax trees: imports point left, pure modules reach for nothing, one door to kafka-python.

protocol <- storage <- coordinator <- broker        spark_jobs stands apart
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAYERS = ("protocol", "storage", "coordinator", "broker")
PACKAGES = (*LAYERS, "spark_jobs")

# What decides or converts. Everything in protocol/ is pure.
PURE = {
    "storage/config.py",
    "storage/files/snapshot.py",
    "coordinator/groups/consumer/assignors.py",
    "coordinator/groups/classic/state.py",
    "coordinator/groups/classic/join.py",
    "coordinator/groups/classic/rebalance.py",
    "coordinator/groups/classic/requests.py",
    "coordinator/groups/consumer/classic_members.py",
    "coordinator/groups/consumer/draft.py",
    "coordinator/groups/consumer/state.py",
    "coordinator/groups/consumer/heartbeat.py",
    "coordinator/groups/consumer/reconcile.py",
    "coordinator/groups/consumer/regex.py",
    "coordinator/deferred.py",
    "coordinator/groups/config.py",
    "coordinator/groups/group_type.py",
    "coordinator/groups/offsets/state.py",
    "coordinator/groups/share/draft.py",
    "coordinator/groups/share/state.py",
    "coordinator/result.py",
    "coordinator/share/batches.py",
    "coordinator/share/config.py",
    "coordinator/share/decisions.py",
    "coordinator/share/shard.py",
    "coordinator/share/state.py",
    "coordinator/share/upkeep.py",
    "coordinator/timers.py",
    "coordinator/txn/config.py",
    "coordinator/txn/decisions.py",
    "coordinator/txn/end_txn.py",
    "coordinator/txn/marker_phase.py",
    "coordinator/txn/old_errors.py",
    "coordinator/txn/init_producer_id.py",
    "coordinator/txn/shard.py",
    "coordinator/txn/markers.py",
    "coordinator/txn/queries.py",
    "coordinator/txn/state.py",
    "coordinator/txn/timeouts.py",
}
IMPURE_MODULES = {
    "asyncio",
    "io",
    "os",
    "random",
    "secrets",
    "selectors",
    "shutil",
    "socket",
    "subprocess",
    "tempfile",
    "threading",
    "time",
}
DOOR_TO_KAFKA_PYTHON = "protocol/messages/definitions.py"


def test_pure_modules_are_there() -> None:
    assert [name for name in PURE if not (ROOT / name).is_file()] == []


def sources(*packages: str) -> list[Path]:
    return sorted(path for package in packages for path in (ROOT / package).rglob("*.py"))


def is_pure(path: Path) -> bool:
    return name_of(path).startswith("protocol/") or name_of(path) in PURE


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of everything `path` imports; names from `if TYPE_CHECKING` count too."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"), str(path))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} relative import: say oncelog.…"
            assert node.module is not None
            yield node.lineno, node.module
            if node.module == "oncelog":
                for alias in node.names:
                    yield node.lineno, f"oncelog.{alias.name}"


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", sources(*PACKAGES), ids=name_of)
def test_imports_point_left(path: Path) -> None:
    package = path.relative_to(ROOT).parts[0]
    allowed = {"spark_jobs"} if package == "spark_jobs" else set(LAYERS[: LAYERS.index(package) + 1])
    for line, name in imports(path):
        parts = name.split(".")
        assert parts[0] not in PACKAGES, f"{name_of(path)}:{line} imports {name}: the package is called oncelog.{parts[0]}"
        if parts[0] == "oncelog" and len(parts) > 1:
            assert parts[1] in allowed, f"{name_of(path)}:{line} {package} must not import {name}"


@pytest.mark.parametrize("path", [path for path in sources(*LAYERS) if is_pure(path)], ids=name_of)
def test_pure_modules_reach_for_nothing(path: Path) -> None:
    for line, name in imports(path):
        assert name.split(".")[0] not in IMPURE_MODULES, f"{name_of(path)}:{line} is pure and imports {name}"
    for node in ast.walk(ast.parse(path.read_text("utf-8"), str(path))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id != "open", f"{name_of(path)}:{node.lineno} is pure and opens a file"


@pytest.mark.parametrize("path", sources(*PACKAGES), ids=name_of)
def test_one_door_to_kafka_python(path: Path) -> None:
    for line, name in imports(path):
        assert name.split(".")[0] != "kafka" or name_of(path) == DOOR_TO_KAFKA_PYTHON, f"{name_of(path)}:{line} imports {name}"


def test_coordinator_reaches_the_log_in_few_places() -> None:
    """Decisions know no storage: only what appends and what composes does."""
    reaching = {name_of(path) for path in sources("coordinator") if any(name.startswith("oncelog.storage") for _, name in imports(path))}
    assert not reaching & PURE, reaching


# Everybody else reads topics through the interface `protocol/topics.py`.
CHANGES_TOPICS = {"broker/handlers/api_37_create_partitions.py", "broker/topics/creation.py"}


def test_only_what_changes_topics_sees_the_registry() -> None:
    seeing = set()
    for path in sources("coordinator", "broker"):
        tree = ast.parse(path.read_text("utf-8"))
        asks = any(isinstance(node, ast.Attribute) and node.attr == "registry" for node in ast.walk(tree))
        if asks or any(name == "oncelog.storage.directory.topics" for _, name in imports(path)):
            seeing.add(name_of(path))
    assert seeing == CHANGES_TOPICS


MOST_LINES = 400


def needs(package: str) -> dict[str, set[str]]:
    """Module -> modules of the package that it imports, by dotted name."""
    modules = {dotted(path): path for path in sources(package)}
    found: dict[str, set[str]] = {}
    for module, path in modules.items():
        names = {name for _, name in imports(path)}
        for node in ast.walk(ast.parse(path.read_text("utf-8"), str(path))):
            if isinstance(node, ast.ImportFrom):
                names |= {f"{node.module}.{alias.name}" for alias in node.names}
        found[module] = names & modules.keys() - {module}
    return found


def dotted(path: Path) -> str:
    return "oncelog." + name_of(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def circle_in(graph: dict[str, set[str]]) -> set[str]:
    """What is left when modules that need nobody, or whom nobody needs, are taken away until there are none."""
    left = {module: set(names) for module, names in graph.items()}
    while True:
        needed = set[str]().union(*left.values())
        free = {module for module, names in left.items() if not names or module not in needed}
        if not free:
            return left.keys() - free
        left = {module: names - free for module, names in left.items() if module not in free}


@pytest.mark.parametrize("package", PACKAGES)
def test_no_circles(package: str) -> None:
    """No module needs another that needs it, not even for types or inside a function."""
    assert sorted(circle_in(needs(package))) == []


def test_a_circle_would_be_seen() -> None:
    assert circle_in({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == {"b", "c"}


@pytest.mark.parametrize("path", sources(*PACKAGES), ids=name_of)
def test_modules_are_short(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= MOST_LINES


def test_importing_messages_starts_no_kafka_client() -> None:
    """kafka-python's package starts its client half when imported, which takes 200 ms; our door goes around it."""
    import subprocess
    import sys

    code = (
        "import sys; from oncelog.protocol import messages; m = messages.HeartbeatRequest(); "
        "messages.encode_request(12, 4, m); assert 'kafka' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
