from ledgence.worker import get_logger

log = get_logger("bench.orders")


def handle(event):
    for number in range(10):
        log.info(
            "order %d of batch %s checked",
            number,
            "b-7",
            extra={"attributes": {"order": number, "warehouse": "north", "ratio": 0.5}},
        )
    return event["data"]
