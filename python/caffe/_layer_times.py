"""How long each layer of a solver's net takes while it trains."""
from __future__ import annotations

import time
from typing import Any


class LayerTimes:
    """Measures forward and backward passes of a solver's training net, layer by layer.

    :meth:`install` hooks it in; then a table is printed every ``display`` iterations: milliseconds
    of each layer's last passes, and of whole iterations on average.
    """

    def __init__(self, solver: Any) -> None:
        self._solver = solver
        self._names = list(solver.net._layer_names)
        self._spent = {way: [0.0] * len(self._names) for way in ("forward", "backward")}
        self._begun = self._iterations_begun = time.perf_counter()
        self._iterations = 0

    def install(self) -> None:
        """Calls this object from the solver's and the net's callbacks from now on."""
        net = self._solver.net
        net.before_forward(self._start)
        net.after_forward(lambda layer: self._stop("forward", layer))
        net.before_backward(self._start)
        net.after_backward(lambda layer: self._stop("backward", layer))
        self._solver.add_callback(lambda: None, self._iteration_done)

    def _start(self, layer: int) -> None:
        self._begun = time.perf_counter()

    def _stop(self, way: str, layer: int) -> None:
        self._spent[way][layer] = 1000 * (time.perf_counter() - self._begun)

    def _iteration_done(self) -> None:
        self._iterations += 1
        display = self._solver.param.display
        if not display or self._iterations % display:
            return
        now = time.perf_counter()
        total = 1000 * (now - self._iterations_begun) / display
        self._iterations_begun = now
        print(self.table(total), flush=True)

    def table(self, total: float) -> str:
        """The last iteration's times and the average of whole iterations, in milliseconds."""
        width = max(map(len, self._names))
        lines = [f"{'layer':{width}}  forward ms  backward ms"]
        lines += [f"{name:{width}}  {forward:10.3f}  {backward:11.3f}" for name, forward, backward
                  in zip(self._names, self._spent["forward"], self._spent["backward"])]
        sums = [sum(self._spent[way]) for way in ("forward", "backward")]
        lines.append(f"{'all layers':{width}}  {sums[0]:10.3f}  {sums[1]:11.3f}")
        lines.append(f"iteration: {total:.3f} ms")
        return "\n".join(lines)
