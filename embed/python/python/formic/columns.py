"""Queries and the columns that they lend."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.mixins import NDArrayOperatorsMixin

from . import _formic


Mask = npt.NDArray[np.uint8]


def mask_of(dtype: np.dtype[Any]) -> Mask | None:
    """The bytes of a value that have a meaning, if not all have one. Those between fields stay zero in a
    world, so that equal values have equal bytes."""
    mask = np.zeros(dtype.itemsize, np.uint8)

    def mark(part: np.dtype[Any], at: int) -> None:
        if part.base.names is None:
            mask[at : at + part.itemsize] = 255
            return
        for number in range(math.prod(part.shape)):
            for field in (part.base.fields or {}).values():
                mark(field[0], at + number * part.base.itemsize + field[1])

    mark(dtype, 0)
    return None if mask.all() else mask


class Query:
    """A query of one world; :meth:`columns` lends what it finds."""

    def __init__(
        self, lease: Callable[[], Any], dtypes: list[np.dtype[Any]], masks: list[Mask | None]
    ) -> None:
        self._lease = lease
        self._dtypes = dtypes
        self._masks = masks

    def columns(self) -> Columns:
        """The columns of everything that matches, for a ``with`` block.

        Until its end no entity can be spawned, despawned or changed in its components, and no other
        query can use a column that this one writes.
        """
        return Columns(self._lease, self._dtypes, self._masks)

    def entities(self) -> np.ndarray:
        """The entities that match."""
        with self.columns() as runs:
            return np.concatenate([np.empty(0, np.uint64), *runs.entities()])

    def __len__(self) -> int:
        return len(self.entities())


class Columns:
    """Runs of rows, each a tuple with a :class:`Column` for each component of the query."""

    def __init__(
        self, lease: Callable[[], Any], dtypes: list[np.dtype[Any]], masks: list[Mask | None]
    ) -> None:
        self._begin = lease
        self._dtypes = dtypes
        self._masks = masks
        self._lease: Any = None

    def __enter__(self) -> Columns:
        if self._lease is not None:
            raise _formic.LeasedError("these columns are in use already")
        self._lease = self._begin()
        return self

    def __exit__(self, error: type[BaseException] | None, *_rest: object) -> None:
        self._clear_padding()
        lease, self._lease = self._lease, None
        try:
            lease.release()
        except _formic.LeasedError:
            # The arrays of a failed block live in its traceback: the lease ends with them.
            if error is None:
                raise

    def _clear_padding(self) -> None:
        if any(mask is not None for mask in self._masks):
            for _, columns in self._runs():
                for column, mask in zip(columns, self._masks, strict=True):
                    values = np.frombuffer(column, np.uint8)
                    if mask is not None and values.flags.writeable:
                        values.reshape(-1, len(mask))[...] &= mask

    def _runs(self) -> list[tuple[bytearray, list[Any]]]:
        if self._lease is None:
            raise _formic.ReleasedError("columns are lent inside of their `with` block")
        runs: list[tuple[bytearray, list[Any]]] = self._lease.runs()
        return runs

    def __iter__(self) -> Iterator[tuple[Column, ...]]:
        for _, columns in self._runs():
            yield tuple(Column(*it) for it in zip(columns, self._dtypes, strict=True))

    def entities(self) -> Iterator[np.ndarray]:
        """The entities of each run."""
        for entities, _ in self._runs():
            yield np.frombuffer(entities, np.uint64)


class Column(NDArrayOperatorsMixin):
    """The values of one component, or a part of them, in place.

    It can be used like a numpy array until the ``with`` block of its query ends, and raises
    :class:`ReleasedError` after that. ``np.asarray(column)`` is a real array over the same memory;
    the block cannot end while such an array lives.
    """

    __slots__ = ("_column", "_dtype", "_keys")

    def __init__(self, column: Any, dtype: np.dtype[Any], keys: tuple[Any, ...] = ()) -> None:
        self._column = column
        self._dtype = dtype
        self._keys = keys

    def _array(self) -> Any:
        array = np.frombuffer(self._column, self._dtype.base)
        array = array.reshape(-1, *self._dtype.shape)
        for key in self._keys:
            array = array[key]
        return array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._array(), dtype=dtype, copy=copy)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        result = getattr(ufunc, method)(*_array_of(inputs), **_array_of(kwargs))
        out = kwargs.get("out", ())
        if len(out) > 1:
            return tuple(new if given is None else given for given, new in zip(out, result, strict=True))
        return out[0] if out else result

    def __array_function__(self, function: Any, _types: Any, args: Any, kwargs: Any) -> Any:
        return function(*_array_of(args), **_array_of(kwargs))

    def __getitem__(self, key: Any) -> Any:
        part = self._array()[key]
        # A part in place, or a copy: what numpy makes of lists and masks, and single numbers.
        owner = part if isinstance(part, np.ndarray | np.void) else None
        while isinstance(owner, np.ndarray | np.void):
            owner = owner.base
        return part if owner is None else Column(self._column, self._dtype, (*self._keys, key))

    def __setitem__(self, key: Any, value: Any) -> None:
        self._array()[key] = _array_of(value)

    def __getattr__(self, name: str) -> Any:
        # Never an address, as `__array_interface__` has it: only arrays keep the memory alive.
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._array(), name)

    def __len__(self) -> int:
        return len(self._array())

    def __iter__(self) -> Iterator[Any]:
        return (self[place] for place in range(len(self)))

    def __repr__(self) -> str:
        try:
            return f"Column({self._array()!r})"
        except _formic.ReleasedError:
            return "Column(released)"


def _array_of(value: Any) -> Any:
    """The value, with an array for each column in it."""
    if isinstance(value, Column):
        return value._array()
    if isinstance(value, tuple | list):
        return type(value)(_array_of(it) for it in value)
    if isinstance(value, dict):
        return {key: _array_of(it) for key, it in value.items()}
    return value
