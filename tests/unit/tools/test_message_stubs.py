"""What type checkers know of the message classes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from oncelog.protocol import messages

from tools import message_stubs

pytestmark = pytest.mark.unit
ROOT = Path(message_stubs.__file__).resolve().parents[1]

# what must be refused ends in the code of the refusal
SNIPPET = """\
from oncelog.broker.commands.client.wire import WireClient
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey

def of_a_request(asked: messages.OffsetFetchRequest) -> None:
    print(asked.require_stable, asked.groups[0].group_id, asked.topics)
    print(asked.requires_stable)  # attr-defined
    print(asked.groups[0].group)  # attr-defined
    print(len(asked.topics))  # arg-type

def of_an_answer(client: WireClient, body: bytes) -> None:
    messages.HeartbeatResponse(error_code=0)
    messages.HeartbeatResponse(error_coed=0)  # call-arg
    messages.HeartbeatResponse(error_code="none")  # arg-type
    print(messages.decode_request(ApiKey.HEARTBEAT, 4, body).member)  # attr-defined
    print(client.send(ApiKey.HEARTBEAT, messages.HeartbeatRequest()).error)  # attr-defined
"""


def test_the_stub_names_what_the_door_gives() -> None:
    """Functions are named by hand, classes from the definitions."""
    stub = message_stubs.render()
    for name in messages.__all__:
        assert f"{name} as {name}" in stub or f"def {name}(" in stub, name


def test_a_misspelt_field_and_a_forgotten_null_fail_the_check(tmp_path: Path) -> None:
    snippet = tmp_path / "snippet.py"
    snippet.write_text(SNIPPET)
    run = subprocess.run([sys.executable, "-m", "mypy", str(snippet)], cwd=ROOT, capture_output=True, text=True, timeout=100)
    found = {(int(line), code) for line, code in re.findall(r"snippet\.py:(\d+): error: .*\[([\w-]+)\]$", run.stdout, re.MULTILINE)}
    wanted = {(number, line.split("# ")[1]) for number, line in enumerate(SNIPPET.splitlines(), 1) if "# " in line}
    assert found == wanted, run.stdout + run.stderr
