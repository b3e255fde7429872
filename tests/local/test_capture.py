from ledgence.local._capture import Allowance
from ledgence.local._logs import DroppedLog, Log


def log(size):
    return Log("t", "INFO", "l", "m", {}, None, None, size)


def test_raw_output_is_passed_on_up_to_the_limit():
    allowance = Allowance(10)
    assert allowance.raw(b"x" * 9) == b"x" * 9
    assert allowance.raw(b"yz") == b"y"
    assert allowance.raw(b"zz") == b""
    assert allowance.dropped_bytes == 3


def test_logs_and_raw_output_share_the_limit():
    allowance = Allowance(10)
    allowance.raw(b"x" * 4)
    assert allowance.log(log(6)) is not None
    assert allowance.raw(b"y") == b""
    assert allowance.log(log(1)) is None
    assert (allowance.dropped_bytes, allowance.dropped_logs) == (1, 1)


def test_a_record_is_passed_on_whole_or_not_at_all():
    allowance = Allowance(10)
    assert allowance.log(log(11)) is None
    assert allowance.log(log(10)) is not None


def test_a_record_that_the_service_drops_is_counted():
    allowance = Allowance(10)
    assert allowance.log(DroppedLog("time", 5)) is None
    assert (allowance.used, allowance.dropped_logs) == (0, 1)


def test_each_invocation_has_its_own_allowance():
    allowance = Allowance(3)
    allowance.raw(b"xxxxx")
    allowance.renew()
    assert (allowance.used, allowance.dropped_bytes) == (0, 0)
    assert allowance.raw(b"abc") == b"abc"
