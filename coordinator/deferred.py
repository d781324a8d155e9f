"""An answer that is perhaps not there yet. No loop and no thread: whoever has it calls, and whoever waits is called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeAlias, TypeVar, cast

T = TypeVar("T", covariant=True)


class Deferred(Generic[T]):
    """Resolved or failed once; what comes later is ignored. It has one reader, so what is to be made of its value is made in place.

    `holds`: what must be done before a connection looks at the requests behind this answer's; None: it looks at them meanwhile.
    """

    __slots__ = ("_error", "_listeners", "_makes", "_value", "done", "holds")

    def __init__(self) -> None:
        self.done = False
        self.holds: Deferred[Any] | None = None
        self._value: T | None = None
        self._error: Exception | None = None
        self._makes: tuple[Callable[[Any], Any], ...] = ()
        self._listeners: tuple[Callable[[Deferred[T]], None], ...] = ()

    def resolve(self, value: Any) -> None:
        """The value is there. What fails while it is turned into what the reader asked for fails the answer, not the caller."""
        if self.done:
            return
        try:
            for make in self._makes:
                value = make(value)
        except Exception as error:  # it belongs to whoever waits for the answer
            self.fail(error)
            return
        self._value = value
        self._tell()

    def fail(self, error: Exception) -> None:
        """There will be none."""
        if not self.done:
            self._error = error
            self._tell()

    def _tell(self) -> None:
        self.done = True
        listeners, self._listeners, self._makes = self._listeners, (), ()
        for listener in listeners:
            listener(self)

    def become(self, make: Callable[[], Reply[Any]]) -> None:
        """Resolve with what `make()` gives, now or later, or fail with what it raises."""
        try:
            reply = make()
        except Exception as error:  # it belongs to whoever waits for the answer
            self.fail(error)
            return
        if isinstance(reply, Deferred):
            reply.when_done(self._follow)
        else:
            self.resolve(reply)

    def _follow(self, other: Deferred[Any]) -> None:
        self.become(other.result)

    # -- for its reader

    def when_done(self, listener: Callable[[Deferred[T]], None]) -> None:
        """Call `listener`, which raises nothing, once it is resolved or has failed; at once if it is so already."""
        if self.done:
            listener(self)
        else:
            self._listeners += (listener,)

    def made_into(self, make: Callable[[T], Any]) -> None:
        """Have `make` turn the value, when it comes, into what is read."""
        assert not self.done
        self._makes += (make,)

    def result(self) -> T:
        """The value; it must be there. Raises what it failed with."""
        assert self.done
        if self._error is not None:
            raise self._error
        return cast(T, self._value)

    @property
    def error(self) -> Exception | None:
        """What it failed with."""
        return self._error

    def reply(self) -> Reply[T]:
        """The value if it is there, else itself. Raises what it failed with."""
        return self.result() if self.done else self


Reply: TypeAlias = T | Deferred[T]
U = TypeVar("U")
V = TypeVar("V")


def all_of(replies: Sequence[Reply[U]]) -> Reply[list[U]]:
    """All values in order, once the last one is there; or the first exception."""
    waiting = [reply for reply in replies if isinstance(reply, Deferred)]
    if not waiting:
        return cast("list[U]", list(replies))
    gathered: Deferred[list[U]] = Deferred()
    outstanding = len(waiting)

    def settle(done: Deferred[U]) -> None:
        nonlocal outstanding
        outstanding -= 1
        if done.error is not None:
            gathered.fail(done.error)
        elif outstanding == 0:
            gathered.become(lambda: [reply.result() if isinstance(reply, Deferred) else reply for reply in replies])

    for deferred in waiting:
        deferred.when_done(settle)
    return gathered.reply()


def followed_by(reply: Reply[U], make: Callable[[U], Reply[V]]) -> Reply[V]:
    """What `make` gives for the value of `reply`, once both are there."""
    if not isinstance(reply, Deferred):
        return make(reply)
    answer: Deferred[V] = Deferred()
    reply.when_done(lambda done: answer.become(lambda: make(done.result())))
    return answer.reply()
