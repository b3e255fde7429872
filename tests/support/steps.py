"""Callables that tests hand to local steps; a step is named after where they stand."""

import asyncio

HERE = __name__


def echo(value=None):
    return value


async def later(value=None, turns=1):
    for _ in range(turns):
        await asyncio.sleep(0)
    return value


def gives_an_awaitable(value):
    return later(value)


def text(n):
    return "x" * n


class Own(Exception):
    pass


def boom(value=None):
    raise Own("no")


async def take(awaitable):
    return await awaitable
