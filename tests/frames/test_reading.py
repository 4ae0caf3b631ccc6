"""Users' tables as they are read."""

import bz2
import gzip
import importlib.util
import io
import json
import lzma
import zipfile

import numpy as np
import pandas as pd
import pytest

from convcnp.errors import ConvCNPWarning, MissingExtraError, TableError
from convcnp.frames.columns import choose_columns
from convcnp.frames.reading import digest_of, parse_table, plain, read_table
from convcnp.frames.time_axis import TimeAxis

DATES = ["2020-02-01", "2020-02-02", "2020-02-13"]


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


TABLES = {
    "comma": "t,v\n0,1.5\n1,\n",
    "quoted": '"t","v"\n"0","1.5"\n"1",""\n',
    "tab": "t\tv\n0\t1.5\n1\t\n",
    "semicolon and decimal comma": "t;v\n0;1,5\n1;\n",
    "semicolon and decimal point": "t;v\n0;1.5\n1;\n",
    "tab and decimal comma": "t\tv\r\n0\t1,5\r\n1\t\r\n",
    "spaces": "t, v\n0, 1.5\n1, \n",
    "separator at the end of rows": "t,v\n0,1.5,\n1,,\n",
    "bars": "t|v\n0|1.5\n1|\n",
    "a separator in the first line": "sep=;\nt;v\n0;1,5\n1;\n",
    "spaces in quotes": '"t","v"\n0,"  1.5"\n1,"     "\n',
    "remarks": "# made by hand\n\n# twice\nt,v\n0,1.5\n1,\n",
    "byte order mark": b"\xef\xbb\xbft,v\n0,1.5\n1,\n",
    "UTF-16": "t,v\n0,1.5\n1,\n".encode("utf-16"),
}


@pytest.mark.parametrize("kind", TABLES)
def test_one_table_is_read_from_all_its_kinds(kind, tmp_path):
    frame = read_table(written(tmp_path / "table.csv", TABLES[kind])).frame
    pd.testing.assert_frame_equal(frame, pd.DataFrame({"t": [0, 1], "v": [1.5, np.nan]}))


def test_dotted_dates_do_not_hide_decimal_commas(tmp_path):
    frame = read_table(
        written(tmp_path / "a.csv", "Tag;Wert\n01.02.2020;1,5\n02.02.2020;2,5\n")
    ).frame
    assert frame["Wert"].tolist() == [1.5, 2.5]


def test_a_separator_inside_quotes_separates_nothing(tmp_path):
    frame = read_table(written(tmp_path / "a.csv", '"a;b;c",v\n0,1\n')).frame
    assert list(frame) == ["a;b;c", "v"]


def test_names_of_western_europe_are_read(tmp_path):
    frame = read_table(written(tmp_path / "a.csv", "t,Größe\n0,1\n".encode("cp1252"))).frame
    assert list(frame) == ["t", "Größe"]


@pytest.mark.parametrize("first", ["0,1.5", "2020-01-01,1.5", "13/02/2020 10:00,", '"0","1"'])
def test_a_table_without_a_header_keeps_its_first_row(first, tmp_path):
    frame = read_table(written(tmp_path / "a.csv", f"{first}\n{first}\n")).frame
    assert list(frame) == ["time", "value1"]
    assert len(frame) == 2


@pytest.mark.parametrize("has_index", [True, False])
def test_parquet_is_read_with_its_index(has_index, tmp_path):
    frame = pd.DataFrame({"t": pd.to_datetime(DATES).tz_localize("UTC"), "v": [1.0, 2.0, 3.0]})
    (frame.set_index("t") if has_index else frame).to_parquet(tmp_path / "table.parquet")
    pd.testing.assert_frame_equal(read_table(tmp_path / "table.parquet").frame, frame)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "but it is empty"),
        (b" \n\n", "but it is empty"),
        (b"t,v\n", "but there are none"),
        (b"# a remark\n# another\n", "cannot be read as a table"),
        (b"t;v\n0;1,5\n1;2,5;9\n", "Expected rows of equal length"),
        (b"t,v\n0,1,2\n1,2,3\n", "Expected rows as long as the header in .* have more cells"),
        (b"t,v\n0,1\n1,2,3\n", "Expected rows of equal length"),
        (b't,v\n0,"1\n', "check the separator and quotes"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "Excel, but .* is none"),
        (np.random.default_rng(0).bytes(2000), "Excel, but .* is none"),
        (b"PAR1 and no more", "may be cut short"),
    ],
)
def test_what_is_no_table_gets_a_sentence(content, sentence, tmp_path):
    with pytest.raises(TableError, match=sentence):
        read_table(written(tmp_path / "table.csv", content))


