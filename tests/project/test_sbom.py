"""What the project is made of."""

import sys

from tools import sbom


def test_the_bill_names_every_package_once_and_what_it_needs():
    bill = sbom.bill()
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    references = [part["bom-ref"] for part in bill["components"]]
    assert len(set(references)) == len(references) > 10
    ours = bill["metadata"]["component"]["bom-ref"]
    known = {*references, ours}
    needed = {one["ref"]: one["dependsOn"] for one in bill["dependencies"]}
    assert needed.keys() == known
    assert any(reference.startswith("pkg:pypi/torch@") for reference in needed[ours])
    assert all(set(wanted) <= known for wanted in needed.values())
    assert sbom.bill() == bill


def test_licences_are_said_and_files_written(tmp_path, monkeypatch):
    found = {name: licence for name, _, licence in sbom.licences()}
    assert "BSD" in found["torch"]
    assert sum(licence == "unknown" for licence in found.values()) < 0.1 * len(found)
    out, table = tmp_path / "sbom.json", tmp_path / "licences.csv"
    monkeypatch.setattr(sys, "argv", ["sbom", "--out", str(out), "--licences", str(table)])
    sbom.main()
    assert out.read_text().startswith("{")
    assert table.read_text().startswith("name,version,licence\n")
