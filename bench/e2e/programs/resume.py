from ledgence.worker.workflow import workflow_context


def handle(event):
    ctx = workflow_context()
    state = ctx.state
    inputs = ctx.inputs
    first = ctx.get_result("child:0")
    return ctx.complete(
        {
            "items": len(state["items"]),
            "children": len(inputs),
            "first": len(first["pad"]),
        }
    )
