"""What is installed: the hash in `hello`, which says whether requirements can matter."""

import pytest

from unflake_agent.dependencies.installed import installed


@pytest.fixture
def packages(tmp_path, monkeypatch):
    directory = tmp_path / "lib" / "site-packages"
    (directory / "shop-1.dist-info").mkdir(parents=True)
    (directory / "shop-1.dist-info" / "RECORD").write_text("shop.py,sha256=1,1\n")
    (directory / "shop.pth").write_text("/home/ann/shop/src\n")
    monkeypatch.syspath_prepend(str(directory))
    for name in ("TOX_ENV_NAME", "TOX_ENV_DIR", "NOX_CURRENT_SESSION", "HATCH_ENV_ACTIVE", "PDM_RUN_CWD", "POE_ROOT"):
        monkeypatch.delenv(name, raising=False)
    return directory


CHANGES = {
    "another build of the same version": lambda at: (at / "shop-1.dist-info" / "RECORD").write_text("shop.py,sha256=2,1\n"),
    "another version": lambda at: (at / "shop-1.dist-info").rename(at / "shop-2.dist-info"),
    "one more": lambda at: (at / "till-1.dist-info").mkdir(),
    "a module without a distribution": lambda at: (at / "till.py").write_text(""),
    "the place of an editable install": lambda at: (at / "shop.pth").write_text("/home/ann/till/src\n"),
    "an entry point": lambda at: (at / "shop-1.dist-info" / "entry_points.txt").write_text("[pytest11]\nshop = shop\n"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_what_is_installed_changes_the_hash(packages, change):
    before = installed("")
    assert before is not None and before == installed("")
    change(packages)
    assert installed("") != before


def test_what_runs_changes_nothing(packages, tmp_path, monkeypatch):
    before = installed("")
    (packages / "__pycache__").mkdir()
    (tmp_path / "src").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path / "src"))
    assert installed("") == before


def test_a_tool_that_started_the_runner_may_install_more(packages, monkeypatch):
    monkeypatch.setenv("TOX_ENV_NAME", "py")
    assert installed("") is None
