from bank import correct, wrong


@correct
def ratio(before_s, after_s):
    return before_s / after_s


@correct
def one_over(before_s, after_s):
    return 1 / (after_s / before_s)


@correct
def in_numpy(before_s, after_s):
    import numpy as np

    return np.divide(before_s, after_s)


@wrong(loses={"ratio"}, says="other way round")
def inverse(before_s, after_s):
    return after_s / before_s


@wrong(loses={"ratio"}, says="time saved")
def difference(before_s, after_s):
    return before_s - after_s


@wrong(loses={"ratio"}, says="Speed-up is the time before")
def per_cent(before_s, after_s):
    return 100 * before_s / after_s
