"""Settings in environment variables, by the rules of Apache Kafka's container image: `KAFKA_LOG_DIRS=x` is `log.dirs=x`.

`CLUSTER_ID` is the id of a new data directory. What names no setting is left alone as there, but a name that is nearly one is refused:
a misspelt `KAFKA_LISTENERS` would open a door that was meant to be shut.
"""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Collection, Mapping

from oncelog.protocol.errors import ErrorCode, KafkaError

_log = logging.getLogger(__name__)

# variables of start scripts, images and Kubernetes' service links, which are no settings
_OF_OTHERS = re.compile(
    r"KAFKA_(?:"
    r"CREATE_TOPICS|VERSION|HOME|USER|GROUP|DEBUG|CLASSPATH|"
    r"(?:\w+_)?OPTS|JMX_\w+|LOG4J_\w+|TOOLS_LOG4J_\w+|"
    r"SSL_(?:KEYSTORE|TRUSTSTORE)_(?:FILENAME|CREDENTIALS)|SSL_KEY_CREDENTIALS|"
    r"(?:\w+_)?SERVICE_(?:HOST|PORT)(?:_\w+)?|(?:\w+_)?PORT(?:_\d+_\w+)?"
    r")"
)
_NEAR = 0.8


def configs_in(environment: Mapping[str, str], known: Collection[str]) -> dict[str, str]:
    """Those of the variables that are settings. Raises KafkaError(INVALID_CONFIG) for a name that is nearly one."""
    found, ignored = {}, []
    for variable in sorted(environment):
        if not variable.startswith("KAFKA_"):
            continue
        name = _dotted(variable)
        if name in known or name.startswith("listener.name."):
            found[name] = environment[variable]
        elif not _OF_OTHERS.fullmatch(variable):
            _check_not_misspelt(variable, name, known)
            ignored.append(variable)
    if ignored:
        _log.info("environment variables that name no setting are ignored: %s", ", ".join(ignored))
    if "advertised.listeners" in found:  # Testcontainers for .NET appends listeners that were added, also when there are none
        found["advertised.listeners"] = found["advertised.listeners"].strip().removesuffix(",")
    if environment.get("CLUSTER_ID"):
        found.setdefault("cluster.id", environment["CLUSTER_ID"])
    return found


def _check_not_misspelt(variable: str, name: str, known: Collection[str]) -> None:
    near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=_NEAR)
    if near:
        meant = "KAFKA_" + near[0].replace("_", "__").replace("-", "___").replace(".", "_").upper()
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"{variable} names no setting; did you mean {meant}?")


def _dotted(variable: str) -> str:
    """`_` is `.`, `__` is `_`, `___` is `-`."""
    name = variable.removeprefix("KAFKA_").lower()
    return name.replace("___", "-").replace("__", "\0").replace("_", ".").replace("\0", "_")