def test_a_missing_file_suggests_the_nearest(tmp_path):
    written(tmp_path / "basic.csv", "t,v\n0,1\n")
    with pytest.raises(TableError, match=r"did you mean 'basic.csv'\?"):
        read_table(tmp_path / "basics.csv")
    with pytest.raises(TableError, match="but it is a folder; give a file of it"):
        read_table(tmp_path)
    with pytest.raises(TableError, match=r"the folder .*no does not exist; check the path"):
        read_table(tmp_path / "no/basic.csv")


def test_any_name_is_a_name_of_a_column_and_levels_are_joined():
    assert list(plain(pd.DataFrame({"self": [1], 2: [3]}))) == ["self", "2"]
    assert list(plain(pd.DataFrame({("a", "b"): [1], ("c", ""): [2]}))) == ["a_b", "c"]


def test_names_that_differ_by_spaces_alone_are_refused(tmp_path):
    with pytest.raises(TableError, match="different names, got 'a' more than once"):
        read_table(written(tmp_path / "a.csv", "time,a ,a\n0,1,2\n"))


def test_a_quoted_first_row_above_bare_numbers_is_a_header(tmp_path):
    frame = read_table(written(tmp_path / "a.csv", '"0","1"\n5,6\n7,8\n')).frame
    assert frame.to_dict("list") == {"0": [5, 7], "1": [6, 8]}


@pytest.mark.parametrize("kind", ["period", "arrow", "arrow with a zone"])
def test_periods_and_times_of_arrow_are_dates(kind):
    dates = pd.Series(pd.to_datetime(DATES), name="time")
    if kind == "period":
        column = dates.dt.to_period("D")
    else:
        pyarrow = pytest.importorskip("pyarrow")
        zone = "Europe/Berlin" if "zone" in kind else None
        column = dates.dt.tz_localize(zone).astype(pd.ArrowDtype(pyarrow.timestamp("us", zone)))
        dates = dates.dt.tz_localize(zone)
    found = plain(column.to_frame())["time"]
    assert choose_columns(plain(pd.DataFrame({"a": column, "v": [1, 2, 3]}))).time == "a"
    assert TimeAxis.of(found).times(np.array([0.0]))[0] == dates[0]


def test_a_file_is_told_from_others_by_its_content(tmp_path):
    path = written(tmp_path / "a.csv", "t,v\n0,1\n")
    table = read_table(path)
    assert (table.digest, table.path) == (digest_of(path.read_bytes()), str(path.resolve()))
    assert read_table(written(tmp_path / "b.csv", "t,v\n0,1\n")).digest == table.digest
    assert read_table(written(tmp_path / "c.csv", "t,v\n0,2\n")).digest != table.digest


def test_a_file_larger_than_any_memory_is_refused_unread(tmp_path):
    path = tmp_path / "sparse.csv"
    with path.open("wb") as file:
        file.truncate(5 * 10**9)
    with pytest.raises(TableError, match=r"sparse.csv has 5,000,000,000 or more; give the rows"):
        read_table(path)


# --- Other formats --------------------------------------------------------------------------------

TABLE = "day,level\n1,2.5\n2,\n3,3.5\n"
LINES = '{"day": 1, "level": 2.5}\n{"day": 2, "level": null}\n\n{"day": 3, "level": 3.5}\n'


def zipped(**files):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__MACOSX_", "__MACOSX/").replace("_csv", ".csv"), text)
    return content.getvalue()


