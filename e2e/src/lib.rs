//! What the end-to-end tests share: sandboxes, the real `unflake` binary run in them, and the check
//! that nothing is left behind.

mod built_specimen;
mod mount;
mod postgres;
mod printed_command;
mod reapi;
mod restricted;
mod run_output;
mod running_process;
mod sample_projects;
mod sandbox;
mod slurm;
mod specimen_paths;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

pub use built_specimen::built;
pub use mount::Mount;
pub use postgres::{Pooler, PostgresServer, pooler, server};
pub use printed_command::{Pasted, PrintedCommand};
pub use reapi::{ReapiServer, reapi};
pub use run_output::RunOutput;
pub use running_process::RunningProcess;
pub use sample_projects::{flaky, shop};
pub use sandbox::{Invocation, Sandbox};
pub use slurm::{SlurmCluster, slurm};
pub use specimen_paths::specimen_paths;

/// The one time limit of the end-to-end tests: whatever takes this long hangs. It is far above what
/// a busy machine needs, so that no outcome depends on speed.
pub const HANG: Duration = Duration::from_secs(600);

/// The root of the repository.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("e2e is in the repository")
}

/// The real binary, built from the current sources. `cargo test` does not build it for another
/// package.
pub fn unflake() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let test_binary = std::env::current_exe().expect("a test knows its own path");
        // target/debug/deps/specimens-0123456789abcdef
        let profile = test_binary.ancestors().nth(2).expect("tests are below the target directory");
        let target = profile.parent().expect("profiles are below the target directory");
        let mut cargo = Command::new(env!("CARGO"));
        if cfg!(clippy) {
            // Compiled as the tests are, or cargo compiles every crate a second time.
            let wrapper = Path::new(env!("CARGO")).with_file_name("clippy-driver");
            cargo.arg("--config").arg(format!("build.rustc-workspace-wrapper='{}'", wrapper.display()));
            cargo.env("CLIPPY_ARGS", option_env!("CLIPPY_ARGS").unwrap_or_default());
        }
        // The features of dependencies follow from what is selected, dev-dependencies included: a
        // test and the whole workspace select what `./test` has built already.
        cargo.args(["build", "--quiet", "--workspace", "--bin", "unflake", "--test", "tidy", "--target-dir"]);
        cargo.arg(target).current_dir(repository());
        // It may be set for this test binary, to report times; it would compile every crate again.
        cargo.env_remove("RUSTC_BOOTSTRAP");
        // Cargo sets these for a test binary. Build scripts of dependencies would run again for them.
        let of_cargo = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(of_cargo)) {
            cargo.env_remove(name);
        }
        if profile.ends_with("release") {
            cargo.arg("--release");
        }
        assert!(cargo.status().expect("cargo can be started").success(), "unflake could not be built");
        profile.join("unflake")
    })
}

/// The Python with pytest that the tests use.
pub fn python() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| python_of("e2e"))
}

/// A Python with pytest-xdist and pytest-cov, which slow every start of pytest.
pub fn python_with_plugins() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| python_of("e2e-plugins"))
}

fn python_of(environment: &str) -> PathBuf {
    let named = std::env::var_os("UNFLAKE_TEST_PYTHON").map(PathBuf::from);
    let python = named.unwrap_or_else(|| repository().join(".venvs").join(environment).join("bin/python"));
    assert!(
        python.is_file(),
        "{} does not exist. Run `python3 e2e/setup.py` once, or set UNFLAKE_TEST_PYTHON to a Python with pytest.",
        python.display()
    );
    python
}

/// `pytest` in a command line of a specimen stands for this command.
pub fn pytest() -> [&'static str; 3] {
    [python().to_str().expect("the path of the Python is Unicode"), "-m", "pytest"]
}

/// The cache directory of all sandboxes, kept between test runs: unflake unpacks and compiles its
/// agents once.
pub fn cache() -> PathBuf {
    unflake().parent().and_then(Path::parent).expect("it is in a target directory").join("tmp/cache")
}

/// The scripted agent.
pub fn fake_agent() -> PathBuf {
    repository().join("agents/fake/fake_agent.py")
}
