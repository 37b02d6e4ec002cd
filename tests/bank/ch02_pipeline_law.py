from collections import deque
from fractions import Fraction
from math import inf

import numpy as np

from bank import correct, wrong

ALL = {"compute", "dispatch", "synchronous", "deep", "queue"}


@correct
def recurrence(n, t1, t2, t3, depth):
    host, device, noticed = 0.0, 0.0, deque()
    for _ in range(n):
        if len(noticed) == depth:
            host = max(host, noticed.popleft())
        host += t1
        device = max(device, host) + t2
        noticed.append(device + t3)
    return noticed[-1]


@correct
def closed_form(n, t1, t2, t3, depth):
    pace, trip = max(t1, t2), t1 + t2 + t3
    full = 0 if depth == inf else (n - 1) // depth
    return trip + max((n - 1) * pace, full * trip + (n - 1 - full * (depth if full else 0)) * pace)


@correct
def with_lists(n, t1, t2, t3, depth):
    issued, ended = [], []
    for i in range(n):
        start = issued[-1] if issued else 0.0
        if i >= depth:
            start = max(start, ended[i - depth] + t3)
        issued.append(start + t1)
        ended.append(max(issued[-1], ended[-1] if ended else 0.0) + t2)
    return ended[-1] + t3


@correct
def fractions(n, t1, t2, t3, depth):
    return recurrence(n, *(Fraction(round(t * 1e6), 10**6) for t in (t1, t2, t3)), depth)


@correct
def single_precision(n, t1, t2, t3, depth):
    return np.float32(recurrence(n, np.float32(t1), np.float32(t2), np.float32(t3), depth))


@wrong(loses={"dispatch", "synchronous", "deep", "queue"}, says="book's t₁ + n·t₂ + t₃")
def the_book(n, t1, t2, t3, depth):
    return t1 + n * t2 + t3


@wrong(loses={"synchronous", "queue"}, says="ignores the queue")
def unbounded(n, t1, t2, t3, depth):
    return t1 + t2 + t3 + (n - 1) * max(t1, t2)


@wrong(loses={"compute", "dispatch", "deep", "queue"}, says="as if the host waited after each")
def always_synchronous(n, t1, t2, t3, depth):
    return n * (t1 + t2 + t3)


@wrong(loses={"queue"}, says="bursts")
def average_pace(n, t1, t2, t3, depth):
    return t1 + t2 + t3 + (n - 1) * max(t1, t2, (t1 + t2 + t3) / depth)


@wrong(loses=ALL, says="times n; the ramp")
def no_ramp(n, t1, t2, t3, depth):
    return n * max(t1, t2, (t1 + t2 + t3) / depth) if depth > 1 else 0.0


@wrong(loses=ALL, says="milliseconds")
def milliseconds(n, t1, t2, t3, depth):
    return 1e3 * recurrence(n, t1, t2, t3, depth)


@wrong(loses=ALL, says="returned None")
def no_return(n, t1, t2, t3, depth):
    recurrence(n, t1, t2, t3, depth)


@wrong(loses={"compute", "dispatch", "deep"}, says="cannot convert float infinity")
def depth_as_int(n, t1, t2, t3, depth):
    return recurrence(n, t1, t2, t3, int(depth))
