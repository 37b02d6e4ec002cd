import jax
import numpy as np

from bank import correct, wrong

ALL = {"one", "all", "devices", "warm"}


@correct
def one_run(programs, k, clock):
    jax.block_until_ready([program() for program in programs])
    start = clock()
    results = [program() for program in programs]
    results[k].block_until_ready()
    one = clock() - start
    jax.block_until_ready(results)
    return one, clock() - start


@correct
def two_runs(programs, k, clock):
    def timed(wait):
        start = clock()
        results = [program() for program in programs]
        wait(results)
        seconds = clock() - start
        for result in results:
            result.block_until_ready()
        return seconds

    timed(jax.block_until_ready)
    return timed(lambda results: float(results[k])), timed(jax.block_until_ready)


@correct
def best_of_three(programs, k, clock):
    measured = [one_run(programs, k, clock) for _ in range(3)]
    return min(m[0] for m in measured), min(m[1] for m in measured)


@wrong(loses={"warm"}, says="compiling")
def cold(programs, k, clock):
    start = clock()
    results = [program() for program in programs]
    results[k].block_until_ready()
    one = clock() - start
    jax.block_until_ready(results)
    return one, clock() - start


@wrong(loses=ALL, says="time of dispatching")
def no_wait(programs, k, clock):
    jax.block_until_ready([program() for program in programs])
    start = clock()
    results = [program() for program in programs]
    seconds = clock() - start
    jax.block_until_ready(results)
    return seconds, seconds


@wrong(loses={"devices"}, says="another device was still working")
def waits_for_the_last(programs, k, clock):
    jax.block_until_ready([program() for program in programs])
    start = clock()
    results = [program() for program in programs]
    results[k].block_until_ready()
    one = clock() - start
    start = clock()
    jax.block_until_ready(results)
    start = clock()
    results = [program() for program in programs]
    results[-1].block_until_ready()
    return one, clock() - start


@wrong(loses=ALL, says="start it before the first dispatch")
def clock_started_late(programs, k, clock):
    jax.block_until_ready([program() for program in programs])
    results = [program() for program in programs]
    start = clock()
    results[k].block_until_ready()
    one = clock() - start
    jax.block_until_ready(results)
    return one, clock() - start


@wrong(loses={"one", "all", "devices"}, says="from before the start")
def warm_up_still_running(programs, k, clock):
    for program in programs:
        program()
    start = clock()
    results = [program() for program in programs]
    results[k].block_until_ready()
    one = clock() - start
    jax.block_until_ready(results)
    return one, clock() - start


@wrong(loses={"one", "devices", "warm"}, says="wait for result k first, and alone")
def all_then_one(programs, k, clock):
    jax.block_until_ready([program() for program in programs])
    start = clock()
    results = [program() for program in programs]
    jax.block_until_ready(results)
    everything = clock() - start
    results[k].block_until_ready()
    return clock() - start, everything


@correct
def empties_the_list(programs, k, clock):
    mine = [programs.pop(0) for _ in range(len(programs))]
    return jax.numpy.array(one_run(mine, k, clock))


@correct
def polling(programs, k, clock):
    jax.block_until_ready([program() for program in programs])
    start = clock()
    results = [program() for program in programs]
    while not results[k].is_ready():
        pass
    one = clock() - start
    while not all(result.is_ready() for result in results):
        pass
    return np.array([one, clock() - start])


@wrong(loses=ALL, says="milliseconds")
def milliseconds(programs, k, clock):
    one, everything = one_run(programs, k, clock)
    return 1000 * one, 1000 * everything


@wrong(loses={"warm"}, says="call every program once")
def warms_up_only_one(programs, k, clock):
    programs[k]().block_until_ready()
    return cold(programs, k, clock)


@wrong(loses=ALL, says="between two dispatches")
def waits_in_the_middle(programs, k, clock):
    jax.block_until_ready([program() for program in programs])
    start, results = clock(), []
    for i, program in enumerate(programs):
        results.append(program())
        if i == max(k, 1):
            results[k].block_until_ready()
            one = clock() - start
    jax.block_until_ready(results)
    return one * 0.97, (clock() - start) * 1.03


@wrong(loses=ALL, says="2 values")
def one_number(programs, k, clock):
    return one_run(programs, k, clock)[0]
