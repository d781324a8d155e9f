"""Eight mistakes of clients, each with what to write instead; and what was found of them."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final, NamedTuple

MOST_FINDINGS = 1000
LONGEST_TEXT = 500


class Rule(NamedTuple):
    """One mistake."""

    title: str
    instead: str


AUTO_COMMIT: Final = "auto-commit-beside-transactions"
READ_UNCOMMITTED: Final = "read-uncommitted-reader"
SHARED_ID: Final = "transactional-id-shared"
OUTSIDE: Final = "offsets-outside-transaction"
NO_METADATA: Final = "no-group-metadata"
OLD_VERSION: Final = "old-transaction-version"
TOO_LONG: Final = "transaction-longer-than-timeout"
RETRIES: Final = "retries-without-idempotence"
RULES: Final = {
    AUTO_COMMIT: Rule(
        "Auto-commit beside transactions",
        "Set enable.auto.commit=false on the consumer. Its offsets belong into the transaction alone, by sendOffsetsToTransaction.",
    ),
    READ_UNCOMMITTED: Rule(
        "A read_uncommitted reader of a transactional topic",
        "Set isolation.level=read_committed on the consumer (Java's default is read_uncommitted): it reads aborted records now.",
    ),
    SHARED_ID: Rule(
        "One transactional id in two live clients",
        "Give each running producer a transactional.id of its own, as `name-<instance number>`; the same one only to its successor.",
    ),
    OUTSIDE: Rule(
        "Offsets committed outside the transaction",
        "Replace consumer.commit() by producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata()) before commitTransaction().",
    ),
    NO_METADATA: Rule(
        "Group metadata is missing",
        "Pass consumer.groupMetadata() to sendOffsetsToTransaction, not the group's name alone: without it a consumer that lost its "
        "partitions still commits their offsets.",
    ),
    OLD_VERSION: Rule(
        "An old transaction protocol where a newer is to be had",
        "Use a client that speaks transaction version 2 (Java 4.0, franz-go 1.19 or newer): a late request of an ended transaction cannot "
        "land in the next one there.",
    ),
    TOO_LONG: Rule(
        "A transaction longer than its timeout",
        "Commit smaller portions, or raise transaction.timeout.ms (up to transaction.max.timeout.ms of the broker); never wait for people "
        "or other systems within a transaction.",
    ),
    RETRIES: Rule(
        "Retries without idempotence",
        "Set enable.idempotence=true: then a batch that is sent again is recognised, and stands in the log once.",
    ),
}


class Findings:
    """One for each rule, client and subject. Bounded: the one that was not seen for longest goes."""

    def __init__(self) -> None:
        self._rows: OrderedDict[tuple[str, str | None, str | None, str], dict[str, Any]] = OrderedDict()

    def note(self, rule: str, subject: str, evidence: str, time_ms: int, client: tuple[str | None, str | None] = (None, None)) -> None:
        """It was seen, perhaps again. `client`: its id and address."""
        subject = subject[:LONGEST_TEXT]
        client_id = None if client[0] is None else client[0][:LONGEST_TEXT]
        key = (rule, client_id, client[1], subject)
        row = self._rows.get(key)
        if row is not None:
            if time_ms > row["last_ms"]:
                row["count"] += 1
            row["last_ms"], row["evidence"] = max(time_ms, row["last_ms"]), evidence[: 2 * LONGEST_TEXT]
            self._rows.move_to_end(key)
            return
        self._rows[key] = {
            "rule": rule,
            "title": RULES[rule].title,
            "client_id": client_id,
            "client_host": client[1],
            "subject": subject,
            "evidence": evidence[: 2 * LONGEST_TEXT],
            "instead": RULES[rule].instead,
            "first_ms": time_ms,
            "last_ms": time_ms,
            "count": 1,
        }
        if len(self._rows) > MOST_FINDINGS:
            self._rows.popitem(last=False)

    def rows(self) -> list[dict[str, Any]]:
        """As API.md has them, the newest first."""
        return sorted((dict(row) for row in self._rows.values()), key=lambda row: (-row["last_ms"], row["rule"], row["subject"]))
