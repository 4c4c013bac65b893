"""matplotlib's figures where there is no screen: plt.show() shows and closes them, and the run's end what is left open.

Loaded when matplotlib.pyplot is, so that other runs do not pay for it. Draws with whatever backend the code has chosen.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from mcp._display import display
from mcp._imports import PYPLOT
from mcp._shown_pictures import is_full, show_picture


def adopt(pyplot: ModuleType) -> None:
    """Puts our show() in place of pyplot's, which warns, or says nothing, where there is no screen."""
    vars(pyplot)["show"] = show


def show(*args: Any, **options: Any) -> None:
    """Shows all open figures and closes them, as in a notebook. Takes what matplotlib's own takes, and ignores it."""
    pyplot = sys.modules[PYPLOT]
    for figure in _open_figures(pyplot):
        display(figure)
    pyplot.close("all")


def show_left_open() -> None:
    """At the end of the run: what is still open, but for what has been shown as it is."""
    figures = _open_figures(sys.modules[PYPLOT])
    for number, figure in enumerate(figures):
        if is_full():
            print(f"[{len(figures) - number} open figures are not shown: there are enough pictures]")
            break
        mark = show_picture(figure, again=False)
        if mark is not None and not mark.is_shown:
            print(mark.text)


def _open_figures(pyplot: Any) -> list[Any]:
    return [pyplot.figure(number) for number in pyplot.get_fignums()]
