"""The same functions in Spark, as the documentation shows it."""

import json
import shutil
import sys
from collections.abc import Iterator

import pytest
from conftest import session

pytest.importorskip("pyspark")
if shutil.which("java") is None:
    pytest.skip("Spark needs Java", allow_module_level=True)

import pyarrow as pa
from codelet.arrow import compact_batch
from pyspark import cloudpickle
from pyspark.sql import SparkSession

BUDGET = 4_000


def compact(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    schema = pa.schema({"id": pa.int64(), "compacted": pa.string(), "error": pa.string()})
    for batch in batches:
        yield compact_batch(batch, budget=4_000, threads=1).select(schema.names).cast(schema)


def test_rows_come_out_as_they_do_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    # As with a function of a script: the workers do not find this file by its name.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1").getOrCreate()
    try:
        texts = [json.dumps(session(30 + at % 3)) for at in range(8)]
        texts[5] = "no conversation"
        rows = spark.createDataFrame(list(enumerate(texts)), "id long, messages string").repartition(2)
        found = {row["id"]: row for row in rows.mapInArrow(compact, "id long, compacted string, error string").collect()}
    finally:
        spark.stop()
    expected = compact_batch(pa.table({"id": range(8), "messages": texts}), budget=BUDGET).to_pylist()
    assert {at: (row["compacted"], row["error"]) for at, row in found.items()} == {
        row["id"]: (row["compacted"], row["error"]) for row in expected
    }
