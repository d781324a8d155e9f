"""The page's files: whole, without the network, and text stays text."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit
PAGE = Path(__file__).parents[4] / "broker" / "console" / "page"
VENDORED = {"preact-htm.js", "uplot.js", "uplot.css", "licenses.txt"}
OURS = sorted(path for path in PAGE.iterdir() if path.name not in VENDORED)
API = (PAGE.parent / "API.md").read_text()


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.name)
def test_it_needs_no_network(path: Path) -> None:
    assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", path.read_text())


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.name)
def test_what_clients_named_is_never_markup(path: Path) -> None:
    """htm makes text of whatever stands in ${…}; these are the ways around it."""
    assert not re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerouslySet|\beval\b|javascript:", path.read_text())


def test_every_file_that_is_named_is_there_and_named() -> None:
    texts = {path.name: path.read_text() for path in OURS}
    named = {name for text in texts.values() for name in re.findall(r'(?:from "\./|/page/)([\w.-]+)"', text)}
    assert named | {"index.html"} == {path.name for path in PAGE.iterdir()}


def test_the_markup_has_no_script_of_its_own() -> None:
    """Its Content-Security-Policy would not run it."""
    assert re.findall(r"<script(?![^>]*\bsrc=)", (PAGE / "index.html").read_text()) == []
    assert not re.findall(r"\son\w+=", (PAGE / "index.html").read_text())


@pytest.mark.parametrize("name", ["stuck-row", "abort", "life", "lint-row"])
def test_elements_that_others_look_for(name: str) -> None:
    assert any(f'data-test="{name}"' in path.read_text() for path in OURS)


def test_only_paths_of_the_api_are_asked() -> None:
    text = "\n".join(path.read_text() for path in OURS)
    asked = set(re.findall(r'(?<!\.)\b(?:useApi|get|post)\([`"](\w+)', text))
    described = set(re.findall(r"^## (?:GET|POST) /api/v1/(\w+)", API, re.MULTILINE))
    assert asked
    assert asked <= described


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
def test_numbers_and_times_as_people_read_them() -> None:
    cases = {
        "number(1234567)": "1,234,567",
        "number(null)": "–",
        "duration(900)": "900 ms",
        "duration(9_940)": "9.9 s",
        "duration(12_999)": "12 s",
        "duration(200_000)": "3 min 20 s",
        "duration(7_500_000)": "2 h 5 min",
        "duration(86_400_000)": "1 d",
        "duration(null)": "–",
        "duration(-5000)": "–5.0 s",
        "bytes(999)": "999 B",
        "bytes(1500)": "1.5 kB",
        "bytes(42_000_000)": "42 MB",
        "plural(1, 'batch', 'batches')": "1 batch",
        "plural(2000, 'batch', 'batches')": "2,000 batches",
        "shown({hex: '00ff'})": "0x00ff",
        "shown('<b>')": "<b>",
        "client('a', '::1')": "a at ::1",
        "client(null, null)": "–",
        "client(null, 'h')": "h",
        "colour(1099511627777)": "7",
        "colour(-1)": "none",
        "clock(null)": "–",
        "clock(Date.UTC(2026, 0, 2, 3, 4, 5, 6), {exact: true, today: Date.UTC(2026, 0, 2)})": "03:04:05.006",
        "clock(Date.UTC(2026, 0, 2, 3, 4, 5), {today: Date.UTC(2026, 0, 3)})": "2026-01-02 03:04:05",
    }
    script = f'import * as t from "{(PAGE / "text.js").as_uri()}"; const {{{", ".join(sorted({c.split("(")[0] for c in cases}))}}} = t;'
    script += f"console.log(JSON.stringify([{', '.join(cases)}]))"
    run = subprocess.run(
        ["node", "--input-type=module", "-e", script],
        env={"TZ": "UTC", "PATH": "/usr/bin:/bin:" + str(Path(shutil.which("node") or "").parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert dict(zip(cases, json.loads(run.stdout), strict=True)) == cases
