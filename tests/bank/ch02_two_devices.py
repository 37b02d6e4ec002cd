from collections import deque

import jax
import numpy as np

from bank import correct, wrong

ALL = {"values", "together", "near"}


def room(device, batches):
    return device.budget_bytes // batches[0].nbytes


@correct
def earliest_finish(work, batches, devices):
    finish = dict.fromkeys(devices, 0.0)
    waiting = {device: deque() for device in devices}
    results = []
    for batch in batches:
        device = min(devices, key=lambda d: finish[d] + 1 / d.speed)
        finish[device] += 1 / device.speed
        if len(waiting[device]) == room(device, batches):
            waiting[device].popleft().block_until_ready()
        results.append(work(batch, device))
        waiting[device].append(results[-1])
    return results


@correct
def split_by_speed_and_poll(work, batches, devices):
    slow, fast = sorted(devices, key=lambda d: d.speed)
    n = len(batches)
    k = min(range(n + 1), key=lambda k: max(k / slow.speed, (n - k) / fast.speed))
    todo = {slow: deque(range(k)), fast: deque(range(k, n))}
    running = {slow: deque(), fast: deque()}
    results = [None] * n
    while any(todo.values()):
        for device in devices:
            while running[device] and running[device][0].is_ready():
                running[device].popleft()
            if todo[device] and len(running[device]) < 2:
                i = todo[device].popleft()
                results[i] = work(batches[i], device)
                running[device].append(results[i])
    return np.array([float(result) for result in results])


@correct
def plan_then_run(work, batches, devices):
    starts = []
    for device in devices:
        starts += [(i / device.speed, (i + 1) / device.speed, device) for i in range(len(batches))]
    chosen = sorted(sorted(starts, key=lambda s: s[1])[: len(batches)], key=lambda s: s[0])
    results, mine = [], {device: [] for device in devices}
    for batch, (_, _, device) in zip(batches, chosen, strict=True):
        if len(mine[device]) >= 2:
            jax.block_until_ready(mine[device][-2])
        result = work(batch, device)
        mine[device].append(result)
        results.append(result)
    return jax.block_until_ready(results)


@correct
def takes_batches_out_of_the_list(work, batches, devices):
    todo = list(batches)
    batches.clear()
    return earliest_finish(work, todo, devices)


@wrong(loses=ALL, says="values, one for each batch")
def empties_the_list(work, batches, devices):
    batches.clear()
    return []


@wrong(loses=ALL, says="not those of their batches")
def makes_the_batches_easy(work, batches, devices):
    for batch in batches:
        batch *= 0
    return earliest_finish(work, batches, devices)


@wrong(loses={"near"}, says="alone")
def rounds_the_share(work, batches, devices):
    slow, fast = sorted(devices, key=lambda d: d.speed)
    k = round(len(batches) * slow.speed / (slow.speed + fast.speed))
    places = np.linspace(0, len(batches) - 1, k).astype(int)
    results, mine = [], {slow: [], fast: []}
    for i, batch in enumerate(batches):
        device = slow if i in places else fast
        if len(mine[device]) >= 3:
            mine[device][-3].block_until_ready()
        results.append(work(batch, device))
        mine[device].append(results[-1])
    return results


@wrong(loses={"near"}, says="alone")
def free_first(work, batches, devices):
    slow, fast = sorted(devices, key=lambda d: d.speed)
    free = {slow: 0.0, fast: 0.0}
    mine = {slow: [], fast: []}
    results = []
    for batch in batches:
        device = min(free, key=free.get)
        free[device] += 1 / device.speed
        if len(mine[device]) >= 2:
            mine[device][-2].block_until_ready()
        results.append(work(batch, device))
        mine[device].append(results[-1])
    return results


@wrong(loses={"together", "near"}, says="too few for its speed")
def almost_only_the_gpu(work, batches, devices):
    slow, fast = sorted(devices, key=lambda d: d.speed)
    results = []
    for i, batch in enumerate(batches):
        if i >= 2:
            results[i - 2].block_until_ready()
        results.append(work(batch, slow if i == 0 else fast))
    return results


@wrong(loses={"together", "near"}, says="never work at the same time")
def waits_after_every_batch(work, batches, devices):
    results = []
    for i, batch in enumerate(batches):
        results.append(work(batch, devices[i % 2]))
        results[-1].block_until_ready()
    return results


@wrong(loses={"together", "near"}, says="too many for its speed")
def half_and_half(work, batches, devices):
    results = []
    for i, batch in enumerate(batches):
        if i >= 4:
            results[i - 4].block_until_ready()
        results.append(work(batch, devices[i % 2]))
    return results


@wrong(loses={"together", "near"}, says="never uses cpu:0")
def only_the_gpu(work, batches, devices):
    gpu = max(devices, key=lambda d: d.speed)
    results = []
    for batch in batches:
        if len(results) >= 2:
            results[-2].block_until_ready()
        results.append(work(batch, gpu))
    return results


@wrong(loses=ALL, says="out of memory")
def issues_everything(work, batches, devices):
    return [work(batch, devices[i % 2]) for i, batch in enumerate(batches)]


@wrong(loses={"near"}, says="gaps in the lanes")
def rounds_with_a_barrier(work, batches, devices):
    slow, fast = sorted(devices, key=lambda d: d.speed)
    results, batches = [], iter(batches)
    for batch in batches:
        this_round = [work(batch, slow)]
        for _ in range(int(fast.speed)):
            batch = next(batches, None)
            if batch is not None:
                this_round.append(work(batch, fast))
        results += jax.block_until_ready(this_round)
    return results


@wrong(loses=ALL, says="not in the order of the batches")
def fast_ones_first(work, batches, devices):
    slow, fast = sorted(devices, key=lambda d: d.speed)
    results = {slow: [], fast: []}
    for i, batch in enumerate(batches):
        device = slow if i % 4 == 3 else fast
        if len(results[device]) >= 2:
            results[device][-2].block_until_ready()
        results[device].append(work(batch, device))
    return results[fast] + results[slow]


@wrong(loses=ALL, says="one for each batch")
def returns_the_last(work, batches, devices):
    for batch in batches:
        result = work(batch, devices[0])
        result.block_until_ready()
    return [result]
