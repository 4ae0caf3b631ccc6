import gzip
import io
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest

from convcnp.app.limits import Limits
from convcnp.app.uploads import read_upload, warnings_heard
from convcnp.errors import ConvCNPWarning, TableError


def zipped(name, content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return file.getvalue()


def parquet(frame):
    file = io.BytesIO()
    frame.to_parquet(file)
    return file.getvalue()


SMALL = Limits(table_bytes=2**16, table_cells=10_000)
BROKEN = {
    "empty": b"",
    "spaces": b" \n \n",
    "header alone": b"time,value\n",
    "one column": b"a\n1\n2\n",
    "words": b"time,value\na,b\nc,d\n",
    "no time": b"time,value\n,1\n,2\n",
    "no values": b"time,value\n1,\n2,\n",
    "ragged": b"t,v\n1,2,3,4\n1,2\n",
    "quotes": b't,v\n"1,2\n3,4\n',
    "zeros": bytes(2**12),
    "binary": b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
    "gzip": gzip.compress(b"t,v\n1,2\n"),
    "zip": zipped("a.csv", "t,v\n1,2\n"),
    "no zip": b"PK\x03\x04 and no more",
    "json": b'{"t": 1, "v": 2}\n',
    "no parquet": b"PAR1 and no more PAR1",
    "cut parquet": parquet(pd.DataFrame({"t": [1, 2], "v": [1.0, 2]}))[:-20],
    "feather": b"ARROW1\x00\x00" + bytes(64),
    "bad dates": b"date,value\n2020-01-01,1\n2020-13-45,2\n",
    "html": b"<!doctype html><title>404</title>",
    "wide": b"t" + 9999 * b",v" + b"\n" + 9999 * b"1\n",
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_table_is_a_sentence_and_the_server_lives_on(visitor, name):
    answer = visitor.post("/api/tables?name=broken.csv", BROKEN[name])
    if answer.status == 200:  # a table, but not one with a series
        answer = visitor.post("/api/series/curve", {"table": answer.json["table"]})
    assert answer.status == 422
    assert answer.sentence
    assert visitor.get("/api/examples").status == 200


@pytest.mark.parametrize(
    "content",
    [
        zipped("xl/workbook.xml", bytes(2**20)),
        parquet(pd.DataFrame({"t": np.zeros(10**6, dtype="int8")})),
        parquet(pd.DataFrame({"t": [f"{i:0300}" for i in range(3000)]})),
        b"t,v\n" + 6000 * b"1,2\n",
        b"t," + 500 * b"v," + b"\n" + 500 * b"1\n",
    ],
    ids=["workbook", "many rows", "long words", "many lines", "short rows"],
)
def test_what_would_unpack_to_more_is_refused(content):
    with pytest.raises(TableError, match="at most"):
        read_upload(content, "bomb", SMALL)


def test_parquet_is_read():
    frame = pd.DataFrame({"t": [1, 2], "v": [1.0, 2]})
    pd.testing.assert_frame_equal(read_upload(parquet(frame), "a.parquet", SMALL), frame)


def test_warnings_are_heard_once_and_others_stay():
    with warnings_heard() as heard:
        for _ in range(2):
            warnings.warn("Careful.", ConvCNPWarning, stacklevel=1)
    assert heard == ["Careful."]
    with pytest.raises(RuntimeWarning), warnings_heard():
        warnings.warn("Of others.", RuntimeWarning, stacklevel=1)
