"""`oncelog doctor`: why can a client not reach a broker?

It walks the way of a client, one step after the other, and stops each broker's walk at the first step that fails:

    name → address → TCP connection → TLS → ApiVersions → SASL → Metadata → the same again for every advertised address

The last step catches what most often goes wrong: the bootstrap address works, but the broker tells clients to go on to an address
that only it can reach.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import ssl
from typing import TYPE_CHECKING, NamedTuple

from cyclopts import App
from oncelog.broker.commands.client.cluster import Node
from oncelog.broker.commands.client.options import DEFAULT, Connection
from oncelog.broker.commands.client.output import UNREACHABLE, USAGE, Format, fail, show, show_json
from oncelog.broker.commands.client.wire import ConnectFailure, Security, WireClient, parse_address
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import KafkaError

if TYPE_CHECKING:
    from oncelog.protocol import messages

app = App(name="doctor", help="Find out why a client cannot reach a broker.")
_STEPS = {"dns": "name", "tcp": "connection", "tls": "TLS", "api_versions": "ApiVersions", "sasl": "authentication", "request": "metadata"}


class Finding(NamedTuple):
    """One step of one broker's walk. `advice` is empty when it went well."""

    broker: str
    step: str
    ok: bool
    detail: str
    advice: str = ""


@app.default
def doctor(*, connection: Connection = DEFAULT) -> None:
    """Find out why a client cannot reach a broker. Exit status 3 when something is wrong."""
    findings: list[Finding] = []
    security = connection.security()
    for text in connection.bootstrap.split(","):
        try:
            host, port = parse_address(text)
        except ValueError as error:
            fail(str(error), USAGE)
        findings += examine(host, port, security, connection.timeout_s)
    _report(findings, connection.format)
    if not all(finding.ok for finding in findings):
        raise SystemExit(UNREACHABLE)


def examine(host: str, port: int, security: Security, timeout_s: float) -> list[Finding]:
    """The walk from one bootstrap address, and from every address its brokers advertise."""
    findings, metadata = _walk(host, port, security, timeout_s)
    if metadata is None:
        return findings
    for broker in metadata.brokers:
        node = Node(broker.node_id, broker.host, broker.port)
        if (node.host, node.port) != (host, port):
            findings += _examine_advertised(node, host, security, timeout_s, metadata.cluster_id)
    return findings


def _walk(host: str, port: int, security: Security, timeout_s: float) -> tuple[list[Finding], messages.MetadataResponse | None]:
    """Findings, and the Metadata answer if it came to that."""
    client = WireClient(host, port, security=security, timeout_s=timeout_s)
    name = client.address
    try:
        with client.connect():
            metadata = _metadata(client)
    except ConnectFailure as failure:
        return [Finding(name, _STEPS[failure.stage], False, failure.why, _advice(failure, client, security, timeout_s))], None
    except KafkaError as error:
        return [Finding(name, "metadata", False, str(error), "The broker is too old or too new for this client.")], None
    how = f"{'TLS' if security.tls else 'plain text'}{f', {security.mechanism}' if security.mechanism else ''}"
    detail = f"answers over {how}: cluster {metadata.cluster_id}, {len(metadata.brokers)} broker(s), {len(client.versions)} APIs"
    return [Finding(name, "all steps", True, detail)], metadata


def _examine_advertised(node: Node, bootstrap_host: str, security: Security, timeout_s: float, cluster_id: str | None) -> list[Finding]:
    findings, metadata = _walk(node.host, node.port, security, timeout_s)
    said = f"advertised by broker {node.node_id}"
    if metadata is not None and metadata.cluster_id != cluster_id:
        advice = f"Port {node.port} belongs to another cluster: two brokers advertise the same address."
        return [Finding(findings[0].broker, "advertised address", False, f"{said}, but is cluster {metadata.cluster_id}", advice)]
    if metadata is not None:
        return [findings[0]._replace(detail=f"{said}; {findings[0].detail}")]
    advice = (
        f"Clients reach {bootstrap_host} but are sent on to {node.host}:{node.port}. "
        "Set advertised.listeners to an address that clients can reach."
    )
    if _is_loopback(node.host) and not _is_loopback(bootstrap_host):
        advice += f" {node.host} is the client's own machine, seen from anywhere else."
    first = findings[0]
    return [first._replace(step="advertised address", detail=f"{said}: {first.step} failed: {first.detail}", advice=advice)]


def _metadata(client: WireClient) -> messages.MetadataResponse:
    from oncelog.protocol import messages

    return client.send(ApiKey.METADATA, messages.MetadataRequest(topics=[], allow_auto_topic_creation=False))


def _advice(failure: ConnectFailure, client: WireClient, security: Security, timeout_s: float) -> str:
    match failure.stage:
        case "dns":
            return "Check the spelling; inside containers use the service's name, outside them the host's."
        case "tcp" if "refused" in failure.why.lower():
            return "The machine is there but nothing listens on that port: is the broker running, on that port and interface?"
        case "tcp":
            return "Packets go nowhere: a firewall, a wrong address, or a port that is not published."
        case "tls" if "alert protocol version" in failure.why:
            return "Client and broker have no TLS version in common: see ssl.enabled.protocols and ssl.cipher.suites."
        case "tls" if "alert" in failure.why:
            return "The broker wants a client certificate that an authority of its ssl.truststore issued: give one with --cert."
        case "tls" if "certificate" in failure.why:
            return "Give the authority of the broker's certificate with --ca; its name must be the host's."
        case "tls":
            return "The port may speak plain text: try --security-protocol PLAINTEXT or SASL_PLAINTEXT."
        case "sasl" if "it offers" in failure.why:
            return "Choose one of these with --sasl-mechanism, or offer it: sasl.enabled.mechanisms."
        case "sasl" if "takes no SASL" in failure.why:
            return (
                f"Leave out --username, or use another port: this one is for --security-protocol {'SSL' if security.tls else 'PLAINTEXT'}."
            )
        case "sasl":
            return "Check user, password and --sasl-mechanism; `oncelog user list` shows who may log in with SCRAM."
    if security.tls is None and _speaks_tls(client, timeout_s):
        return "The port speaks TLS: use --security-protocol SSL or SASL_SSL (and --ca)."
    if failure.stage == "request" and security.mechanism is None:
        return "The broker closed the connection after ApiVersions: it wants SASL (--username, --password, --sasl-mechanism)."
    return "Something else than a Kafka broker may listen there."


def _speaks_tls(client: WireClient, timeout_s: float) -> bool:
    """Whether a TLS handshake gets through on that port."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    probe = WireClient(client.host, client.port, security=dataclasses.replace(Security(), tls=context), timeout_s=timeout_s)
    try:
        probe.connect().close()
    except ConnectFailure as failure:
        return failure.stage not in ("dns", "tcp", "tls") or "alert" in failure.why
    return True


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _report(findings: list[Finding], how: Format) -> None:
    if how is Format.JSON:
        show_json([finding._asdict() for finding in findings])
        return
    rows = [{"": "ok" if f.ok else "FAILED", "broker": f.broker, "step": f.step, "detail": f.detail} for f in findings]
    show(rows, ["", "broker", "step", "detail"], how)
    for finding in findings:
        if finding.advice:
            print(f"\n{finding.broker}: {finding.advice}")
