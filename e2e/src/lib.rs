//! What the stories in `tests/` share: a project in a temporary directory, the real `unflake` run in it, and the
//! certainty that nothing of it is left behind.

mod mount;
mod postgres;
mod projects;
mod ran;
mod running;
mod specimens;
mod story;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

pub use mount::Mount;
pub use postgres::{Server, server};
pub use projects::{flaky, shop};
pub use ran::Ran;
pub use running::Running;
pub use specimens::{Examined, built, in_every_run, specimens};
pub use story::{Call, Story};

/// The top of the repository.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("e2e is in the repository")
}

/// The real binary, as it is built from the sources of this moment. `cargo test` does not build it for another package.
pub fn unflake() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let myself = std::env::current_exe().expect("a test knows its own path");
        // target/debug/deps/specimens-0123456789abcdef
        let profile = myself.ancestors().nth(2).expect("tests are below the target directory");
        let target = profile.parent().expect("profiles are below the target directory");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--package", "unflake", "--target-dir"]).arg(target).current_dir(repository());
        if profile.ends_with("release") {
            cargo.arg("--release");
        }
        assert!(cargo.status().expect("cargo can be started").success(), "unflake could not be built");
        profile.join("unflake")
    })
}

/// The Python with pytest that the stories use.
pub fn python() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| {
        let named = std::env::var_os("UNFLAKE_TEST_PYTHON").map(PathBuf::from);
        let python = named.unwrap_or_else(|| repository().join(".venvs/e2e/bin/python"));
        assert!(
            python.is_file(),
            "{} is not there. Run `python3 e2e/setup.py` once, or name a Python with pytest in UNFLAKE_TEST_PYTHON.",
            python.display()
        );
        python
    })
}

/// The scripted agent.
pub fn fake_agent() -> PathBuf {
    repository().join("agents/fake/fake_agent.py")
}
