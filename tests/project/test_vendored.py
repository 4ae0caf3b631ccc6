"""What is vendored is what its authors published: the hashes are those of the npm package."""

import hashlib
import json

from tests.helpers import ROOT

VENDOR = ROOT / "src/convcnp/app/static/vendor"


def test_vendored_files_are_unchanged_and_come_with_their_licence():
    hashes = {}
    for about in json.loads((VENDOR / "vendored.json").read_text()).values():
        assert about["integrity"].startswith("sha512-")
        hashes |= about["sha256"]
        assert any("LICENSE" in name for name in about["sha256"])
    files = {p for p in VENDOR.rglob("*") if p.is_file() and p.name != "vendored.json"}
    assert {str(p.relative_to(VENDOR)) for p in files} == set(hashes)
    for path in files:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        assert found == hashes[str(path.relative_to(VENDOR))], path
