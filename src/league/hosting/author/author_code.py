"""Runs the code of a player's author in a thread beside the event loop, and catches everything it raises."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial

from msgspec import Struct


class Raised(Struct, frozen=True):
    """The author's code raised this instead of returning a value."""

    error: BaseException


_is_loading: ContextVar[bool] = ContextVar("is_loading", default=False)


@contextmanager
def loading() -> Iterator[None]:
    """Load an author's file for its class only. Its last line may be `serve(…)`, which must not serve anybody now."""
    former = _is_loading.set(True)
    try:
        yield
    finally:
        _is_loading.reset(former)


def is_loading() -> bool:
    """Return True if the code that asks is being loaded for its class."""
    return _is_loading.get()


async def ask_author(code: Callable[[], object]) -> object:
    """Run code in a thread, because it may take long. If it is `async`, its coroutine runs in this task."""
    value = await _in_a_thread(partial(caught, code))
    if not inspect.isawaitable(value):
        return value
    try:
        return await value
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        return Raised(error)
    except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001 - the author's code: shown to its author
        return Raised(error)


def caught(code: Callable[[], object]) -> object:
    """Run code here and now."""
    try:
        return code()
    except BaseException as error:  # noqa: BLE001 - the author's code: whatever it raises is shown to its author
        return Raised(error)


def _in_a_thread(code: Callable[[], object]) -> asyncio.Future[object]:
    """Run code in a thread of its own, which waits for no other player and does not keep the process alive."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[object] = loop.create_future()

    def give(value: object) -> None:
        if not answer.done():
            answer.set_result(value)
        elif inspect.iscoroutine(value):
            value.close()  # nobody waits for it any more

    def work() -> None:
        value = code()
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(give, value)

    threading.Thread(target=work, daemon=True).start()
    return answer
