"""Addresses are shown without passwords, above all those with a mistake."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grisaille.study.log.address import masked, masked_addresses, masked_in

pytestmark = pytest.mark.slow


MISTAKEN = [
    "postgresql://lab:s3cret/host/studies",
    "postgresql://lab:s3cret",
    "postgresql://lab:s3@cret@host/studies",
    "postgresql://lab:s3/cr?et@host/studies",
    "postgresql://lab%3As3cret@host/studies",
    "postgresql://lab s3cret@host/studies",
    "postgresql://lab/s3cret@host/studies",
    "postgresql:///lab:s3cret@host/studies",
    "postgresql:///lab:s3cret",
    "postgresql:/lab:s3cret@host/studies",
    "postgresql:lab:s3cret@host/studies",
    "postgresql//lab:s3cret@host/studies",
    " postgresql://lab:s3cret@host/studies",
    '"postgresql://lab:s3cret@host/studies"',
    "lab:s3cret@host/studies",
    "lab:s3cret",
    "host=localhost user=lab password=s3cret",
    "jdbc:postgresql://host/studies?user=lab&password=s3cret",
    "postgresql://lab@host/studies&password=s3cret",
    "postgresql://lab@host/studies;password=s3cret",
    "postgresql://lab@host/studies?sslmode=require;password=s3cret",
    "postgresql://lab@host/studies?pasword=s3cret",
    "postgresql://lab@host/studies?sslmode=require&s3cret",
    "postgresql://lab@host/studies?password=s3&cret",
    "mysql://lab:s3cret@host/studies",
    "nonsense://lab:s3cret@host/studies",
    "sqlite:///lab:s3cret@host/studies",
    "sqlite://lab:s3cret@host/studies",
]


@pytest.mark.parametrize("address", MISTAKEN)
def test_an_address_with_a_mistake_shows_no_password(address):
    shown = masked(address)
    assert "s3" not in shown
    assert "cr" not in shown
    assert "et" not in shown
    assert masked(shown) == shown


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql+psycopg://lab:s3cret@host:5432/x", "postgresql+psycopg://lab:***@host:5432/x"),
        ("postgresql://lab:s3cret@[::1]:5432/x", "postgresql://lab:***@[::1]:5432/x"),
        (
            "postgresql://lab@host/x?password=s3cret&sslmode=require",
            "postgresql://lab@host/x?password=***&sslmode=require",
        ),
    ],
)
def test_only_the_password_of_a_right_address_is_hidden(address, shown):
    assert masked(address) == shown


@pytest.mark.parametrize(
    "address",
    [
        "memory",
        "study.db",
        "C:\\data\\study.db",
        "sqlite:study.db",
        "sqlite:///study.db",
        "sqlite:///study.db?timeout=10",
        "sqlite:///C:/me@work/study.db",
        "sqlite:////data/rate=0.1/me@work/12:30/study.db",
        "postgresql:///x",
        "postgresql://[::1]:5432/x",
        "postgresql+psycopg://lab@host:5432/x?host=/var/run&application_name=me",
    ],
)
def test_an_address_without_a_password_is_shown_as_it_is(address):
    assert masked(address) == address


@given(st.text(st.characters(codec="ascii", categories=("L", "N", "P")), min_size=8))
def test_any_password_is_hidden(password):
    address = f"postgresql://lab:{password}@host/x"
    assert masked(address) == "postgresql://lab:***@host/x"
    complaint = masked_in(f"no entry for lab with {password}, {password!r}", address)
    assert password not in complaint


def test_a_message_that_repeats_a_password_in_another_form_is_masked():
    address = "postgresql://lab:s3%40cr+et@host/x"
    for form in ("s3%40cr+et", "s3@cr+et", "s3@cr et"):
        assert masked_in(f"no user lab with '{form}' at host", address) == (
            "no user lab with '***' at host"
        )
    # A driver takes what follows the colon for a port, and names it alone.
    assert masked_in("invalid port: 's3cret'", "postgresql://lab:s3cret/x") == "invalid port: '***'"


def test_every_address_in_a_sentence_is_masked_and_the_sentence_goes_on():
    text = "no study 'postgresql://lab:s3cret@host/x', nor any in postgresql://lab@host:5432: look"
    assert masked_addresses(text) == text.replace("s3cret", "***")
