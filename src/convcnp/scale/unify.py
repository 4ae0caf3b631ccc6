"""One type of time in all files of a folder: buckets may have found different ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from convcnp.extras import import_extra
from convcnp.storage import write_together


def unify_types(paths: Sequence[Path]) -> None:
    """Write files anew whose columns have another type than those of others.

    Whole times stay whole where they all are, as in one table; where one bucket was asked for times
    between whole ones, all become floating-point numbers. Dates take the finest resolution.
    """
    arrow = import_extra("pyarrow", "parquet")
    parquet = import_extra("pyarrow.parquet", "parquet")
    schemas = {path: parquet.read_schema(path) for path in paths if path.exists()}
    types = [{field.name: field.type for field in schema} for schema in schemas.values()]
    if all(found == types[0] for found in types):
        return
    common = arrow.unify_schemas(
        [schema.remove_metadata() for schema in schemas.values()], promote_options="permissive"
    )
    for path, found in zip(schemas, types, strict=True):
        if found != {field.name: field.type for field in common}:
            _write_as(path, common, arrow, parquet)


def _write_as(path: Path, schema: Any, arrow: Any, parquet: Any) -> None:  # noqa: ANN401 - pyarrow's
    table = parquet.read_table(path)
    columns = [table[field.name].cast(field.type) for field in schema]
    frame = arrow.Table.from_arrays(columns, names=schema.names).to_pandas()
    write_together({path: frame.to_parquet(index=False)})
