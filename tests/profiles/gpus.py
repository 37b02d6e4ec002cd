"""A program on two GPUs as JAX's profiler sees it, in the smallest form that has every feature.

Python calls `train` twice. Each call goes to a thread per GPU, which calls the driver on a line of its own;
each GPU then multiplies and exchanges gradients. Before the calls a batch is copied to GPU 0, after them the loss
is copied back, for which Python waits.
"""

from __future__ import annotations

from profiles.text import E, Lines

MODULE = {"hlo_module": "jit_train"}


def call(number: int, start: int) -> list[E]:
    """Return what Python does to give one training step to the GPUs."""
    return [
        E("PjitFunction(train)", start, 100),
        E("PjitFunction(train)", start + 1, 98),
        E("ParseArguments", start + 2, 3),
        E("PjRtStreamExecutorLoadedExecutable::Execute", start + 10, 80, {"_pt": 5, "_p": number}),
    ]


def thread(*calls: tuple[int, int]) -> list[E]:
    """Return what a thread of the runtime does with the calls, given as number and start."""
    name = "PjRtStreamExecutorLoadedExecutable::EnqueueExecution"
    return [E(name, start, 60, {"_ct": 5, "_c": number}) for number, start in calls]


def driver(*launches: tuple[int, int]) -> list[E]:
    """Return calls of the driver, given as correlation number and start."""
    return [E("cuLaunchKernelEx", start, 5, {"correlation_id": n}) for n, start in launches]


def kernels(*launches: tuple[int, int]) -> list[E]:
    """Return a multiplication and an exchange for each launch, given as correlation number and start."""
    events = []
    for n, start in launches:
        gemm = {"correlation_id": n, "hlo_op": "dot.3", **MODULE}
        reduce = {"correlation_id": n + 1, "hlo_op": "all-reduce.1", **MODULE}
        events.append(E("_ZN7cutlass6KernelI33cutlass_80_tensorop_gemm", start, 200, gemm))
        events.append(E("ncclDevKernel_AllReduce_Sum_f32_RING_LL", start + 200, 50, reduce))
    return events


H2D, D2H = {"correlation_id": 90}, {"correlation_id": 91}

TWO_GPUS: dict[str, Lines] = {
    "/host:metadata": [],
    "/device:GPU:1": [
        ("Stream #26(Compute)", kernels((30, 260), (32, 520))),
        ("Stream #2", [E("", 900, 10)]),
        ("XLA Modules", [E("jit_train(1)", 260, 510)]),
    ],
    "/device:GPU:0": [
        ("Stream #16(Compute)", kernels((10, 250), (12, 510))),
        ("Stream #18(MemcpyH2D)", [E("MemcpyH2D", 40, 30, H2D)]),
        ("Stream #20(MemcpyD2H)", [E("MemcpyD2H", 770, 20, D2H)]),
        ("XLA Modules", [E("jit_train(1)", 250, 510)]),
        ("XLA Ops", [E("dot.3", 250, 200), E("all-reduce.1", 450, 50)]),
        ("Steps", [E("0", 250, 510)]),
    ],
    "/device:GPU:2": [],
    "/host:CPU": [
        (
            "python",
            [
                E("DevicePutWithSharding", 10, 20),
                E("cuMemcpyHtoDAsync_v2", 15, 5, H2D),
                *call(7, 100),
                *call(8, 300),
                E("np.asarray(jax.Array)", 420, 400),
                E("cuMemcpyDtoHAsync_v2", 425, 5, D2H),
                E("cuStreamSynchronize", 430, 380),
            ],
        ),
        ("py_xla_execute/-11", thread((7, 120), (8, 330))),
        ("py_xla_execute/12", thread((7, 125), (8, 335))),
        ("Host Threads/21", driver((10, 130), (11, 140), (12, 340), (13, 350))),
        ("Host Threads/22", driver((30, 135), (31, 145), (32, 345), (33, 355))),
    ],
}
