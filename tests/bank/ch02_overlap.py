from collections import deque

import jax
import numpy as np

from bank import correct, wrong

ALL = {"values", "at_most_two", "overlap", "both", "drained"}


@correct
def previous_loss(step, params, batches):
    previous = None
    for batch in batches:
        params, loss = step(params, batch)
        if previous is not None:
            previous.block_until_ready()
        previous = loss
    return jax.block_until_ready(params)


@correct
def window(step, params, batches):
    in_flight = deque()
    for batch in batches:
        if len(in_flight) == 2:
            jax.block_until_ready(in_flight.popleft())
        params, loss = step(params, batch)
        in_flight.append(loss)
    jax.block_until_ready(params)
    return params


@correct
def waits_for_parameters(step, params, batches):
    previous = params
    for batch in batches:
        new, _ = step(params, batch)
        jax.block_until_ready(previous)
        previous, params = new, new
    return params.block_until_ready()


@correct
def reads_losses_one_late(step, params, batches):
    losses, last = [], None
    for batch in batches:
        params, loss = step(params, batch)
        if last is not None:
            losses.append(float(last))
        last = loss
    losses.append(float(last))
    return np.asarray(params)


@correct
def loads_one_ahead(step, params, batches):
    batches = iter(batches)
    batch, earlier = next(batches, None), []
    while batch is not None:
        following = next(batches, None)
        if len(earlier) > 1:
            earlier[-2].block_until_ready()
        params, loss = step(params, batch)
        earlier.append(loss)
        batch = following
    return params.block_until_ready()


@correct
def through_jax(step, params, batches):
    previous = None
    for batch in batches:
        params, loss = step(params, jax.device_put(batch))
        if previous != None:  # noqa: E711  (as with real arrays, this does not wait)
            previous.block_until_ready()
        loss.copy_to_host_async()
        previous = loss
    return jax.block_until_ready(params)


@correct
def single_precision(step, params, batches):
    return previous_loss(step, params, (batch.astype(np.float32) for batch in batches))


@correct
def polling(step, params, batches):
    previous = None
    for batch in batches:
        params, loss = step(params, batch)
        while previous is not None and not previous.is_ready():
            pass
        previous = loss
    return jax.block_until_ready(params)


@wrong(loses={"overlap", "both"}, says="one at a time")
def synchronous(step, params, batches):
    for batch in batches:
        params, loss = step(params, batch)
        loss.block_until_ready()
    return params


@wrong(loses={"overlap", "both"}, says="What waited here was float()")
def reads_every_loss(step, params, batches):
    total = 0.0
    for batch in batches:
        params, loss = step(params, batch)
        total += float(loss)
    return params


@wrong(loses={"at_most_two", "both", "drained"}, says="Nothing in your loop waits")
def never_waits(step, params, batches):
    for batch in batches:
        params, _ = step(params, batch)
    return params


@wrong(loses={"at_most_two", "both"}, says="two are allowed")
def waits_at_the_end(step, params, batches):
    for batch in batches:
        params, _ = step(params, batch)
    return jax.block_until_ready(params)


@wrong(loses={"at_most_two", "both"}, says="Wait for the result of the step before last")
def three_in_flight(step, params, batches):
    in_flight = deque()
    for batch in batches:
        if len(in_flight) == 3:
            in_flight.popleft().block_until_ready()
        params, loss = step(params, batch)
        in_flight.append(loss)
    return jax.block_until_ready(params)


@wrong(loses={"drained"}, says="still running")
def not_drained(step, params, batches):
    previous = None
    for batch in batches:
        params, loss = step(params, batch)
        if previous is not None:
            previous.block_until_ready()
        previous = loss
    return params


@wrong(loses={"overlap", "both"}, says="one by one")
def loads_everything_first(step, params, batches):
    return previous_loss(step, params, list(batches))


@wrong(loses=ALL, says="batches were used")
def forgets_the_last(step, params, batches):
    batches = list(batches)
    for batch in batches[:-1]:
        params, loss = step(params, batch)
        loss.block_until_ready()
    return params


@wrong(loses=ALL, says="not the parameters after the last step")
def returns_the_first_parameters(step, params, batches):
    new = params
    for batch in batches:
        new, _ = step(new, batch)
    jax.block_until_ready(new)
    return params


@wrong(loses=ALL, says="returned None")
def no_return(step, params, batches):
    for batch in batches:
        params, _ = step(params, batch)


@wrong(loses=ALL, says="a pair")
def returns_a_pair(step, params, batches):
    for batch in batches:
        params, loss = step(params, batch)
    return params, loss


@wrong(loses=ALL, says="with 1 batch: TypeError")
def needs_two_batches(step, params, batches):
    previous = None
    for batch in batches:
        if previous is not None:
            earlier = previous
        params, previous = step(params, batch)
    return params if "earlier" in locals() else None + 1


@wrong(loses=ALL, says="ZeroDivisionError")
def crashes(step, params, batches):
    return 1 / 0
