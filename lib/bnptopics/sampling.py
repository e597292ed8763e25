"""What the samplers share: chains side by side on threads, a stream of randomness for each, traces, resuming."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from types import ModuleType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from .base import Model, iterate, threads, whole
from .corpus import Corpus


class Sampler(Model):
    """An estimator that runs Markov chains, with the parameters `burn_in`, `thin`, `engine`, `n_jobs`, `verbose`.

    A subclass says where its kernels are, `_kernels`, how data are recognised as those of the fit, `_refitted`, and
    how all chains go on with them, `_sample`. It counts in `n_sweeps_` the sweeps that each chain has done.
    """

    n_sweeps_: int

    @abstractmethod
    def _kernels(self) -> ModuleType:
        """The kernels of the room, as `engine` says: ``return kernels_of(__package__, self.engine)``."""

    @abstractmethod
    def _refitted(self, X: Any) -> Any:
        """What `_sample` takes of data that are checked to be those of the fit."""

    @abstractmethod
    def _sample(self, data: Any, n_sweeps: int) -> None:
        """Let every chain make `n_sweeps` sweeps, and set the estimates."""

    def resume(self, X: Corpus | ArrayLike, n_sweeps: int) -> Self:
        """Go on where the fit ended: n sweeps and m more equal n + m, also with a save and a load in between.

        The model and the chains are those of the fit: parameters that say what they are, such as priors, `n_chains` and
        `random_state`, come into play when `fit` is called again. Those about the run hold from here on, such as
        `burn_in`, `thin` (the samples that are there stay), and what is learned or drawn besides.

        Parameters
        ----------
        X : Corpus or array-like, as in `fit`
            The very data of the fit, in the same shape.
        n_sweeps : int
            Further sweeps of each chain.

        Raises
        ------
        ValueError
            When `X` is not what the model was fitted on, and for bad parameters of the run; nothing is changed then.
        KeyboardInterrupt
            After Ctrl-C, as in `fit`: what was learned is kept.
        """
        check_is_fitted(self)
        n_sweeps = whole("n_sweeps", n_sweeps, 1)
        self._check_settings()
        self._sample(self._refitted(X), n_sweeps)
        return self

    def _check_settings(self) -> None:
        self._kernels()
        whole("burn_in", self.burn_in, 0)
        whole("thin", self.thin, 1)
        threads(self.n_jobs)

    def _is_sample(self, sweep: int) -> bool:
        return sweep > self.burn_in and (sweep - self.burn_in) % self.thin == 0

    def _n_warmup(self) -> int:
        """How many of the sweeps done are burn-in."""
        return min(whole("burn_in", self.burn_in, 0), self.n_sweeps_)

    def _posterior(self, trace: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Numbers in a trace (C, n_sweeps_) after burn-in, and their shares; of the last sweep if all are burn-in."""
        values, times = np.unique(trace[:, min(self._n_warmup(), self.n_sweeps_ - 1) :], return_counts=True)
        return values.astype(np.int64), times / times.sum()

    def _sweeps(self, sweep: Callable[[int, Any], Any], chains: Sequence[Any], n_sweeps: int) -> Iterator[list[Any]]:
        """After each of `n_sweeps` sweeps, what ``sweep(number, chain)`` has returned for every chain.

        No chain begins a sweep before all have ended the last one: Ctrl-C, as `iterate` says, finds them equally far.
        """
        first, n_jobs = self.n_sweeps_ + 1, min(threads(self.n_jobs), len(chains))
        with ThreadPoolExecutor(n_jobs) if n_jobs > 1 else nullcontext() as pool:
            each = pool.map if pool else map
            for i in iterate(n_sweeps, what=type(self).__name__, verbose=self.verbose):
                yield list(each(partial(sweep, first + i), chains))

    def _append(self, trace: str, rows: Sequence[Sequence[ArrayLike]]) -> None:
        """Lengthen the array (C, S, ...) called `trace` by rows, one a sweep, each with an entry for each chain."""
        if rows:
            old = getattr(self, trace)
            more = np.stack([np.array(row, dtype=old.dtype) for row in rows], axis=1)
            setattr(self, trace, np.concatenate([old, more], axis=1))


def streams(rng: np.random.Generator, n_chains: int) -> tuple[int, tuple[np.random.Generator, ...]]:
    """A seed drawn from `rng`, and a generator for each chain.

    The first chain goes on with `rng` itself. Each other has a stream of its own, a child of the seed; the c-th child
    is the same however many there are.
    """
    seed = int(rng.integers(2**63))
    children = np.random.SeedSequence(seed).spawn(n_chains - 1)
    return seed, (rng, *map(np.random.default_rng, children))


def through(n_steps: int, kernel: Callable[[int], int], grow: Callable[[], None]) -> None:
    """Call ``kernel(start)`` until it has done all its steps, and `grow` each time that it stopped for want of room."""
    stop = kernel(0)
    while stop < n_steps:
        grow()
        stop = kernel(stop)


def with_columns(array: NDArray, n_more: int) -> NDArray:
    """An array with so many columns more, which hold zeros."""
    return np.concatenate([array, np.zeros((*array.shape[:-1], n_more), array.dtype)], axis=-1)
