"""Results of a virtual machine that behave like `jax.Array` where asynchrony can be felt."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from d2lperf.virtual.tree import map_leaves

if TYPE_CHECKING:
    from d2lperf.virtual.machine import Machine
    from d2lperf.virtual.memory import Buffer
    from d2lperf.virtual.queue import Device


class Array:
    """A result that may still be under way.

    Asking for the value waits, and the machine's log says what asked: `block_until_ready`,
    `np.asarray`, `float`, `bool`, `int`, `item`, `tolist`, `print` and iteration. `shape`, `dtype`,
    `size`, `ndim`, `nbytes`, `devices()` and `is_ready()` do not wait. Arithmetic dispatches one
    more operation. `jax.block_until_ready` and `jax.device_get` work as on real arrays; `jnp`
    functions refuse, because they would compute on the real clock.
    """

    __slots__ = ("_buffer", "_device", "_machine", "_ready_ns", "_value")
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, machine: Machine, device: Device, value: np.ndarray, ready_ns: int, buffer: Buffer
    ) -> None:
        self._machine = machine
        self._device = device
        self._value = value
        self._ready_ns = ready_ns
        self._buffer = buffer

    def __del__(self) -> None:
        # A handle whose construction failed has no buffer.
        buffer = getattr(self, "_buffer", None)
        if buffer is not None:
            self._machine._release(self._device, buffer)

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis; known at once."""
        return self._value.shape

    @property
    def dtype(self) -> np.dtype:
        """Type of the elements; known at once."""
        return self._value.dtype

    @property
    def ndim(self) -> int:
        """Number of axes; known at once."""
        return self._value.ndim

    @property
    def size(self) -> int:
        """Number of elements; known at once."""
        return self._value.size

    @property
    def nbytes(self) -> int:
        """Bytes of the elements; known at once."""
        return self._value.nbytes

    def devices(self) -> set[Device]:
        """Return the set of the one device that holds the result; known at once."""
        return {self._device}

    @property
    def device(self) -> Device:
        """The device that holds the result; known at once."""
        return self._device

    def is_ready(self) -> bool:
        """Return whether the host could have the value now; asking costs the host a moment (`poll_s`)."""
        return self._machine._poll(self._ready_ns)

    def block_until_ready(self) -> Array:
        """Wait until the value is there and return the same handle."""
        self._wait("block_until_ready")
        return self

    def item(self, *args: int) -> Any:
        """Wait and return one element as a Python number."""
        self._wait("item()")
        return self._value.item(*args)

    def tolist(self) -> Any:
        """Wait and return nested lists of Python numbers."""
        self._wait("tolist()")
        return self._value.tolist()

    def _wait(self, reason: str) -> np.ndarray:
        self._machine._wait_until(self._ready_ns, reason)
        return self._value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        value = self._wait("np.asarray")
        return np.array(value, dtype=dtype) if copy else np.asarray(value, dtype=dtype)

    def __float__(self) -> float:
        return float(self._wait("float()"))

    def __int__(self) -> int:
        return int(self._wait("int()"))

    def __index__(self) -> int:
        return operator.index(self._wait("int()").item())

    def __bool__(self) -> bool:
        return bool(self._wait("bool()"))

    def __complex__(self) -> complex:
        return complex(self._wait("complex()"))

    def __repr__(self) -> str:
        return f"Array({np.array2string(self._wait('print'), separator=', ')}, dtype={self.dtype})"

    def __str__(self) -> str:
        return str(self._wait("print"))

    def __format__(self, spec: str) -> str:
        value = self._wait("print")
        return format(value[()] if value.ndim == 0 else value, spec)

    def __len__(self) -> int:
        return len(self._value)

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter(self._wait("iteration"))

    def __copy__(self) -> Array:
        return self

    def __deepcopy__(self, memo: dict) -> Array:
        return self

    def __reduce__(self) -> Any:
        raise TypeError(
            "a virtual array belongs to its machine and cannot be pickled: np.asarray it"
        )


def peek(tree: Any) -> Any:
    """Return a nest of handles as NumPy arrays without waiting or leaving a trace: for judges, not programs."""
    return map_leaves(lambda leaf: leaf._value if isinstance(leaf, Array) else leaf, tree)


def _dispatching(name: str, function: Callable[..., Any]) -> tuple[Any, Any]:
    def forward(self: Array, other: Any) -> Array:
        return self._machine._elementwise(name, function, (self, other), self._device)

    def reflected(self: Array, other: Any) -> Array:
        return self._machine._elementwise(name, function, (other, self), self._device)

    return forward, reflected


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"):
    _forward, _reflected = _dispatching(_name, getattr(operator, _name))
    setattr(Array, f"__{_name}__", _forward)
    setattr(Array, f"__r{_name}__", _reflected)
for _name in ("lt", "le", "eq", "ne", "gt", "ge", "getitem"):
    setattr(Array, f"__{_name}__", _dispatching(_name, getattr(operator, _name))[0])
for _name in ("neg", "abs"):

    def _unary(self: Array, *, _name: str = _name) -> Array:
        function = getattr(operator, _name)
        return self._machine._elementwise(_name, function, (self,), self._device)

    setattr(Array, f"__{_name}__", _unary)
