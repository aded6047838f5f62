"""`mask=`: values that are hidden, and a salt that is not shown."""

from __future__ import annotations

import hmac
import logging
import pickle
import traceback
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import binarrow

SALT = "s4lt-of-the-shop"
FIXTURES = Path(__file__).parent.parent / "fixtures"
EMAIL = {"shop.customers.email": "sha256"}


def hashed(text: str | None, salt: str = SALT) -> str | None:
    if text is None:
        return None
    return hmac.new(salt.encode(), text.encode(), "sha256").hexdigest()


def column(source: str | bytes, table: str, name: str, **keywords: Any) -> list[Any]:
    with binarrow.read_binlog(source, tables=table, **keywords) as reader:
        return [cell for each in reader for cell in each.to_pyarrow().column(name).to_pylist()]


@pytest.mark.parametrize("threads", [1, 4])
def test_hashes_are_those_of_hmac(shop, threads):
    emails = column(shop.glob, "shop.customers", "email")
    assert len(emails) > 100
    for salt in (SALT, SALT.encode()):
        masked = column(
            shop.glob, "shop.customers", "email", mask=EMAIL, mask_salt=salt, threads=threads
        )
        assert masked == [hashed(email) for email in emails]
    other = column(shop.glob, "shop.customers", "email", mask=EMAIL, mask_salt="other")
    assert other == [hashed(email, "other") for email in emails]


def test_null_stays_null_and_other_columns_are_as_they_were(shop):
    mask = {"shop.orders.note": "sha256", "shop.*.customer_id": "null", "*.*.customer*": "sha256"}
    plain = column(shop.glob, "shop.orders", "note")
    assert None in plain
    assert len(set(plain)) > 2
    assert column(shop.glob, "shop.orders", "note", mask=mask, mask_salt=SALT) == [
        hashed(note) for note in plain
    ]
    with (
        binarrow.read_binlog(shop.glob, tables="shop.orders", mask=mask, mask_salt=SALT) as masked,
        binarrow.read_binlog(shop.glob, tables="shop.orders") as complete,
    ):
        for one, other in zip(masked, complete, strict=True):
            got, was = one.to_pyarrow(), other.to_pyarrow()
            touched = ["note", "customer_id"]
            assert got.drop_columns(touched).equals(was.drop_columns(touched))
            ids = got.column("customer_id")  # the first pattern counts
            assert ids.null_count == len(ids)
            assert ids.type == was.column("customer_id").type


def test_the_schema_tells_of_the_mask(shop):
    keywords: dict[str, Any] = {
        "mask": {"shop.customers.profile": "sha256", "shop.customers.country": "null"},
        "mask_salt": SALT,
    }
    for types in ("native", "spark"):
        schema = binarrow.infer_schema(shop.glob, "shop.customers", types=types, **keywords)
        plain = binarrow.infer_schema(shop.glob, "shop.customers", types=types)
        assert schema.field("profile").type == pa.string()  # and not JSON
        assert schema.field("profile").metadata[b"binarrow.mask"] == b"sha256"
        assert schema.field("profile").metadata[b"mysql.type"] == b"char(64)"
        assert schema.field("profile").metadata[b"mysql.charset"] == b"ascii"
        assert schema.field("country").type == plain.field("country").type
        assert schema.field("country").metadata[b"binarrow.mask"] == b"null"
        assert b"binarrow.mask" not in schema.field("email").metadata
        stream = binarrow.read_binlog(shop.glob, types=types, **keywords).table("shop.customers")
        assert stream.schema.equals(schema, check_metadata=True)
        assert stream.read_all().num_rows == sum(shop.change_types("shop.customers").values())


def test_a_masked_or_unselected_key_still_splits_updates(shop):
    complete = column(shop.glob, "shop.products", "_change_type")
    assert "insert" in complete
    assert shop.tables["shop.products"]["key_update"] > 0
    for mask in ("null", "sha256"):
        keywords: dict[str, Any] = {"mask": {"shop.products.sku": mask}}
        if mask == "sha256":
            keywords["mask_salt"] = SALT
        assert column(shop.glob, "shop.products", "_change_type", **keywords) == complete


