from statistics import median, mode

from bank import correct, wrong

ALL = {"quiet", "inline", "busy", "noisy"}


def times_of_dispatches(run, clock, size, count=60):
    run(size).block_until_ready()
    times, result = [], None
    for _ in range(count):
        start = clock()
        result = run(size)
        times.append(clock() - start)
    result.block_until_ready()
    return times


@correct
def median_of_each(run, clock):
    rounds = [times_of_dispatches(run, clock, 1200) for _ in range(7)]
    typical = [median(column) for column in zip(*rounds, strict=True)]
    return next(i for i, t in enumerate(typical) if t > 0.5 * max(typical))


@correct
def most_frequent(run, clock):
    found = []
    for _ in range(15):
        times = times_of_dispatches(run, clock, 1500)
        found.append(next(i for i, t in enumerate(times) if t > 0.01))
    return mode(found)


@correct
def least_of_each(run, clock):
    rounds = [times_of_dispatches(run, clock, 2000, count=50) for _ in range(5)]
    least = [min(column) for column in zip(*rounds, strict=True)]
    return max(range(1, 50), key=lambda i: least[i] / least[i - 1])


@wrong(loses={"noisy"}, says="repeat the row")
def first_slow_one(run, clock):
    times = times_of_dispatches(run, clock, 1500)
    return next(i for i, t in enumerate(times) if t > 10 * min(times))


@wrong(loses=ALL, says="the one before was the last that fitted")
def counts_the_waiting_one(run, clock):
    return median_of_each(run, clock) + 1


@wrong(loses=ALL, says="One too few")
def one_too_few(run, clock):
    return median_of_each(run, clock) - 1


@wrong(loses={"inline"}, says="computes them inline")
def small_products(run, clock):
    rounds = [times_of_dispatches(run, clock, 550) for _ in range(9)]
    typical = [median(column) for column in zip(*rounds, strict=True)]
    return max(range(1, 60), key=lambda i: typical[i] - typical[i - 1])


@wrong(loses={"busy"}, says="still in the queue")
def does_not_wait_before(run, clock):
    times = []
    for _ in range(60):
        start = clock()
        run(1800)
        times.append(clock() - start)
    return next(i for i, t in enumerate(times) if t > 0.025)


@wrong(loses=ALL, says="")
def knows_jax(run, clock):
    return 32


@wrong(loses=ALL, says="did your search find no slow dispatch")
def finds_nothing(run, clock):
    for i, t in enumerate(times_of_dispatches(run, clock, 1500)):
        if t > 1e3:
            return i
    return None


@wrong(loses=ALL, says="the queue never fills")
def products_shorter_than_a_dispatch(run, clock):
    rounds = [times_of_dispatches(run, clock, 60) for _ in range(5)]
    typical = [median(column) for column in zip(*rounds, strict=True)]
    return typical.index(max(typical)) + 100


@wrong(loses=ALL, says="your own earlier row")
def rows_without_a_wait_between(run, clock):
    rounds = []
    for _ in range(5):
        times = []
        for _ in range(60):
            start = clock()
            run(1500)
            times.append(clock() - start)
        rounds.append(times)
    typical = [median(column) for column in zip(*rounds, strict=True)]
    return next(i for i, t in enumerate(typical) if t > 0.5 * max(typical))


@correct
def linear_search_with_a_median(run, clock):
    for depth in range(1, 60):
        last = []
        for _ in range(9):
            run(1500).block_until_ready()
            for _ in range(depth + 1):
                start = clock()
                result = run(1500)
            last.append(clock() - start)
            result.block_until_ready()
        if median(last) > 0.03:
            return depth
    return None


@correct
def drains_with_a_tiny_product(run, clock):
    rows = []
    for _ in range(7):
        run(1).block_until_ready()
        times = []
        for _ in range(60):
            start = clock()
            result = run(1500)
            times.append(clock() - start)
        result.block_until_ready()
        rows.append(times)
    typical = [median(column) for column in zip(*rows, strict=True)]
    return next(i for i, t in enumerate(typical) if t > 0.5 * max(typical))


@correct
def counts_what_is_in_flight(run, clock):
    run(2048).block_until_ready()
    results = []
    while True:
        before = clock()
        results.append(run(2048))
        if clock() - before > 0.08:
            return len(results) - 1


@wrong(loses=ALL, says="never ran anything")
def runs_nothing(run, clock):
    return 33


@wrong(loses=ALL, says="whole number")
def size_out_of_range(run, clock):
    return run(100_000)
