"""The lock file: every version with hashes."""

from tools import lock

from helpers import ROOT


def test_every_pinned_version_has_hashes():
    text = (ROOT / "requirements.lock").read_text().replace(" \\\n", " ")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert len(lines) > 50
    for line in lines:
        assert "==" in line.split()[0]
        assert "--hash=sha256:" in line


def test_a_requirement_is_written_with_its_hashes():
    report = {
        "install": [
            {
                "metadata": {"name": "Some_Package"},
                "download_info": {"archive_info": {"hashes": {"sha256": "aa"}}},
            }
        ]
    }
    here = lock.hashes_here(report)
    assert here == {"some-package": {"aa"}}
    assert lock.locked("Some_Package==1", {"bb", "aa"}) == (
        "Some_Package==1 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n"
    )


def test_the_hashes_of_one_version_are_found_on_a_page():
    page = "".join(
        f'<a href="https://files/{name}#sha256={digit * 64}" data-x="1">{name}</a><br/>'
        for digit, name in [
            ("a", "some_package-1.0-py3-none-any.whl"),
            ("b", "some_package-1.0.tar.gz"),
            ("c", "some_package-1.0.1.tar.gz"),
            ("d", "some_package-11.0-py3-none-any.whl"),
        ]
    )
    assert lock.hashes_in(page, "1.0") == {64 * "a", 64 * "b"}
