MESSAGE = ('line "%d" could not be read \u2014 caf\u00e9\\path\n' * 40)[:1000]


def handle(event):
    raise ValueError(MESSAGE)
