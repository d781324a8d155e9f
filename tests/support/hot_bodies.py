"""What the fields of random Produce and Fetch bodies may hold."""

from __future__ import annotations

from hypothesis import strategies as st

int16 = st.integers(-(2**15), 2**15 - 1)
int32 = st.integers(-(2**31), 2**31 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)
text = st.text(st.characters(codec="utf-8"), max_size=200)
optional_text = st.none() | text
records = st.binary(max_size=300)
topic_id = st.binary(min_size=16, max_size=16).filter(any)
