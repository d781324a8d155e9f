"""CRC-32C, whole and continued."""

from __future__ import annotations

from oncelog.protocol.crc import crc32c


def test_crc32c_check_value() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(b"6789", crc32c(b"12345")) == 0xE3069283
