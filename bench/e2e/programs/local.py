from ledgence.worker.workflow import workflow_context

values = []


def step(index):
    return values[index]


async def handle(event):
    ctx = workflow_context()
    values[:] = event["data"]["values"]
    for index in range(len(values)):
        await ctx.local("step:%d" % index, step, index=index)
    return ctx.complete({"steps": len(values)})
