"""A thread that ticks until it is kept from that, and who counts its ticks in a later call of the session."""

import threading
import time

ticks: list[float] = []
began = time.monotonic()


def tick() -> None:
    while True:
        ticks.append(time.monotonic() - began)
        time.sleep(0.01)


def ticked(since_s: float, counted_s: float) -> list[int]:
    """How often it has ticked at all, and when it was to stand still."""
    return [len(ticks), sum(since_s < at < since_s + counted_s for at in ticks)]


threading.Thread(target=tick, daemon=True).start()
