from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.bench.report import FOLDER, PAGE, Loaded, main, write
from tests.bench.results import MACHINE, Results, Round, RowResult, Sample

pytestmark = pytest.mark.unit
ROOT = Path(__file__).parents[3]
OPTIONS = {
    "seconds": 5.0,
    "warm_seconds": 2.5,
    "rounds": 3,
    "quiet_cores": 0.15,
    "generator": "C",
    "brokers": ["oncelog", "kafka", "kfake"],
}


def results(*, loaded: bool = False) -> Results:
    produce = RowResult("produce", "Small requests", "produce <100 B>", "req/s", "more", "request")
    for ours, theirs in ((10.0, 5.0), (12.0, 4.0), (30.0, 3.0)):
        samples = {
            "oncelog": Sample(ours, 20.0, 40.0, more={"p99 ms": 1.5}),
            "kafka": Sample(theirs, 30.0),
            "kfake": Sample(error="no\nGo"),
        }
        produce.rounds.append(Round(1, False, samples))
    start = RowResult("start", "Start", "start", "ms", "less", "start")
    start.rounds.append(Round(4 if loaded else 1, loaded, {"oncelog": Sample(100.0), "kafka": Sample(400.0)}))
    floor = RowResult("echo", "Limits of the machine", "echo", "req/s", "more", "request", [Round(1, False, {MACHINE: Sample(7.0)})])
    return Results({"processor": "Ada 1", "source": "abc"}, OPTIONS, [produce, start, floor])


def page(folder: Path, *, loaded: bool = False) -> str:
    return write(results(loaded=loaded), "run.json", folder, force=loaded)[0].read_text()


def test_figures_of_a_loaded_run_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Loaded, match="start"):
        write(results(loaded=True), "run.json", tmp_path / "page")
    assert not (tmp_path / "page").exists()


def test_forced_the_page_says_so(tmp_path: Path) -> None:
    text = page(tmp_path, loaded=True)
    assert "not to be relied on" in text
    assert "start ‡" in text
    assert "‡" not in page(tmp_path)


def test_the_command_refuses_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "run.json"
    results(loaded=True).save(file)
    assert main([str(file), "--to", str(tmp_path / "page")]) == 1
    assert "measure again" in capsys.readouterr().err
    assert main([str(file), "--to", str(tmp_path / "page"), "--force"]) == 0


def test_the_page_has_medians_ratios_of_rounds_machine_and_command(tmp_path: Path) -> None:
    text = page(tmp_path)
    (row,) = (line for line in text.splitlines() if line.startswith("| produce"))
    assert "**12**<br>20 µs CPU a request<br>peak 40 MiB<br>p99 1.5 ms" in row
    assert "**3**<br>2 to 10<br>CPU 0.667" in row
    assert "- produce <100 B>, kfake: no Go" in text
    assert "- processor: Ada 1" in text
    assert "python -m tests.bench --against kafka,kfake --rounds 3 --seconds 5 --warm-seconds 2.5" in text
    assert "| echo | req/s | **7** |" in text


def test_every_chart_of_the_page_is_there_and_well_formed(tmp_path: Path) -> None:
    text = page(tmp_path)
    pictures = re.findall(r"!\[.*\]\((.*)\)", text)
    assert pictures == ["small-requests.svg", "start.svg"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([PAGE, *pictures])
    for picture in pictures:
        ElementTree.parse(tmp_path / picture)


def test_readme_names_the_page_once_it_is_there() -> None:
    named = f"{FOLDER.relative_to(ROOT)}/{PAGE}" in (ROOT / "README.md").read_text()
    assert named == (FOLDER / PAGE).exists()
