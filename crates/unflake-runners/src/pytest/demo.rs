//! The sample project of `unflake demo`: a little shop, tested with pytest in a virtual environment.

use crate::runner::{Demo, SetUpStep};

pub(super) static DEMO: Demo = Demo {
    files: &[
        ("pyproject.toml", include_str!("sample/pyproject.toml")),
        ("shop/__init__.py", include_str!("sample/shop/__init__.py")),
        ("shop/admin.py", include_str!("sample/shop/admin.py")),
        ("shop/cache.py", include_str!("sample/shop/cache.py")),
        ("shop/cart.py", include_str!("sample/shop/cart.py")),
        ("shop/mail.py", include_str!("sample/shop/mail.py")),
        ("shop/stock.py", include_str!("sample/shop/stock.py")),
        ("shop/tax.py", include_str!("sample/shop/tax.py")),
        ("tests/conftest.py", include_str!("sample/tests/conftest.py")),
        ("tests/next_seed", include_str!("sample/tests/next_seed")),
        ("tests/test_admin.py", include_str!("sample/tests/test_admin.py")),
        ("tests/test_cache.py", include_str!("sample/tests/test_cache.py")),
        ("tests/test_cart.py", include_str!("sample/tests/test_cart.py")),
        ("tests/test_checkout.py", include_str!("sample/tests/test_checkout.py")),
        ("tests/test_mail.py", include_str!("sample/tests/test_mail.py")),
        ("tests/test_stock.py", include_str!("sample/tests/test_stock.py")),
    ],
    introduction: "  A small shop, its tests, and a virtual environment with pytest (takes a few seconds) …",
    set_up: &[
        SetUpStep {
            program: "{program}",
            arguments: &["-m", "venv", ".venv"],
            hint: "the demo needs Python 3.8 or later with venv; name another one with --python",
        },
        SetUpStep {
            program: ".venv/bin/python",
            arguments: &["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pytest"],
            hint: "the demo installs pytest from the package index; is it reachable?",
        },
    ],
    programs: ".venv/bin",
    command: &["pytest"],
    unset: &["PYTEST_ADDOPTS"],
    afterword: "
  What you have seen: the suite ran once, as pytest runs it. Each failing test was then run
  again at once, after the whole suite, and in a fresh environment, until it passed. Where it
  first passed says what kind of flaky it is, once a fresh environment has shown that it does
  not just fail the first time in every process; what never passed is real. A build server
  gets exit code 1, for the real failure alone.

  Before you use it:     unflake doctor
  On your own project:   unflake run -- pytest tests/",
};

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn the_whole_sample_is_packed() {
        fn walk(directory: &Path, found: &mut Vec<String>, top: &Path) {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_str().unwrap();
                if path.is_dir() && !name.starts_with('.') && name != "__pycache__" {
                    walk(&path, found, top);
                } else if path.is_file() {
                    found.push(path.strip_prefix(top).unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/pytest/sample");
        let mut there = Vec::new();
        walk(&top, &mut there, &top);
        there.sort();
        assert_eq!(DEMO.files.iter().map(|(name, _)| *name).collect::<Vec<_>>(), there);
    }
}
