"""Values to measure with: made from seeds, except the real webhook deliveries."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

DELIVERIES = Path(__file__).resolve().parents[1] / "examples/webhooks/deliveries.jsonl"

WORDS = [
    *("order", "customer", "invoice", "payment", "retry", "delivery", "warehouse"),
    *("urgent", "pending", "approved", "rejected", "shipped", "amount", "currency"),
    *("total", "review", "agent", "please", "check", "the", "and", "of", "for"),
]
CYRILLIC = [
    *("заказ", "клиент", "счёт", "оплата", "доставка"),
    *("склад", "срочно", "принято", "сумма", "валюта"),
]
CHINESE = ("订单", "客户", "发票", "付款", "配送", "仓库", "加急", "已批准", "金额")
ACCENTS = [
    *("Größe", "façade", "über", "naïve", "señor"),
    *("Straße", "déjà", "café", "mañana", "Zürich"),
]


def sentence(rng: random.Random, words: int) -> str:
    """Plain English words."""
    return " ".join(rng.choices(WORDS, k=words))


def record() -> Any:
    """An event record of 0.2 KB."""
    return {
        "id": 100481,
        "kind": "order.created",
        "customer": "c-19323",
        "total": 129.95,
        "currency": "EUR",
        "items": [{"sku": "A-100", "qty": 2}, {"sku": "B-712", "qty": 1}],
        "paid": True,
        "note": None,
    }


def messages() -> Any:
    """A conversation of 2 KB, with line breaks and quotes."""
    rng = random.Random(2)
    found = []
    for number in range(14):
        text = f'{sentence(rng, 9)}\n"{sentence(rng, 4)}"\n'
        role = "user" if number % 2 else "assistant"
        found.append({"role": role, "content": text, "tokens": len(text) // 4})
    return {"model": "m-1", "messages": found, "temperature": 0.2}


def state() -> Any:
    """A workflow state of 16 KB: orders with lines."""
    rng = random.Random(3)
    return {
        "version": 3,
        "orders": [
            {
                "id": f"ord-{number:05}",
                "status": rng.choice(WORDS),
                "total_cents": rng.randrange(100_000),
                "lines": [
                    {"sku": f"SKU-{rng.randrange(10**4)}", "qty": rng.randrange(9)}
                    for _ in range(3)
                ],
                "assigned": rng.random() < 0.5,
            }
            for number in range(90)
        ],
    }


def unicode_state() -> Any:
    """A state of 60 KB whose texts are in several scripts and repeat."""
    rng = random.Random(4)
    pool = [" ".join(rng.choices(CYRILLIC, k=6)) for _ in range(20)]
    pool += ["\uff0c".join(rng.choices(CHINESE, k=8)) for _ in range(20)]
    pool += [" ".join(rng.choices(ACCENTS, k=6)) for _ in range(20)]
    pool += [sentence(rng, 5) + " — 🚚" for _ in range(5)]
    return {
        "cells": [
            {
                "id": number,
                "title": rng.choice(pool),
                "text": rng.choice(pool) + rng.choice(pool)[:9],
                "автор": rng.choice(CYRILLIC),
                "done": rng.random() < 0.5,
            }
            for number in range(230)
        ]
    }


def journal() -> Any:
    """A journal of 250 KB: what a long activation has recorded."""
    rng = random.Random(5)
    return [
        {
            "key": f"step:{number}",
            "callable": "billing.steps:charge",
            "input": {
                "amount": round(rng.random() * 500, 2),
                "customer": f"c-{rng.randrange(10**6)}",
                "memo": sentence(rng, 8),
            },
            "output": {
                "receipt": f"r-{rng.getrandbits(64):016x}",
                "at": rng.randrange(10**10, 2 * 10**10),
                "lines": [sentence(rng, 6) for _ in range(3)],
                "ok": True,
            },
        }
        for number in range(560)
    ]


def event() -> Any:
    """An event of 1 MB: mixed records."""
    rng = random.Random(6)
    return {
        "items": [
            {
                "id": 100_000 + number,
                "name": f"item {number}",
                "active": number % 3 != 0,
                "price": round(rng.random() * 500, 2),
                "weight": rng.random(),
                "parent": None,
                "tags": ["red", "large", "café"],
                "position": {"x": rng.randrange(-900, 900), "y": -2.25},
                "note": f'Grüße from line {number}, "quoted" — 中文',
            }
            for number in range(4600)
        ]
    }


def floats() -> Any:
    """Ten thousand doubles of seventeen digits."""
    rng = random.Random(7)
    return [rng.random() * 500 for _ in range(10_000)]


def prices() -> Any:
    """Ten thousand doubles of few digits."""
    rng = random.Random(8)
    return [round(rng.random() * 500, 2) for _ in range(10_000)]


def webhooks() -> Any:
    """Real deliveries (examples/webhooks/README.md says from where)."""
    with DELIVERIES.open(encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def call() -> Any:
    """The binding of a call with about 1 KB of arguments."""
    rng = random.Random(9)
    return {
        "key": "turn:4:tool:0",
        "callable": "tool:billing.steps:charge",
        "input": {
            "v": 1,
            "kind": "tool",
            "version": "1",
            "arguments": {
                "customer": "c-19323",
                "amount": 12.5,
                "lines": [
                    {"sku": f"S-{n}", "qty": n, "price": n * 1.1} for n in range(9)
                ],
                "memo": sentence(rng, 60),
            },
        },
    }


PAYLOADS = {
    "record 0.2 KB": record,
    "messages 2 KB": messages,
    "state 16 KB": state,
    "unicode state 60 KB": unicode_state,
    "journal 250 KB": journal,
    "event 1 MB": event,
    "floats": floats,
    "prices": prices,
    "webhooks": webhooks,
}
