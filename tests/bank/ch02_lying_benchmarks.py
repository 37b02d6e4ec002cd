import jax

from bank import add


def honest(f, fresh, clock, n, *, also=()):
    inputs = [fresh() for _ in range(n)]
    jax.block_until_ready([g(fresh()) for g in (f, *also)])
    functions = (f, *also)
    start = clock()
    results = [functions[i % len(functions)](x) for i, x in enumerate(inputs)]
    jax.block_until_ready(results)
    return (clock() - start) / n


def on_first(fs, fresh, clock, n):
    return honest(fs[0], fresh, clock, n)


def on_both(fs, fresh, clock, n):
    return honest(fs[0], fresh, clock, n, also=(fs[1],))


def on_second(fs, fresh, clock, n):
    return honest(fs[1], fresh, clock, n)


def diagnosis():
    return {
        "a": "no barrier",
        "b": "compile time inside",
        "c": "same input again",
        "d": "waits for the last only",
        "e": "waits on the wrong device",
        "f": "honest",
    }


RIGHT = {
    "a": on_first,
    "b": on_first,
    "c": on_first,
    "d": on_both,
    "e": on_second,
    "diagnosis": diagnosis,
}


def last_result_is_enough_on_one_device(fs, fresh, clock, n):
    f = fs[0]
    f(fresh()).block_until_ready()
    inputs = [fresh() for _ in range(n)]
    start = clock()
    for x in inputs:
        result = f(x)
    float(result)
    return (clock() - start) / n


def waits_for_the_last_of_each(fs, fresh, clock, n):
    for f in fs:
        f(fresh()).block_until_ready()
    inputs = [fresh() for _ in range(n)]
    start, last = clock(), {}
    for i, x in enumerate(inputs):
        last[i % 2] = fs[i % 2](x)
    for result in last.values():
        result.block_until_ready()
    return (clock() - start) / n


def d_in_its_own_order(fs, fresh, clock, n):
    inputs = [fresh() for _ in range(n)]
    jax.block_until_ready([f(fresh()) for f in fs])
    start = clock()
    results = [fs[(n - 1 - i) % 2](x) for i, x in enumerate(inputs)]
    jax.block_until_ready(results)
    return (clock() - start) / n


def e_waits_each_time(fs, fresh, clock, n):
    return waits_each_time(fs[1:], fresh, clock, n)


def no_barrier(fs, fresh, clock, n):
    f = fs[0]
    f(fresh()).block_until_ready()
    inputs = [fresh() for _ in range(n)]
    start = clock()
    for x in inputs:
        f(x)
    return (clock() - start) / n


def compiles(fs, fresh, clock, n):
    inputs = [fresh() for _ in range(n)]
    start = clock()
    jax.block_until_ready([fs[0](x) for x in inputs])
    return (clock() - start) / n


def same_input(fs, fresh, clock, n):
    x = fresh()
    fs[0](x).block_until_ready()
    start = clock()
    jax.block_until_ready([fs[0](x) for _ in range(n)])
    return (clock() - start) / n


def last_only(fs, fresh, clock, n):
    jax.block_until_ready([f(fresh()) for f in fs])
    inputs = [fresh() for _ in range(n)]
    start = clock()
    results = [fs[1 - i % 2](x) if n % 2 == 0 else fs[i % 2](x) for i, x in enumerate(inputs)]
    results[-1].block_until_ready()
    return (clock() - start) / n


def wrong_device(fs, fresh, clock, n):
    jax.block_until_ready([f(fresh()) for f in fs])
    inputs = [fresh() for _ in range(n)]
    start = clock()
    for x in inputs:
        fs[1](x)
    fs[0](fresh()).block_until_ready()
    return (clock() - start) / n


def waits_each_time(fs, fresh, clock, n):
    f = fs[0]
    f(fresh()).block_until_ready()
    inputs = [fresh() for _ in range(n)]
    start = clock()
    for x in inputs:
        f(x).block_until_ready()
    return (clock() - start) / n


def inputs_inside(fs, fresh, clock, n):
    f = fs[0]
    f(fresh()).block_until_ready()
    start = clock()
    jax.block_until_ready([f(fresh()) for _ in range(n)])
    return (clock() - start) / n


def total(fs, fresh, clock, n):
    return n * on_first(fs, fresh, clock, n)


def stub(*args):
    raise NotImplementedError


add(__name__, "all_repaired", RIGHT)
add(
    __name__,
    "last_of_each_device",
    RIGHT
    | dict.fromkeys("abc", last_result_is_enough_on_one_device)
    | {"d": waits_for_the_last_of_each},
)
add(__name__, "d_in_its_own_order", RIGHT | {"d": d_in_its_own_order})
add(__name__, "diagnosis_as_a_dictionary", RIGHT | {"diagnosis": diagnosis()})
add(__name__, "order_of_letters_does_not_matter", dict(reversed(RIGHT.items())))

for name, answer, loses, says in (
    ("a_as_it_was", {"a": no_barrier}, {"a"}, "time of dispatching"),
    ("b_as_it_was", {"b": compiles}, {"b"}, "first call compiles"),
    ("c_as_it_was", {"c": same_input}, {"c"}, "answered from memory"),
    ("d_as_it_was", {"d": last_only}, {"d"}, "still running"),
    ("e_as_it_was", {"e": wrong_device}, {"e"}, "still running on device:1"),
    ("a_waits_each_time", {"a": waits_each_time}, {"a"}, "waits after every call"),
    ("e_waits_each_time", {"e": e_waits_each_time}, {"e"}, "waits after every call"),
    ("c_makes_inputs_inside", {"c": inputs_inside}, {"c"}, "before the clock starts"),
    ("a_total", {"a": total}, {"a"}, "divide by their number"),
    ("e_measures_the_first", {"e": on_first}, {"e"}, "nothing runs on device:1"),
    ("b_in_microseconds", {"b": lambda *a: 1e6 * on_first(*a)}, {"b"}, "in microseconds"),
    ("a_left_out", {"a": None}, {"a"}, "no function for 'a'"),
    ("diagnosis_without_f", {"diagnosis": {"a": "no barrier"}}, {"diagnosis"}, "missing: b, c"),
    ("a_untouched", {"a": stub}, {"a"}, "no answer yet"),
    (
        "honest_one_blamed",
        {"diagnosis": lambda: diagnosis() | {"f": "no barrier"}},
        {"diagnosis"},
        "5 of 6",
    ),
    (
        "unknown_fault",
        {"diagnosis": lambda: diagnosis() | {"a": "gremlins"}},
        {"diagnosis"},
        "Unknown: gremlins",
    ),
):
    add(__name__, name, RIGHT | answer, loses=loses, says=says)
add(__name__, "a_list", list(RIGHT.values()), loses={*"abcde", "diagnosis"}, says="dictionary")
