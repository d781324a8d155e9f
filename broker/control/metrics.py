"""The broker's figures in Prometheus' text format, in pieces: ten thousand partitions are not told in one turn of the loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from oncelog.broker.control.counting import BOUNDS, TIMED
from oncelog.broker.lifecycle import Broker
from oncelog.broker.testkit.controlled import Controlled
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.storage.log.log import Log

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_PARTITIONS_A_PIECE = 500
_FENCED = {ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.FENCED_INSTANCE_ID, ErrorCode.FENCED_MEMBER_EPOCH}
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_NAMES = {int(key): key.schema_name for key in ApiKey}


def pieces(controlled: Controlled) -> Iterator[str]:
    """Each a few milliseconds' work; what they tell may change in between."""
    broker = controlled.broker
    yield _one("oncelog_up", "gauge", "1 while clients are served.", int(broker is not None))
    yield _requests(controlled)
    yield _latencies(controlled)
    yield _errors(controlled)
    yield _rules(controlled)
    if broker is None:
        return
    yield _one("oncelog_syncs", "counter", "Syncs of files since the broker was started.", controlled.syncs)
    yield _family("oncelog_connections", "gauge", "Open connections of clients.",
                  ((_labels(listener=listener.name), len(listener.connections)) for listener in broker.listeners))  # fmt: skip
    yield _coordinators(broker)
    yield from _partitions(broker)


def _requests(controlled: Controlled) -> str:
    counts = controlled.counts
    by_key = ((_labels(api=_NAMES.get(key, str(key))), count) for key, count in enumerate(counts.by_key) if count)
    return _family("oncelog_requests", "counter", "Requests that were answered or carried out.", by_key) + _one(
        "oncelog_requests_refused", "counter", "Requests that closed their connection instead.", counts.refused
    )


def _errors(controlled: Controlled) -> str:
    told: Counter[tuple[str, str]] = Counter()
    fenced: Counter[str] = Counter()
    for (key, code), count in controlled.counts.errors.by.items():
        api = _NAMES.get(key, str(key))
        told[api, ErrorCode(code).name] += count
        if code in _FENCED:
            fenced[api] += count
    errors = ((_labels(api=api, error=error), count) for (api, error), count in told.items())
    by_api = ((_labels(api=api), count) for api, count in fenced.items())
    return _family("oncelog_errors", "counter", "Error codes in answers, those of rules excepted.", errors) + _family(
        "oncelog_fenced", "counter", "Of these, to producers and members whose place others have taken.", by_api
    )


def _latencies(controlled: Controlled) -> str:
    name = "oncelog_request_seconds"
    lines = [_head(name, "histogram", f"From a whole request to its answer, of one request in {TIMED}.")]
    for key, latencies in controlled.counts.latencies.items():
        api, count = _NAMES.get(key, str(key)), 0
        for bound, more in zip((*map(str, BOUNDS), "+Inf"), latencies.buckets, strict=True):
            count += more
            lines.append(f"{name}_bucket{_labels(api=api, le=bound)} {count}\n")
        lines.append(f"{name}_sum{_labels(api=api)} {latencies.seconds!r}\n{name}_count{_labels(api=api)} {count}\n")
    return "".join(lines)


def _rules(controlled: Controlled) -> str:
    rules = controlled.faults.rules.values()
    hits = ((_labels(rule=rule.id, action=rule.action.type), rule.hits) for rule in rules)
    return _one("oncelog_fault_rules", "gauge", "Rules there are.", len(rules)) + _family(
        "oncelog_fault_rule_hits", "gauge", "How often each was applied.", hits
    )


def _coordinators(broker: Broker) -> str:
    transactions = Counter(each.state.wire_name for each in broker.context.transactions.list().transactions)
    groups = Counter((each.kind, each.state) for each in broker.context.groups.listing.list())
    return _family(
        "oncelog_transactional_ids", "gauge", "By the state of their transaction.", ((_labels(state=s), n) for s, n in transactions.items())
    ) + _family("oncelog_groups", "gauge", "By type and state.", ((_labels(type=k, state=s), n) for (k, s), n in groups.items()))


def _partitions(broker: Broker) -> Iterator[str]:
    topics = broker.logs.topics.all()
    yield _one("oncelog_topics", "gauge", "Topics, the internal ones among them.", len(topics))
    yield _one("oncelog_partitions", "gauge", "Partitions of all topics.", sum(topic.partitions for topic in topics))
    logs = broker.logs.logs()
    for name, what, value in _OF_A_LOG:
        yield _head(name, "gauge", f"{what}, of partitions that were written to or asked for.")
        for first in range(0, len(logs), _PARTITIONS_A_PIECE):
            yield "".join(_of_log(name, log, value(log)) for log in logs[first : first + _PARTITIONS_A_PIECE])


_OF_A_LOG = (
    ("oncelog_log_start_offset", "The first offset there is", lambda log: log.log_start_offset),
    ("oncelog_log_end_offset", "The offset of the next record", lambda log: log.log_end_offset),
    (
        "oncelog_last_stable_offset_lag",
        "How many offsets open transactions keep from who reads committed records",
        lambda log: log.high_watermark - log.last_stable_offset,
    ),
    ("oncelog_producers", "Producers whose sequence numbers are known", lambda log: len(log.producers())),
    ("oncelog_log_bytes", "Bytes of all segments", lambda log: log.size_bytes()),
    ("oncelog_log_offline", "1 when it takes part no more", lambda log: int(log.offline is not None)),
)


def _of_log(name: str, log: Log, value: int) -> str:
    return f"{name}{_labels(topic=log.topic_partition.topic, partition=str(log.topic_partition.partition))} {value}\n"


def _one(name: str, kind: str, what: str, value: int) -> str:
    return _family(name, kind, what, (("", value),))


def _family(name: str, kind: str, what: str, values: Iterator[tuple[str, int]] | tuple[tuple[str, int], ...]) -> str:
    told = f"{name}_total" if kind == "counter" else name
    return _head(told, kind, what) + "".join(f"{told}{labels} {value}\n" for labels, value in values)


def _head(name: str, kind: str, what: str) -> str:
    return f"# HELP {name} {what}\n# TYPE {name} {kind}\n"


def _labels(**labels: str) -> str:
    return "{" + ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in labels.items()) + "}"
