"""Worlds."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _formic
from .columns import Mask, Query, mask_of

Entities = npt.NDArray[np.uint64]
#: What one call spawns at most: more is taken for a mistake, not tried until the memory is gone.
SPAWN_MAX = 100_000_000
#: One entity, or some.
Some = Entities | Iterable[int] | int


class World:
    """Entities with components.

    An entity is a number, entities are arrays of ``uint64``. A component has a name and a dtype;
    its values lie one behind the other, and :meth:`query` lends them as they lie.
    """

    def __init__(self) -> None:
        self._world = _formic.World()
        self._dtypes: dict[str, np.dtype[Any]] = {}
        self._masks: dict[str, Mask | None] = {}

    def register(
        self,
        name: str,
        dtype: npt.DTypeLike | None = None,
        *,
        enableable: bool = False,
        tracked: bool = False,
    ) -> None:
        """Registers a component; without a dtype it is a tag, which has no values.

        An ``enableable`` component can be switched off for an entity and stays. Changes of one that
        is ``tracked`` are known by entity; of others by blocks of many entities.
        """
        dtype = np.dtype([] if dtype is None else dtype)
        if str(name).startswith("mut "):
            raise ValueError(f"{name}: in a query that would be the component {name[4:]}, to write")
        if dtype.hasobject:
            raise TypeError(f"{name}: a component is plain bytes, and {dtype} has Python objects")
        # The size of a value is a multiple of its alignment in a column.
        align = dtype.alignment if dtype.itemsize % dtype.alignment == 0 else 1
        self._world.register(name, dtype.itemsize, align, enableable, tracked)
        self._dtypes[name], self._masks[name] = dtype, mask_of(dtype)

    def dtype(self, name: str) -> np.dtype[Any]:
        """The dtype of a component."""
        try:
            return self._dtypes[name]
        except KeyError:
            text = f"the world has no component {name}"
            raise _formic.NoSuchComponentError(text) from None

    def _bytes(self, name: str, values: npt.ArrayLike, count: int) -> memoryview:
        """The bytes of ``count`` values; one value stands for all."""
        dtype = self.dtype(name)
        if dtype.itemsize == 0:
            return memoryview(b"")
        base, shape = dtype.base, dtype.shape
        before = given = _as_given(base, values)
        if base.names and before.dtype.names not in (None, base.names):
            # By their order, as numpy takes them, x would become y.
            raise ValueError(f"{name}: the fields are {base.names}, not {before.dtype.names}")
        if before.dtype != base:
            given = np.asarray(values, base)
            if _is_cut(base, before, given):
                raise ValueError(f"{name}: {base} does not hold these values as they are")
        try:
            whole = np.broadcast_to(given, (count, *shape))
        except ValueError:
            text = f"{name}: values of the shape {given.shape} are not {count} of {dtype}"
            raise ValueError(text) from None
        found, mask = np.ascontiguousarray(whole).reshape(-1).view(np.uint8), self._masks[name]
        return found.data if mask is None else (found.reshape(-1, len(mask)) & mask).reshape(-1).data

    def spawn(self, count: int = 1, /, **components: npt.ArrayLike) -> Entities:
        """Spawns entities, each with the components that are named, and returns them.

        Each component has ``count`` values, or one for all; a tag has ``()``.
        """
        if count > SPAWN_MAX:
            raise _formic.FormicError(f"{count} entities at once: a call spawns at most {SPAWN_MAX}")
        values = [(name, self._bytes(name, given, count)) for name, given in components.items()]
        return np.frombuffer(self._world.spawn(count, values), np.uint64)

    def despawn(self, entities: Some) -> None:
        """Takes entities out of the world, with their children. All, or none of them if one is not
        in the world."""
        self._world.despawn(_entities(entities))

    def insert(self, entities: Some, name: str, values: npt.ArrayLike = ()) -> None:
        """Inserts a component into entities, or replaces its values: one for each, or one for all."""
        handles = _entities(entities)
        self._world.insert(handles, name, self._bytes(name, values, len(handles)))

    def remove(self, entities: Some, name: str) -> None:
        """Removes a component from entities: from all, or from none if one does not have it."""
        self._world.remove(_entities(entities), name)

    def set_enabled(self, entities: Some, name: str, enabled: bool) -> None:
        """Switches a component on or off for entities: for all, or none if one does not have it."""
        self._world.set_enabled(_entities(entities), name, enabled)

    def is_enabled(self, entity: int, name: str) -> bool:
        """Whether a component that the entity has is on."""
        return self._world.is_enabled(operator.index(entity), name)

    def has(self, entity: int, name: str) -> bool:
        """Whether the entity has the component, on or off."""
        return self._world.has(operator.index(entity), name)

    def get(self, entity: int, name: str) -> Any:
        """A copy of the value that an entity has of a component."""
        dtype = self.dtype(name)
        value = self._world.get(operator.index(entity), name)
        return np.ndarray(dtype.shape, dtype.base, value)[()].copy()

    def set(self, entity: int, name: str, value: npt.ArrayLike) -> None:
        """Writes the value of a component that an entity has."""
        self._world.set(operator.index(entity), name, self._bytes(name, value, 1))

    def query(
        self,
        *columns: str,
        with_: Iterable[str] = (),
        without: Iterable[str] = (),
        disabled: Iterable[str] = (),
        changed: Iterable[str] = (),
        added: Iterable[str] = (),
        since: int = 0,
    ) -> Query:
        """A query for the entities that have all these components, switched on.

        ``"Position"`` reads a column, ``"mut Position"`` writes it too. ``changed`` and ``added``
        keep those whose component was written, or came, since a :meth:`version`.
        """
        kinds = {"with": with_, "without": without, "disabled": disabled}
        kinds |= {"changed": changed, "added": added}
        for kind, names in kinds.items():
            if isinstance(names, str):
                raise TypeError(f"{kind}: a list of names, such as [{names!r}]")
        filters = [(kind, name) for kind, names in kinds.items() for name in names]
        terms = []
        for column in columns:
            name = column.removeprefix("mut ")
            if self.dtype(name).itemsize == 0:
                raise TypeError(f"{name} is a tag, which has no column: use with_=[{name!r}]")
            terms.append((name, name != column))
        dtypes = [self.dtype(name) for name, _ in terms]
        masks = [self._masks[name] for name, _ in terms]
        return Query(lambda: self._world.lease(terms, filters, since), dtypes, masks)

    def __len__(self) -> int:
        return self._world.count()

    def __contains__(self, entity: int) -> bool:
        return self._world.contains(operator.index(entity))

    def set_parent(self, child: int, parent: int | None) -> None:
        """Makes an entity the child of another, or of none: it is despawned with it."""
        self._world.set_parent(operator.index(child), None if parent is None else operator.index(parent))

    def parent(self, child: int) -> int | None:
        """The parent of an entity."""
        return self._world.parent(operator.index(child))

    def children(self, parent: int) -> Entities:
        """The children of an entity."""
        return np.frombuffer(self._world.children(operator.index(parent)), np.uint64)

    def clear(self) -> None:
        """Takes all entities out."""
        self._world.clear()

    def version(self) -> int:
        """What is written from now on has changed since this version, until the world is restored."""
        return self._world.version()

    def snapshot(self) -> bytes:
        """All entities with their components, as bytes for a file."""
        return self._world.snapshot()

    def restore(self, snapshot: bytes) -> None:
        """Goes back to a snapshot, of this world or another one with the same components.

        It has their names and sizes, but no dtypes: a world that registered other fields of the same
        size reads other values.
        """
        self._world.restore(snapshot)

    def state_hash(self) -> int:
        """A hash of everything in the world: equal worlds have equal hashes, in any process."""
        return self._world.state_hash()

    def check(self) -> None:
        """Verifies every invariant of the store."""
        self._world.check()


def _as_given(base: np.dtype[Any], values: Any) -> Any:
    """Values before they are made some of ``base``. Tuples get its fields: those with parts of their own
    are no plain array."""
    has_fields = base.names is None or getattr(getattr(values, "dtype", None), "names", None) is not None
    return np.asarray(values, None if has_fields else [(name, "O") for name in base.names or ()])


def _is_cut(base: np.dtype[Any], before: Any, given: Any) -> bool:
    """Whether numpy cut values off to make whole numbers, truth values or texts of them."""
    if base.names is None:
        kinds = {"i": "iufb", "u": "iufb", "b": "iufb", "U": "U", "S": "S"}.get(base.kind, "")
        return before.dtype.kind in kinds + "O" * bool(kinds) and bool((given != before).any())
    if before.dtype.names != base.names:
        return False
    for name in base.names:
        dtype, part = base[name], before[name]
        if part.dtype.kind == "O" and dtype.names is not None:
            part = _as_given(dtype, part.tolist())
        # Of arrays in tuples only numpy knows the shape.
        is_known = part.dtype.kind != "O" or dtype.shape == ()
        if is_known and _is_cut(dtype.base, part, given[name]):
            return True
    return False


def _entities(entities: Some) -> memoryview:
    if isinstance(entities, np.ndarray):
        if entities.ndim != 1 or entities.dtype.kind not in "ui":
            text = f"entities are a list of integers, not {entities.dtype} {entities.shape}"
            raise TypeError(text)
        return np.ascontiguousarray(entities, np.uint64).data
    some = entities if isinstance(entities, Iterable) else [entities]
    return np.fromiter(map(operator.index, some), np.uint64).data
