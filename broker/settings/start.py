"""What `oncelog serve` starts with: file, environment and overrides, and where its flags fill in what these leave open.

A flag never takes the place of a listener that is configured: it agrees with it, or the start is refused. `ONCELOG_HOST` and
`ONCELOG_DATA_DIR` are the image's own defaults, weaker than any setting.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from oncelog.broker.settings.control import LOOPBACK
from oncelog.broker.settings.listeners import ANY_ADDRESS, Endpoint, parse_endpoints, refusal
from oncelog.broker.settings.sources import merge

DEFAULT_PORT = 9092


def start_configs(
    port: int | None,
    host: str | None,
    file: Path | None,
    override: Sequence[str],
    fast: bool,
    environment: Mapping[str, str],
    control: int | None = None,
) -> dict[str, str]:
    """Settings by Kafka's names, `listeners` among them. Raises KafkaError(INVALID_CONFIG) for a contradiction; OSError for the file."""
    values = merge(file, environment, override)
    if fast:
        if values.get("log.flush.on.ack", "").lower() == "true":
            raise refusal("--fast contradicts log.flush.on.ack=true; leave one of them out")
        values["log.flush.on.ack"] = "false"
    if control is not None:
        listener = f"http://{LOOPBACK}:{control}"
        if values.setdefault("control.listener", listener) != listener:
            raise refusal(f"--control {control} contradicts control.listener={values['control.listener']}; leave one of them out")
    values["listeners"] = _listeners(values, port, host, environment)
    return values


def data_directory(values: Mapping[str, str], given: Path | None, environment: Mapping[str, str]) -> Path:
    """`--data-dir`, else `log.dirs`, else `ONCELOG_DATA_DIR`, else the user's data folder."""
    named = values.get("log.dirs", values.get("log.dir")) or environment.get("ONCELOG_DATA_DIR")
    if given is not None or named:
        return Path(given or named or "").resolve()
    import platformdirs

    return Path(platformdirs.user_data_dir("oncelog"))


def _listeners(values: Mapping[str, str], port: int | None, host: str | None, environment: Mapping[str, str]) -> str:
    advertised = values.get("advertised.listeners", "") if environment.get("KAFKA_ADVERTISED_LISTENERS") else ""
    if values.get("listeners") or ("listeners" in values and not advertised):
        return values["listeners"] if port is None and host is None else _filled_in(values, port, host)
    address = host if host is not None else environment.get("ONCELOG_HOST") or None
    if not advertised:
        return str(Endpoint("PLAINTEXT", address or "127.0.0.1", DEFAULT_PORT if port is None else port))
    named = [endpoint for endpoint in _endpoints(advertised, "advertised.listeners") if endpoint.name not in _controllers(values)]
    if port is not None and len(named) > 1:
        raise refusal(f"--port {port} cannot be the port of {len(named)} advertised listeners; set listeners instead")
    return ",".join(
        str(Endpoint(name, address or ANY_ADDRESS, advertised_port if port is None else port)) for name, _, advertised_port in named
    )


def _filled_in(values: Mapping[str, str], port: int | None, host: str | None) -> str:
    """`listeners` with the flag's host where they have none. Raises KafkaError for another port, or another host."""
    named, controllers = _endpoints(values["listeners"], "listeners"), _controllers(values)
    bound = [endpoint for endpoint in named if endpoint.name not in controllers]
    if port is not None and port not in [endpoint.port for endpoint in bound]:
        raise _contradiction(f"--port {port}", values)
    if host is not None and any(endpoint.host not in ("", host.strip("[]")) for endpoint in bound):
        raise _contradiction(f"--host {host}", values)
    return ",".join(
        str(endpoint if endpoint.host or endpoint.name in controllers else endpoint._replace(host=host or "")) for endpoint in named
    )


def _contradiction(flag: str, values: Mapping[str, str]) -> Exception:
    return refusal(f"{flag} contradicts listeners={values['listeners']}; leave {flag.split()[0]} out, or change listeners")


def _endpoints(text: str, setting: str) -> list[Endpoint]:
    return parse_endpoints((part.strip() for part in text.split(",") if part.strip()), setting)


def _controllers(values: Mapping[str, str]) -> set[str]:
    return {name.strip().upper() for name in values.get("controller.listener.names", "CONTROLLER").split(",")}
