"""The README holds: files, folders and commands that it names are there, and what it claims has a test."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
PACKAGES = ("protocol", "storage", "coordinator", "broker", "spark_jobs", "tools")

# what the README says, word for word, and the tests that hold it
CLAIMS = {
    "Stock clients (confluent-kafka, Java, kafka-python, aiokafka, Kafka Streams, Kafka Connect, Spark) run against it unmodified": (
        "clients/test_confluent.py::test_consume_transform_produce",
        "clients/test_java.py::test_copies_exactly_once",
        "clients/test_kafka_python.py::test_transactions",
        "clients/test_aiokafka.py::test_transactions_commit_abort_and_offsets",
        "clients/test_kafka_streams.py::test_whatever_is_killed",
        "clients/test_kafka_connect.py::test_every_source_record_once",
        "spark/test_source.py::test_every_batch_finishes_over_markers",
    ),
    "byte-compatible with Apache Kafka's": (
        "unit/storage/log/test_golden.py::test_case_4_directory_of_kafka",
        "referee/test_open_in_kafka.py::test_every_record_is_served_as_it_was",
    ),
    "It acknowledges nothing that is not on disk": (
        "unit/broker/handlers/test_api_00_produce.py::test_acknowledged_is_visible_and_survives_a_power_cut",
    ),
    "survive `kill -9` and power cuts at any instant": (
        "crash/test_kills.py::test_k1_a_new_instance_aborts_what_the_old_one_had_open",
        "sim/test_transactions.py::test_exactly_once",
        "sim/test_power_cuts.py::test_acknowledged_records_survive",
    ),
    "336,776 flights": ("unit/test_readme.py::test_the_flights_are_as_many_as_told",),
    "`--port 0` picks a free one and prints it": ("clients/test_readme.py::test_serve_and_ready",),
    "exit status 0 when it serves": ("clients/test_readme.py::test_serve_and_ready",),
    "\nPython (confluent-kafka):\n": ("clients/test_readme.py::test_python",),
    "\nJava:\n": ("clients/test_readme.py::test_java",),
    "**In a test kit** (Testcontainers, Quarkus) the image starts unmodified": ("clients/test_kits.py::test_a_kit_starts_the_image",),
    "`--topic orders:3` has topics made": ("clients/test_image.py::test_topics_are_there_with_the_first_line",),
    "`oncelog console --bootstrap HOST:PORT` tells why a consumer stands still, on any Kafka": (
        "wire/test_console.py::test_a_stuck_consumer_is_explained_and_released",
        "clients/test_page.py::test_a_stuck_consumer_is_explained_and_released",
    ),
    "`oncelog console DIR` of a data directory": ("wire/test_console.py::test_a_directory",),
    "\nSpark:\n": ("spark/test_readme.py::test_the_first_query",),
    "`oncelog verify DIR` audits either": (
        "unit/storage/audit/test_verify.py::test_our_own_directory_is_sound",
        "unit/storage/audit/test_verify.py::test_a_directory_taken_over_from_kafka_stays_sound",
    ),
    "writes a stopped data directory into that of a stopped Apache Kafka and prints the steps with your\ntopics filled in": (
        "unit/storage/moving/test_graduate.py::test_bare_logs_with_everything_in_them",
        "unit/storage/moving/test_steps.py::test_the_steps_name_the_users_topics",
        "referee/test_open_in_kafka.py::test_no_folder_was_set_aside",
    ),
    "opens a directory that Apache Kafka wrote": ("unit/storage/log/test_golden.py::test_case_4_directory_of_kafka",),
    "within the version ranges of Apache Kafka 4.3": ("unit/tools/test_support_table.py::test_no_api_claims_a_version_that_kafka_lacks",),
    "everything else closes the connection": ("wire/test_framing.py::test_refused",),
    "Imports point left only": ("unit/test_layers.py::test_imports_point_left",),
    "bytes to objects and back, pure": ("unit/test_layers.py::test_pure_modules_reach_for_nothing",),
    "the one door to kafka-python": ("unit/test_layers.py::test_one_door_to_kafka_python",),
    "not in the wheel": ("unit/test_packaging.py::test_every_folder_with_modules_is_a_package_of_the_wheel",),
    "the test of every numbered behaviour": ("unit/test_cases.py::test_every_case_has_a_test_or_a_reason",),
}

# the first cell of each row in the table of differences, and its tests
DIFFERENCES = {
    "acknowledgement (acks=1 and all)": (
        "unit/broker/handlers/test_api_00_produce.py::test_acknowledged_is_visible_and_survives_a_power_cut",
        "unit/broker/settings/test_start.py::test_fast_does_not_overrule_what_is_set",
    ),
    "a batch resent after a restart": ("unit/storage/log/test_producer_state.py::test_case_59_five_batches_deduplicate_after_restart",),
    "`kill -9` after EndTxn was answered": ("unit/coordinator/txn/test_recovery.py::test_case_49_50_51_kill_at_every_write_of_the_end",),
    "EndTxn racing another instance's InitProducerId": (
        "unit/coordinator/txn/test_service.py::test_k6_commit_racing_a_new_instance_ends_legally",
    ),
    "requests at `transaction.version` 0 that need more": (
        "unit/coordinator/txn/test_decisions.py::test_client_version_follows_the_last_request",
    ),
    "a marker written by an administrator into a live transaction": (
        "unit/coordinator/txn/test_admin_markers.py::test_admin_abort_of_a_live_transaction_fences_its_client",
    ),
    "Produce with null records": ("wire/test_pipeline.py::test_null_records_are_refused",),
    "garbage in an index, a torn tail after a clean stop, damaged checkpoints, a foreign folder": (
        "unit/storage/recovery/test_opening.py::test_case_50_index_missing_or_garbage",
        "unit/storage/recovery/test_salvage.py::test_case_45_bytes_behind_the_end_are_cut",
        "unit/storage/recovery/test_opening.py::test_case_56_checkpoint_damaged_counts_as_absent",
        "unit/storage/recovery/test_opening.py::test_case_73_foreign_folders_and_files_are_skipped",
    ),
    "acknowledged records gone: a file removed, emptied or cut": (
        "unit/storage/recovery/test_missing.py::test_what_is_missing_is_said_once",
    ),
    "one of the files with topics, settings, users and rules damaged": (
        "unit/storage/files/test_twin_file.py::test_one_of_two_copies_is_enough",
        "unit/storage/directory/test_topic_files.py::test_the_folders_tell_what_the_registry_knew",
        "unit/storage/files/test_metadata_store.py::test_users_and_rules_are_never_given_up_unasked",
    ),
    "a damaged batch with good ones above it": (
        "unit/storage/recovery/test_salvage.py::test_case_46_bit_flip_is_quarantined_and_what_is_above_is_served",
    ),
    "a lost `.txnindex`": ("unit/storage/recovery/test_opening.py::test_case_52_txnindex_damaged_never_shows_aborted_records",),
    "transaction time-outs": ("unit/coordinator/txn/test_service.py::test_case_47_late_produce_of_a_timed_out_transaction",),
    "`group.initial.rebalance.delay.ms`": ("clients/test_kafka_python.py::test_impatient_members_get_their_partitions",),
    "producer ids": (
        "unit/coordinator/txn/test_producer_ids.py::test_first_block_starts_at_two_to_the_forty_and_is_durable_before_its_first_id",
    ),
}


def exists(test: str) -> bool:
    file, _, name = test.partition("::")
    path = ROOT / "tests" / file
    return path.is_file() and re.search(rf"^(async )?def {name}\(", path.read_text("utf-8"), re.MULTILINE) is not None


def table(heading: str) -> list[list[str]]:
    """The rows of the first table below `heading`, without its head."""
    lines = README.partition(f"\n## {heading}\n")[2].partition("\n## ")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("|")][2:]


def rooms() -> list[tuple[str, str, str]]:
    return [(folder.strip("`"), text, first) for folder, text, first in table("The source, in learning order")]


@cache
def help_of(*command: str) -> str:
    ended = subprocess.run(
        [sys.executable, "-m", "oncelog.broker", *command, "--help"], capture_output=True, text=True, timeout=60, check=True
    )
    return ended.stdout


@pytest.mark.parametrize("claim", CLAIMS)
def test_what_is_claimed_is_said_and_tested(claim: str) -> None:
    assert claim in README
    assert [test for test in CLAIMS[claim] if not exists(test)] == []


def test_each_difference_has_its_tests() -> None:
    assert [row[0] for row in table("How it differs from Apache Kafka")] == list(DIFFERENCES)
    assert [test for tests in DIFFERENCES.values() for test in tests if not exists(test)] == []


def test_every_folder_of_the_source_has_its_line() -> None:
    folders = {f"{path.parent.relative_to(ROOT)}/" for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    assert sorted(folder for folder, _, _ in rooms()) == sorted(folders | {"tests/"})


def test_a_folder_stands_behind_those_it_may_import() -> None:
    layers = [folder.split("/")[0] for folder, _, _ in rooms()]
    assert list(dict.fromkeys(layers)) == ["protocol", "storage", "coordinator", "broker", "spark_jobs", "tools", "tests"]


@pytest.mark.parametrize(("folder", "first"), [(folder, first) for folder, _, first in rooms()])
def test_the_file_to_begin_with_is_there(folder: str, first: str) -> None:
    (name,) = re.findall(r"`([^`]+)`", first)
    assert (ROOT / folder / name).is_file()


def test_every_family_of_tests_is_named() -> None:
    folders = {f"tests/{path.name}" for path in (ROOT / "tests").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == set(re.findall(r"`(tests/\w+)`", README))


def test_links_lead_somewhere() -> None:
    targets = re.findall(r"\]\(([^)#]+)\)", README)
    assert len(targets) > 8
    assert [target for target in targets if not (ROOT / target).exists()] == []


@pytest.mark.parametrize("paper", ["README.md", "CONTRIBUTING.md", "DECISIONS.md", "CHANGELOG.md", "spark_jobs/README.md"])
def test_make_has_the_targets(paper: str) -> None:
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", (ROOT / paper).read_text("utf-8"), re.MULTILINE))
    there = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert named
    assert named <= there


def commands() -> list[str]:
    """What the README has a user type, or mentions so, of the `oncelog` command."""
    typed = re.findall(r"^\.venv/bin/oncelog (.*?)(?:  #.*)?$", README, re.MULTILINE)
    return typed + [text for text in re.findall(r"`oncelog ([^`]+)`", README) if text[0].islower()]


@pytest.mark.parametrize("line", commands())
def test_commands_and_their_options_exist(line: str) -> None:
    words = shlex.split(line)
    name = [word for word in words[:2] if word.islower() and word.isalpha()]
    text = help_of(*name)
    assert [word for word in words if word.startswith("--") and word not in text] == []


def test_the_options_named_without_a_command_are_serves() -> None:
    named = set(re.findall(r"`(--[a-z-]+)(?: \d+)?`", README))
    assert {"--fast", "--accept-data-loss"} <= named
    assert [option for option in named if option not in help_of("serve")] == []


def test_the_flights_are_as_many_as_told() -> None:
    from oncelog.spark_jobs import flights

    assert f"{flights.FLIGHTS:,} flights" in README


def test_the_versions_of_python_are_those_of_the_wheel() -> None:
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert f"Python {wanted.removeprefix('>=')} or newer" in README


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 150
