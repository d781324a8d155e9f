"""Who may use the inspector: decided on a request's head. The page is everybody's on this machine, what it tells is its token's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from oncelog.broker.control.guard import FORBIDDEN, UNAUTHORIZED, from_elsewhere, knows

API = "/api/"
_READS = ("GET", "HEAD")


@dataclass(frozen=True, slots=True)
class Access:
    """`host`: where it listens, the only stranger's name that a Host may have; None: any may. `reads_freely`: whoever reaches the port."""

    token: str = field(repr=False)
    host: str | None
    reads_freely: bool = False

    def refusal(self, method: str, path: str, headers: Mapping[str, str]) -> tuple[int, str] | None:
        """A status and what to do; None: go on. `headers` by their names in lower case."""
        stranger = from_elsewhere(headers, self.host)
        if stranger is not None:
            return FORBIDDEN, stranger
        free = not path.startswith(API) or (self.reads_freely and method in _READS)
        if free or knows(self.token, headers):
            return None
        return UNAUTHORIZED, "Authorization: Bearer TOKEN is missing or wrong; the token stands at the end of the address that was printed"
