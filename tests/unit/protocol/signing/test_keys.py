"""Keys and signatures: an example of RFC 8032, one spelling of everything, and nothing that fits two statements."""

from __future__ import annotations

import json
import subprocess
import sys
from base64 import urlsafe_b64decode, urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct, to_builtins
from nacl.bindings import crypto_sign

from league.protocol.signing.keys import is_public_key, is_signed, sign, signing_key, statement_bytes
from league.protocol.wire.canonical_json import canonical

ORDER = 2**252 + 27742317777372353535851937790883648493
"""The order of the group that signatures are computed in (RFC 8032, section 5.1)."""
SMALL_ORDER = (
    "0100000000000000000000000000000000000000000000000000000000000000",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
)
"""The points whose order divides 8."""
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


class Part(Struct):
    text: str
    numbers: list[int]


class Statement(Struct):
    """Everything that statements are made of, its names out of order."""

    type: str = "test"
    choices: list[str] = []
    attempt: int = 1
    views: str | None = None
    parts: list[Part] = []


KEY = signing_key(bytes(range(32)))
STATEMENT = Statement(choices=["even"])
SIGNATURE = sign(KEY, STATEMENT)


def test_a_key_follows_from_its_secret() -> None:
    # RFC 8032, section 7.1, test 1.
    key = signing_key(bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"))
    assert key.public == "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    assert crypto_sign(b"", key.expanded).hex() == (
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
        "d25bf5f0595bbe24655141438e7a100b"
    )


@pytest.mark.parametrize("secret", [b"", bytes(31), bytes(33), bytes(64)], ids=len)
def test_a_secret_has_32_bytes(secret: bytes) -> None:
    with pytest.raises(ValueError, match="32 secret bytes"):
        signing_key(secret)


def test_a_secret_is_never_printed() -> None:
    assert repr(KEY) == str(KEY) == f"SigningKey({KEY.public})"


@pytest.mark.parametrize(
    "key",
    [
        None,
        7,
        "",
        KEY.public[:-1],
        KEY.public + "0",
        KEY.public + "\n",
        KEY.public.upper(),
        "ä" * 64,
        "02" + "00" * 31,  # on no curve
        "ff" * 32,  # not reduced
        *SMALL_ORDER,
    ],
)
def test_anything_else_is_no_public_key(key: object) -> None:
    assert not is_public_key(key)
    assert is_public_key(KEY.public)


@pytest.mark.parametrize("key", SMALL_ORDER)
def test_no_signature_fits_a_key_of_small_order(key: str) -> None:
    # With R of small order and S = 0, checkers that do not look accept it for every statement, or for every eighth.
    for point in SMALL_ORDER:
        signature = urlsafe_b64encode(bytes.fromhex(point) + bytes(32)).rstrip(b"=").decode()
        assert not any(is_signed(signature, key, Statement(attempt=number)) for number in range(1, 17))


def test_a_signature_has_one_spelling() -> None:
    raw = urlsafe_b64decode(SIGNATURE + "==")
    spellings = [SIGNATURE[:-1] + last for last in ALPHABET]
    same_bytes = [text for text in spellings if urlsafe_b64decode(text + "==") == raw]
    assert len(SIGNATURE) == 86
    assert len(same_bytes) == 16
    assert [text for text in spellings if is_signed(text, KEY.public, STATEMENT)] == [SIGNATURE]


def test_nobody_can_make_a_second_signature_from_the_first() -> None:
    raw = urlsafe_b64decode(SIGNATURE + "==")
    added = int.from_bytes(raw[32:], "little") + ORDER
    second = urlsafe_b64encode(raw[:32] + added.to_bytes(32, "little")).rstrip(b"=").decode()
    assert not is_signed(second, KEY.public, STATEMENT)


@pytest.mark.parametrize(
    "signature",
    [None, 7, "", "é" * 86, SIGNATURE + "==", SIGNATURE + "\n", SIGNATURE[:-1], SIGNATURE.lower(), [SIGNATURE]],
)
def test_anything_else_is_no_signature(signature: object) -> None:
    assert not is_signed(signature, KEY.public, STATEMENT)


def test_a_signature_binds_its_key_and_every_field() -> None:
    others = [
        Statement(type="other", choices=["even"]),
        Statement(choices=["odd"]),
        Statement(choices=["even", "even"]),
        Statement(choices=["even"], attempt=2),
        Statement(choices=["even"], views=""),
        Statement(choices=["even"], parts=[Part("", [])]),
    ]
    assert is_signed(SIGNATURE, KEY.public, STATEMENT)
    assert not any(is_signed(SIGNATURE, KEY.public, other) for other in others)
    assert not is_signed(SIGNATURE, signing_key(bytes(32)).public, STATEMENT)
    assert not is_signed(SIGNATURE, KEY.public.upper(), STATEMENT)


texts = st.text(st.characters(exclude_categories=["Cs"]))
statements = st.builds(
    Statement,
    type=texts,
    choices=st.lists(texts, max_size=4),
    attempt=st.integers(-(2**53) + 1, 2**53 - 1),
    views=st.none() | texts,
    parts=st.lists(st.builds(Part, text=texts, numbers=st.lists(st.integers(0, 2**53 - 1), max_size=3)), max_size=3),
)


@given(statement=statements)
def test_the_bytes_are_those_of_rfc_8785(statement: Statement) -> None:
    assert statement_bytes(statement) == canonical(to_builtins(statement))
    assert json.loads(statement_bytes(statement)) == to_builtins(statement)


def test_texts_are_escaped_as_little_as_possible() -> None:
    every_character = "".join(map(chr, range(0x300))) + "\u2028\u2029\ufeff\uffff😀"
    statement = Statement(choices=[every_character])
    assert statement_bytes(statement) == canonical(to_builtins(statement))


def test_half_a_character_is_not_signed() -> None:
    with pytest.raises(UnicodeEncodeError):
        sign(KEY, Statement(choices=["\ud800"]))
    assert not is_signed(SIGNATURE, KEY.public, Statement(choices=["\ud800"]))


def test_a_process_that_never_signs_does_not_import_the_library() -> None:
    code = "import sys, league.protocol.signing.keys; print([name for name in sys.modules if name.startswith('nacl')])"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "[]"
