"""Seeded documents of an exact size."""

import json
import random


def encode(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def record(rng, number):
    return {
        "id": 100000 + number,
        "name": "item %d" % number,
        "active": number % 3 != 0,
        "price": round(rng.random() * 500, 2),
        "weight": rng.random(),
        "parent": None,
        "tags": ["red", "large", "caf\u00e9"],
        "position": {"x": rng.randrange(-900, 900), "y": -2.25},
        "note": 'Gr\u00fc\u00dfe from line %d, "quoted" \u2014 \u4e2d\u6587' % number,
    }


def document(seed, size):
    """An object of exactly `size` encoded bytes: mixed records and some padding."""
    rng = random.Random(seed)
    items, used = [], len(encode({"items": [], "pad": ""}))
    while True:
        item = record(rng, len(items))
        grown = used + len(encode(item)) + (1 if items else 0)
        if grown > size:
            break
        items.append(item)
        used = grown
    return {"items": items, "pad": "x" * (size - used)}
