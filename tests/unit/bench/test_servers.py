from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.servers import built_folder, cache_folder

pytestmark = pytest.mark.unit


def test_what_is_built_of_another_source_is_kept_elsewhere(tmp_path: Path) -> None:
    source = tmp_path / "load.c"
    source.write_text("int main(void) { return 0; }")
    first = built_folder(source)
    assert first == built_folder(source)
    assert first.parent == cache_folder()
    source.write_text("int main(void) { return 1; }")
    assert built_folder(source) != first
