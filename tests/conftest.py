"""Options of the whole suite."""


def pytest_addoption(parser):
    parser.addoption(
        "--soak-invocations",
        type=int,
        default=20_000,
        help="how many invocations the soak tests make altogether",
    )
