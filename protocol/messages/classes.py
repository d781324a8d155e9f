"""Makes a plain class from a message definition: one slot and one constructor argument for each field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

Field: TypeAlias = Any  # a field of kafka-python's parsed definition


class _Unset:
    """Stands for `a new empty list` in a signature."""

    def __repr__(self) -> str:
        return "[]"


_NEW_LIST: Final = _Unset()


class MessageBase:
    """What all message classes share. Attributes are generated slots."""

    __slots__ = ()
    _defaults: dict[str, Any] = {}  # noqa: RUF012  one per class, never changed
    _struct: Field = None

    if not TYPE_CHECKING:  # a misspelt field is an error

        def __getattr__(self, name: str) -> Any:
            # Reached only for a slot that decoding left empty: a field the version lacks, or a tagged field that was not sent.
            try:
                default = self._defaults[name]
            except KeyError:
                raise AttributeError(f"{type(self).__name__} has no field {name!r}") from None
            return [] if default is _NEW_LIST else default

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(getattr(self, name) == getattr(other, name) for name in self._defaults)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self._defaults)})"

    def to_dict(self) -> dict[str, Any]:
        """All fields by name, nested messages too."""
        return {name: _plain(getattr(self, name)) for name in self._defaults}


def _plain(value: Any) -> Any:
    if isinstance(value, MessageBase):
        return value.to_dict()
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value


def make_class(name: str, struct: Field) -> type[MessageBase]:
    """A class with one slot and one constructor argument for each field, in the order of the definition."""
    body: dict[str, Any] = {
        "__slots__": tuple(struct.fields),
        "_defaults": {},
        "_struct": struct,
        "__module__": "oncelog.protocol.messages",
    }
    for field in struct.fields.values():
        body["_defaults"][field.name] = _default(field)
        if field.is_struct() or field.is_struct_array():
            nested = field.array_of if field.is_array() else field
            if field.type_str in body:  # a shared struct, used by two fields
                _share_class(body[field.type_str], nested)
            else:
                body[field.type_str] = make_class(field.type_str, nested)
    body["__init__"] = _make_init(body["_defaults"])
    made = type(name, (MessageBase,), body)
    struct.set_data_class(made)
    return made


def _share_class(shared: type[MessageBase], struct: Field) -> None:
    """Let `struct`, a second use of a shared definition, make objects of the class of the first."""
    struct.set_data_class(shared)
    for field in struct.fields.values():
        if field.is_struct() or field.is_struct_array():
            _share_class(getattr(shared, field.type_str), field.array_of if field.is_array() else field)


def _default(field: Field) -> Any:
    try:
        default = field.default
    except NotImplementedError:  # a struct that must be given
        return None
    return _NEW_LIST if isinstance(default, list) else default


def _make_init(defaults: dict[str, Any]) -> Any:
    names: dict[str, Any] = {f"default_{name}": value for name, value in defaults.items()}
    lines = [f"def __init__(self, {', '.join(f'{name}=default_{name}' for name in defaults)}):"]
    for name, default in defaults.items():
        lines.append(f"    self.{name} = {f'[] if {name} is default_{name} else {name}' if default is _NEW_LIST else name}")
    exec("\n".join(lines), names)
    return names["__init__"]