def feather():
    content = io.BytesIO()
    pd.read_csv(io.StringIO(TABLE)).to_feather(content)
    return content.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(TABLE.encode()),
        zipped(a_csv=TABLE, __MACOSX_a_csv="junk"),
        LINES.encode(),
        json.dumps([json.loads(line) for line in LINES.splitlines() if line]).encode(),
        gzip.compress(LINES.encode()),
        bz2.compress(TABLE.encode()),
        lzma.compress(TABLE.encode()),
        feather(),
    ],
    ids=["gzip", "zip", "JSON lines", "JSON", "JSON lines in gzip", "bzip2", "xz", "Feather"],
)
def test_the_content_says_what_it_is(tmp_path, content):
    (tmp_path / "table").write_bytes(content)
    frame = read_table(tmp_path / "table").frame
    pd.testing.assert_frame_equal(frame, pd.read_csv(io.StringIO(TABLE)))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (gzip.compress(TABLE.encode())[:-9], "Expected a table compressed by gzip"),
        (zipped(a_csv=TABLE, b_csv=TABLE), "Expected one table in t, got 2 files"),
        (zipped(a_csv=TABLE)[:40], "Expected a zip file in t"),
        (b'{"day": 1}\n{"day":\n', "Expected one JSON object per line in t"),
        (b'[{"day": 1}, 2]', "a row is no object"),
        (b"ARROW1\x00\x00cut", "Expected a Feather file in t"),
        (lzma.compress(TABLE.encode())[:-9], "Expected a table compressed by xz"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "t is older; save it as .xlsx, or as CSV"),
    ],
    ids=["gzip", "two tables", "zip", "JSON", "a number", "Feather", "xz", "old workbook"],
)
def test_what_is_damaged_gets_a_sentence(content, sentence):
    with pytest.raises(TableError, match=sentence):
        parse_table(content, "t")


def test_a_workbook_is_read_by_its_first_sheet():
    content = zipped(**{"xl/workbook.xml": ""})
    if importlib.util.find_spec("openpyxl") is None:
        with pytest.raises(MissingExtraError, match=r"pip install .*\[excel\]'"):
            parse_table(content, "t.xlsx")
        return
    book = io.BytesIO()
    with pd.ExcelWriter(book, engine="openpyxl") as writer:
        for sheet in ("one", "two"):
            pd.read_csv(io.StringIO(TABLE)).to_excel(writer, sheet_name=sheet, index=False)
    with pytest.warns(ConvCNPWarning, match="2 sheets; the first, 'one', is read"):
        frame = parse_table(book.getvalue(), "t.xlsx").frame
    pd.testing.assert_frame_equal(frame, pd.read_csv(io.StringIO(TABLE)))


@pytest.mark.parametrize("kind", ["gz", "zip"])
def test_what_unpacks_to_more_than_a_table_is_refused(kind, tmp_path, monkeypatch):
    monkeypatch.setattr("convcnp.frames.reading.MOST_BYTES", 1000)
    path = tmp_path / f"zeros.{kind}"
    if kind == "gz":
        path.write_bytes(gzip.compress(bytes(10_000)))
    else:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("zeros.csv", bytes(10_000))
    with pytest.raises(TableError, match="at most 1,000 bytes"):
        read_table(path)


def test_na_is_a_word_among_words_and_nothing_among_numbers():
    frame = parse_table(b"code,v,note\nNA,1,\nNA,NA,x\nZA,3,\n", "t.csv").frame
    assert frame["code"].tolist() == ["NA", "NA", "ZA"]
    assert frame["v"].isna().tolist() == [False, True, False]
    assert frame["note"].isna().tolist() == [True, False, True]


def test_a_first_row_of_a_date_a_number_and_a_remark_is_no_header():
    frame = parse_table(b"2020-01-01,3,good\n2020-01-02,4,NA\n2020-01-03,5,\n", "t.csv").frame
    assert frame["value1"].tolist() == [3, 4, 5]
    assert frame["value2"].tolist()[:2] == ["good", "NA"]


def test_a_name_of_several_lines_is_put_into_one():
    frame = parse_table(b'day,"level\nin cm"\n1,5\n2,6\n', "t.csv").frame
    assert list(frame) == ["day", "level in cm"]