@pytest.mark.parametrize("types", [None, binarrow.TypeOptions(json="diff")])
def test_what_changed_in_a_document_is_masked_too(types):
    """The log contains only the changes of a document: the hash is that of the complete document."""
    source = str(FIXTURES / "mysql-partial-json" / "binlog.000001")
    masked = plain = 0
    mask = {"*.*.*": "sha256"}
    with (
        binarrow.read_binlog(source, column_names="positional") as complete,
        binarrow.read_binlog(
            source, column_names="positional", types=types, mask=mask, mask_salt=SALT
        ) as hashes,
    ):
        for one, other in zip(complete, hashes, strict=True):
            documents = [
                field.name
                for field in one.schema
                if field.metadata and field.metadata.get(b"mysql.type") == b"json"
            ]
            for name in documents:
                plain_cells = one.to_pyarrow().column(name).cast(pa.string()).to_pylist()
                cells = other.to_pyarrow().column(name).to_pylist()
                assert cells == [hashed(cell) for cell in plain_cells]
                masked += len(cells)
            plain += len(one)
    assert masked >= plain > 10


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"mask": EMAIL}, binarrow.ConfigError, "needs mask_salt"),
        ({"mask": EMAIL, "mask_salt": ""}, binarrow.ConfigError, "mask_salt is empty"),
        ({"mask_salt": SALT}, binarrow.ConfigError, "mask contains no columns"),
        ({"mask": {"x.y.z": "null"}, "envelope": ["query"]}, binarrow.ConfigError, "'query'"),
        ({"mask": {"email": "null"}}, binarrow.ConfigError, "not a column pattern"),
        ({"mask": {"shop.customers.email": SALT}}, binarrow.ConfigError, "'sha256' or 'null'"),
        ({"mask": ["shop.customers.email"]}, TypeError, "dict of columns"),
        ({"mask": EMAIL, "mask_salt": 5}, TypeError, "str or bytes"),
        ({"mask": EMAIL, "mask_salt": f"{SALT}\udc80"}, binarrow.ConfigError, "not valid Unicode"),
        (
            {"mask": {"shop.customers.mail": "sha256"}, "mask_salt": SALT},
            binarrow.SchemaError,
            r'table shop\.customers: mask names "shop\.customers\.mail"',
        ),
    ],
)
def test_masks_that_cannot_be_are_errors(shop, keywords, error, message, caplog):
    caplog.set_level(logging.DEBUG)
    with pytest.raises(error, match=message) as caught:
        column(shop.glob, "shop.customers", "email", **keywords)
    # The traceback shows the source of this file, with a parameter's name and without its value.
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + caplog.text
    assert SALT not in shown


def test_the_salt_is_in_no_repr(shop, caplog):
    caplog.set_level(logging.DEBUG)
    reader = binarrow.read_binlog(shop.glob, mask=EMAIL, mask_salt=SALT)
    first = next(iter(reader))
    table = binarrow.read_binlog(shop.glob, mask=EMAIL, mask_salt=SALT).table("shop.customers")
    shown = [reader, first, reader.stats(), reader.position, table, table.schema, first.schema]
    assert SALT not in "".join(map(repr, shown)) + caplog.text
    assert SALT.encode() not in pickle.dumps(reader.position)
    reader.close()


def test_wildcards_may_match_nothing(shop):
    """A pattern that names no table exactly is a rule for tables to come."""
    assert column(shop.glob, "shop.customers", "email", mask={"*.*.phone": "null"})


def test_values_are_not_in_errors(shop):
    """Text that is not valid in its character set: the error names the column, not the text."""
    log = shop.files[0].read_bytes()
    email = column(log, "shop.customers", "email")[0]
    broken = log.replace(email.encode(), b"\xff" + email.encode()[1:])
    assert broken != log
    keywords: dict[str, Any] = {"mask": EMAIL, "mask_salt": SALT, "verify_checksum": False}
    with pytest.raises(binarrow.BinarrowError, match=r"column email: .*utf8") as caught:
        column(broken, "shop.customers", "email", **keywords)
    assert email[1:] not in str(caught.value)
    replaced = binarrow.TypeOptions(invalid_text="replace")
    hashes = column(broken, "shop.customers", "email", types=replaced, **keywords)
    assert hashes[0] == hashed(f"\ufffd{email[1:]}")


def test_a_pattern_of_no_table_is_reported(shop):
    """A name that was mistyped would let values out."""
    masks = {"shop.custmers.email": "null", "*.*.emial": "null", "*.*.email": "null"}
    given = {"mask": masks, "columns": {"shop.oders": ["id"]}}
    with pytest.warns(binarrow.BinarrowWarning) as warned:
        list(binarrow.read_binlog(shop.glob, **given))
    assert {str(one.message) for one in warned} == {
        'columns: no change of a table that matches "shop.oders" in the input',
        'mask: no change of a table with a column that matches "shop.custmers.email" in the input',
        'mask: no change of a table with a column that matches "*.*.emial" in the input',
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        masks = {"shop.*.email": "null", "Shop.Customers.name": "null"}
        list(binarrow.read_binlog(shop.glob, tables="shop.c*", mask=masks))
