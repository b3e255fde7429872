"""RFC 3339 date-times, leap seconds included."""

import calendar
import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledgence.worker.workflow._timestamps import is_timestamp

ACCEPTED = [
    "2024-02-01T00:59:60+01:00",
    "0000-01-01T00:59:60+01:00",
    "9999-12-31T23:59:60Z",
    "2024-01-31T23:59:60Z",
    "2024-02-29T23:59:60Z",
    "2023-02-28T23:59:60Z",
    "2024-06-30T23:59:60.5z",
    "2024-01-01T00:00:00Z",
    "2024-01-01t00:00:00z",
    "2024-12-31T18:59:60-05:00",
    "2024-01-01T00:00:00.123456789012345678901234567890Z",
    "2024-01-01T00:00:00-00:00",
    "2024-01-01T23:59:59+23:59",
    "2024-01-01T23:59:59-23:59",
    "0000-02-29T00:00:00Z",
    "2000-02-29T00:00:00Z",
    "2024-02-29T00:00:00.0+00:00",
    "2024-02-01T23:58:60+23:59",
    "2024-01-31T00:00:60-23:59",
    "0000-01-01T23:58:60+23:59",
]
REFUSED = [
    "2024-01-31T23:59:60+01:00",
    "2024-02-28T23:59:60Z",
    "2024-01-31T23:58:60Z",
    "2024-01-30T23:59:60Z",
    "2024-01-01T00:00:61Z",
    "2024-01-01T24:00:00Z",
    "2024-01-01T00:60:00Z",
    "2024-13-01T00:00:00Z",
    "2024-00-01T00:00:00Z",
    "2024-01-00T00:00:00Z",
    "2024-01-32T00:00:00Z",
    "2023-02-29T00:00:00Z",
    "1900-02-29T00:00:00Z",
    "2024-04-31T00:00:00Z",
    "2024-01-01T00:00:00",
    "2024-01-01T00:00:00+24:00",
    "2024-01-01T00:00:00+00:60",
    "2024-01-01T00:00:00+0000",
    "2024-01-01T00:00:00+00",
    "2024-01-01T00:00:00.Z",
    "2024-01-01T00:00:00.+01:00",
    "2024-01-01T00:00Z",
    "2024-01-01",
    "24-01-01T00:00:00Z",
    "2024-1-01T00:00:00Z",
    "2024/01/01T00:00:00Z",
    "2024-01-01T00.00:00Z",
    "2024-01-01T00:00:00ZZ",
    "+2024-01-01T00:00:00Z",
    "2024-01-01T00:00:00,5Z",
    "2024-01-01T00:00:00+1:00",
    "Z",
    "2024-01-01T00:00:00+01:0a",
    "2024-01-01T00:00:00*01:00",
    "2024-01-01T00:00:00+01-00",
]


@pytest.mark.parametrize("text", ACCEPTED)
def test_date_times_are_accepted(text):
    assert is_timestamp(text)


@pytest.mark.parametrize(
    "text",
    [
        *REFUSED,
        "",
        " 2024-01-01T00:00:00Z",
        "2024-01-01T00:00:00Z ",
        "2024-01-01 00:00:00Z",
        "2024-01-01T00:00:00Z\n",
        "202\u0664-01-01T00:00:00Z",
        "2024-01-01T00:00:00.\u0661Z",
        "2024-01-01T00:00:00+\u0660\u0661:00",
    ],
)
def test_other_texts_are_refused(text):
    assert not is_timestamp(text)


@given(
    st.tuples(
        st.integers(1, 9999),
        st.integers(0, 13),
        st.integers(0, 32),
        st.integers(0, 24),
        st.integers(0, 60),
        st.integers(0, 59),
    )
)
def test_dates_are_those_of_the_calendar(fields):
    text = "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z".format(*fields)
    try:
        dt.datetime(*fields, tzinfo=dt.UTC)
        valid = True
    except ValueError:
        valid = False
    assert is_timestamp(text) == valid


@given(
    st.datetimes().filter(lambda moment: 1 < moment.year < 9999),
    st.integers(-1439, 1439),
)
def test_a_leap_second_ends_a_month_in_utc(moment, offset):
    local = moment.replace(microsecond=0, second=0)
    utc = local - dt.timedelta(minutes=offset)
    last = utc.day == calendar.monthrange(utc.year, utc.month)[1]
    sign, minutes = ("-", -offset) if offset < 0 else ("+", offset)
    zone = f"{sign}{minutes // 60:02}:{minutes % 60:02}"
    text = local.strftime("%Y-%m-%dT%H:%M:60").rjust(19, "0") + zone
    assert is_timestamp(text) == (last and (utc.hour, utc.minute) == (23, 59))


@given(st.integers(2, 9998), st.integers(1, 12), st.integers(-1439, 1439))
def test_every_end_of_a_month_takes_a_leap_second_at_every_offset(year, month, offset):
    minute = dt.timedelta(minutes=1)
    end = dt.datetime(year, month, 1, tzinfo=dt.UTC) - minute
    local = end + offset * minute
    sign, minutes = ("-", -offset) if offset < 0 else ("+", offset)
    date = f"{local.year:04}-{local.month:02}-{local.day:02}"
    time = f"{local.hour:02}:{local.minute:02}:60"
    assert is_timestamp(f"{date}T{time}{sign}{minutes // 60:02}:{minutes % 60:02}")
