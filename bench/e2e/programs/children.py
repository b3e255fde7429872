from ledgence.worker.workflow import workflow_context


def handle(event):
    ctx = workflow_context()
    children = [
        ctx.task(
            "child:%d" % index,
            program="invoice-check",
            version="1.2.0",
            queue="billing",
            data=value,
        )
        for index, value in enumerate(event["data"]["values"])
    ]
    return ctx.suspend(continuation="collect", state={"batch": 7}, until=children)
