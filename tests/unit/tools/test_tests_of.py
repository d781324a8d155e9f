"""Which tests `make check ONE=` runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.tests_of import NoSuchModule, files_that_test, main

pytestmark = pytest.mark.unit
TREE = {
    "storage/log/__init__.py": "",
    "storage/log/segment.py": "",
    "storage/log/segments.py": "",
    "tests/unit/storage/log/test_segment.py": "",
    "tests/unit/storage/test_a.py": "from oncelog.storage.log.segment import Segment",
    "tests/unit/storage/test_b.py": "def test_b():\n    from oncelog.storage.log import segment",
    "tests/wire/test_c.py": "import oncelog.storage.log.segment",
    "tests/unit/storage/test_d.py": "from oncelog.storage.log.segments import Segments",
    "tests/unit/storage/kit.py": "import oncelog.storage.log.segment",
    "tests/sim/test_e.py": "import oncelog.storage.log.segment",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_file_of_its_name_then_whoever_imports_it(root: Path) -> None:
    files = ["storage/log/test_segment.py", "storage/test_a.py", "storage/test_b.py"]
    assert files_that_test("storage/log/segment.py", root) == [f"tests/unit/{file}" for file in files] + ["tests/wire/test_c.py"]
    assert files_that_test("storage/log/segments.py", root) == ["tests/unit/storage/test_d.py"]


def test_a_package_is_its_init(root: Path) -> None:
    (root / "tests/unit/storage/test_log.py").write_text("")
    assert files_that_test("storage/log/__init__.py", root) == ["tests/unit/storage/test_log.py", "tests/unit/storage/test_b.py"]


@pytest.mark.parametrize("module", ["storage/log/nowhere.py", "storage/log", "tests/sim/test_e.py", "../storage/log/segment.py", ""])
def test_what_is_no_module(root: Path, module: str) -> None:
    with pytest.raises(NoSuchModule, match="there is no module"):
        files_that_test(module, root)


def test_refusals_name_what_was_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["storage/log/nowhere.py"]) == 2
    assert "storage/log/nowhere.py" in capsys.readouterr().err
    assert main([]) == 2
