"""A `WholeBroker` behind a socket, for commands: each request is handled by the broker's own handlers, one at a time."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey

from support.scripted_broker import ScriptedBroker
from support.whole_broker import WholeBroker


class ServedBroker(ScriptedBroker):
    """`answers` may be replaced by a script, key by key."""

    def __init__(self, whole: WholeBroker) -> None:
        self.whole = whole
        self._one_at_a_time = threading.Lock()
        super().__init__({ApiKey(key): partial(self._handled, ApiKey(key)) for key, _low, _high in whole.context.apis.advertised()})
        whole.connection.local_address = ("127.0.0.1", self.port)

    def _handled(self, key: ApiKey, version: int, request: Any) -> Any:
        with self._one_at_a_time:
            asked = self.whole.begin_body(key, version, messages.encode_request(key, version, request))
            if asked.waits:
                self.whole.advance(60_000)
            return asked.answer()
