"""Links that copies move over, and the ways that they take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from d2lperf.virtual.host import HOST, Host, to_ns
from d2lperf.virtual.queue import Device

Place = Device | str
"""A device or its name, or `"host"`."""

Via = Place | Iterable[Place] | None
"""Places in between, in order; `None` for the shortest way."""


@dataclass(frozen=True)
class Link:
    """What joins two places: two devices, or a device and the host.

    A copy of n bytes occupies the link for n / bandwidth, and its last byte arrives one latency
    later; meanwhile the link carries the next copy. This is the textbook's model of a wire
    (transmission and propagation; G and L of LogGP). A link that joins two places does not slow
    down others: what a shared switch would do is not modelled.

    Attributes:
        name: lane in pictures, such as `pcie`.
        ends: the two places, as devices, names of devices, or `"host"`; kept as names.
        bandwidth_bytes_per_s: bytes per second, in each direction.
        latency_s: from leaving one end until arriving at the other, in seconds.
        duplex: `full`, both directions are independent; or `half`, they share the link.

    Raises:
        ValueError: bandwidth that is not positive, negative latency, unknown duplex, not two different places.
    """

    name: str
    ends: tuple[Place, Place]
    bandwidth_bytes_per_s: float
    latency_s: float = 0.0
    duplex: str = "full"

    def __post_init__(self) -> None:
        object.__setattr__(self, "ends", tuple(map(str, self.ends)))
        if len(set(self.ends)) != 2 or len(self.ends) != 2:
            raise ValueError(
                f"link {self.name}: ends must be two different places, not {self.ends}"
            )
        if not self.bandwidth_bytes_per_s > 0:
            raise ValueError(
                f"link {self.name}: bandwidth must be positive, not {self.bandwidth_bytes_per_s} bytes/s"
            )
        if not 0 <= self.latency_s < 1e9:
            raise ValueError(
                f"link {self.name}: latency must be at least 0 seconds, not {self.latency_s}"
            )
        if self.duplex not in ("full", "half"):
            raise ValueError(f"link {self.name}: duplex is full or half, not {self.duplex!r}")

    @property
    def lanes(self) -> tuple[str, str]:
        """Rows of a picture for copies to the second and to the first end; the same row twice if they share it."""
        first, second = self.ends
        if self.duplex == "half":
            return self.name, self.name
        return f"{self.name} to {second}", f"{self.name} to {first}"

    def transfer_ns(self, nbytes: int) -> int:
        """Return for how long a copy occupies the link, in nanoseconds."""
        return to_ns(nbytes / self.bandwidth_bytes_per_s)

    def __str__(self) -> str:
        return f"{self.name} ({self.ends[0]} – {self.ends[1]})"


@dataclass
class Wire:
    """What carries copies one after another: one direction of a link, or a half-duplex link."""

    link: Link
    lane: str
    free_ns: int = 0


@dataclass(frozen=True)
class Hop:
    """A part of a copy's way: when the bytes have left a place, and when they are at the next one."""

    left_ns: int
    arrived_ns: int


class Network:
    """The links of a machine with what they carry.

    A device that no link joins to the host shares the host's memory: between the two, bytes need
    no time. Two devices are never joined by themselves, unless the machine has no links at all.

    Args:
        links: what joins the places.
        devices: names of the machine's devices.
        host: where copies are logged.

    Raises:
        ValueError: a link to an unknown place, a name that is taken, or two links between the same places.
    """

    def __init__(self, links: Iterable[Link], devices: Sequence[str], host: Host) -> None:
        self.links = tuple(links)
        self.sent_bytes: Counter[tuple[str, str]] = Counter()
        self._host = host
        self._places = (HOST, *devices)
        self._wires: dict[tuple[str, str], Wire] = {}
        for link in self.links:
            self._add(link)

    def _add(self, link: Link) -> None:
        first, second = (self._known(str(end)) for end in link.ends)
        lanes = dict.fromkeys(link.lanes)
        if any(wire.link.name == link.name for wire in self._wires.values()):
            raise ValueError(f"two links have the same name {link.name!r}: give each its own")
        if taken := [lane for lane in (link.name, *lanes) if lane in self._host.log.lanes]:
            raise ValueError(f"{taken[0]!r} is taken: give link {link.name} another name")
        if (first, second) in self._wires:
            raise ValueError(
                f"two links join {first} and {second}: give one, with the bandwidth of both"
            )
        group = link.name if len(lanes) == 2 else ""
        for lane in lanes:
            self._host.log.lane(lane, kind="link", group=group)
        wires = {lane: Wire(link, lane) for lane in lanes}
        self._wires[first, second] = wires[link.lanes[0]]
        self._wires[second, first] = wires[link.lanes[1]]

    def carries(self, *route: str) -> bool:
        """Return whether a link is on this route, so that bytes take time."""
        return any(hop in self._wires for hop in pairwise(route))

    def route(self, source: str, destination: str, via: Via = None) -> tuple[str, ...]:
        """Return the places that a copy passes: the given ones, else none, else the host.

        Raises:
            ValueError: an unknown place, or two places on the way that nothing joins.
        """
        stops: list[Place]
        if via is None:
            stops = [] if self._joined(source, destination) else [HOST]
        else:
            stops = [via] if isinstance(via, (Device, str)) else [*via]
        route = (source, *(self._known(str(stop)) for stop in stops), destination)
        # Two devices that share the host's memory are still two devices.
        free = bool(self._wires) and HOST in route[1:-1] and not self.carries(*route)
        if len(set(route)) < len(route):
            raise ValueError(f"a copy passes each place once, not {' → '.join(route)}")
        if free or not all(self._joined(*hop) for hop in pairwise(route)):
            way = " → ".join(route) if via is not None else f"{source} → {destination}"
            raise ValueError(
                f"no link for a copy {way}: this machine has {', '.join(map(str, self.links))}. "
                "Add a link, or name the places in between with via=[…]"
            )
        return route

    def carry(
        self, route: Sequence[str], nbytes: int, ready_ns: int, name: str, flow: int
    ) -> list[Hop]:
        """Copy bytes along a route, each hop when the one before has arrived and the link is free.

        Args:
            route: places, from the source to the destination.
            nbytes: how much.
            ready_ns: when the bytes are there and the copy is issued, in nanoseconds.
            name: what pictures call it.
            flow: number of the operation that it belongs to.
        """
        hops = []
        for hop in pairwise(route):
            wire = self._wires.get(hop)
            left_ns = ready_ns
            if wire is not None:
                start_ns = max(wire.free_ns, ready_ns)
                duration_ns = self._host.perturb("copy", wire.link.transfer_ns(nbytes))
                wire.free_ns = left_ns = start_ns + duration_ns
                ready_ns = left_ns + to_ns(wire.link.latency_s)
                self._host.record(start_ns, left_ns, wire.lane, name, "copy", flow)
                self.sent_bytes[hop] += nbytes
            hops.append(Hop(left_ns, ready_ns))
        return hops

    def _known(self, place: str) -> str:
        if place not in self._places:
            raise ValueError(
                f"{place!r} is no place of this machine: there are {', '.join(self._places)}"
            )
        return place

    def _joined(self, first: str, second: str) -> bool:
        # A device without a link to the host shares its memory; so does every device if there are no links.
        return (first, second) in self._wires or not self._wires or HOST in (first, second)
