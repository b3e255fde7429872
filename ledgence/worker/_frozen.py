"""Frozen dataclasses that load ``dataclasses`` only for those who ask for it.

``dataclasses`` imports ``inspect``, which would cost a runner a good part of its start.
A class made here behaves like a frozen dataclass by itself; the first look at its
``__dataclass_fields__``, by ``fields``, ``asdict``, ``replace`` and the like, makes a
real one of it, in place. Whoever looks has imported ``dataclasses`` before.
"""

TYPE_CHECKING = False  # typing is not imported at run time: the start-up budget

if TYPE_CHECKING:
    from typing import Any, NoReturn


class _Fields:
    """The class attribute by which dataclasses are told; complete when looked at."""

    def __get__(self, instance: object, owner: type) -> "Any":
        for cls in owner.__mro__:
            if Frozen in cls.__bases__:
                from dataclasses import dataclass  # noqa: PLC0415 - see above

                dataclass(frozen=True)(cls)
                return cls.__dict__["__dataclass_fields__"]
        raise AttributeError("__dataclass_fields__")


class Frozen:
    """The base: what ``dataclass(frozen=True)`` gives, by the names of the fields.

    A direct subclass annotates its fields, gives defaults to some, and defines
    ``__init__``, which fills ``__dict__``.
    """

    __dataclass_fields__ = _Fields()
    _names: tuple[str, ...] = ()

    def __init_subclass__(cls) -> None:
        if Frozen in cls.__bases__:
            cls._names = tuple(cls.__annotations__)
            setattr(cls, "__match_args__", cls._names)  # noqa: B010 - Final for mypy

    def _values(self) -> tuple[object, ...]:
        return tuple(self.__dict__[name] for name in self._names)

    def __repr__(self) -> str:
        pairs = zip(self._names, self._values(), strict=True)
        fields = ", ".join(f"{name}={value!r}" for name, value in pairs)
        return f"{type(self).__qualname__}({fields})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Frozen) or type(other) is not type(self):
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __setattr__(self, name: str, value: object) -> "NoReturn":
        from dataclasses import FrozenInstanceError  # noqa: PLC0415 - for an error only

        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> "NoReturn":
        from dataclasses import FrozenInstanceError  # noqa: PLC0415 - for an error only

        raise FrozenInstanceError(f"cannot delete field {name!r}")
