def handle(event):
    return event["data"]
