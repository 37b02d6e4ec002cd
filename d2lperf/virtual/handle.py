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
    `np.asarray`, `float`, `bool`, `int`, `item`, `tolist` and `print`. `shape`, `dtype`, `size`,
    `ndim`, `nbytes`, `devices()` and `is_ready()` do not wait. Arithmetic, comparison, indexing,
    iteration and methods such as `sum` dispatch further operations. `jax.block_until_ready` and
    `jax.device_get` work as on real arrays. `jnp` functions compute on the real clock: they refuse
    a virtual array, or wait for it as `np.asarray` does. Behind a link to the host, asking for the
    value copies it to the host first, once.
    """

    __slots__ = ("_buffer", "_device", "_done_ns", "_fetched", "_machine", "_ready_ns", "_value")
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        machine: Machine,
        device: Device,
        value: np.ndarray,
        done_ns: int,
        ready_ns: int,
        buffer: Buffer,
    ) -> None:
        self._machine = machine
        self._device = device
        self._value = value
        # The device has it, the host can know, and the host has a copy (with the number of that copy).
        self._done_ns = done_ns
        self._ready_ns = ready_ns
        self._fetched: tuple[int, int] | None = None
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
        self._machine._wait(self._ready_ns, "block_until_ready", self._buffer.flow)
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
        ready_ns, flow = self._machine._fetch(self)
        self._machine._wait(ready_ns, reason, flow)
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

    def __iter__(self) -> Iterator[Array]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Array:
        return self._apply("getitem", operator.getitem, index)

    def __round__(self, digits: int = 0) -> Array:
        return self._apply("round", np.round, digits)

    @property
    def T(self) -> Array:  # noqa: N802 (the name that arrays have for it)
        """The transpose; dispatches an operation."""
        return self._apply("transpose", np.transpose)

    def _apply(self, name: str, function: Callable[..., Any], *args: Any) -> Array:
        return self._machine._elementwise(name, function, (self, *args), self._device)

    def copy_to_host_async(self) -> None:
        """Start the copy to the host, and do not wait; nothing to do where no link joins host and device."""
        self._machine._fetch(self)

    def is_deleted(self) -> bool:
        """Return whether the memory was given away; it never is on this machine."""
        return False

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"a virtual array has no {name!r}: use the operations that the machine gave you, Python's "
            "operators, or np.asarray to wait for the value"
        )

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


def plain(leaf: Any) -> Any:
    """Return the value of a handle, an array for whatever can become one, and anything else as it is."""
    if isinstance(leaf, Array):
        return leaf._value
    # A real jax.Array among the arguments would make NumPy code run on the real device.
    return np.asarray(leaf) if hasattr(leaf, "__array__") else leaf


def frozen(leaf: Any) -> np.ndarray:
    """Return a read-only copy: freezing a result must not freeze somebody else's array."""
    value = np.array(leaf)
    value.flags.writeable = False
    return value


def _dispatching(name: str, function: Callable[..., Any]) -> tuple[Any, Any]:
    def forward(self: Array, other: Any) -> Array:
        return self._machine._elementwise(name, function, (self, other), self._device)

    def reflected(self: Array, other: Any) -> Array:
        return self._machine._elementwise(name, function, (other, self), self._device)

    return forward, reflected


def _comparing(name: str, function: Callable[..., Any]) -> Any:
    def compare(self: Array, other: Any) -> Any:
        # As with real arrays, comparing with None or a word is answered at once.
        if other is None or isinstance(other, str):
            return NotImplemented
        return self._machine._elementwise(name, function, (self, other), self._device)

    return compare


def _method(name: str) -> Any:
    def method(self: Array, *args: Any, **options: Any) -> Array:
        def apply(value: np.ndarray) -> Any:
            return getattr(value, name)(*args, **options)

        return self._machine._elementwise(name, apply, (self,), self._device)

    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"):
    _forward, _reflected = _dispatching(_name, getattr(operator, _name))
    setattr(Array, f"__{_name}__", _forward)
    setattr(Array, f"__r{_name}__", _reflected)
for _name in ("lt", "le", "eq", "ne", "gt", "ge"):
    setattr(Array, f"__{_name}__", _comparing(_name, getattr(operator, _name)))
for _name in ("neg", "pos", "abs"):
    setattr(Array, f"__{_name}__", _method(f"__{_name}__"))
for _name in ("sum", "mean", "max", "min", "all", "any", "argmax", "argmin", "ravel", "reshape"):
    setattr(Array, _name, _method(_name))
for _name in ("astype", "copy", "round", "transpose"):
    setattr(Array, _name, _method(_name))
