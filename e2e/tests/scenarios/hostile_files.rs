//! Files that somebody else may have put in unflake's way: in its cache, as its history, in reports.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use e2e::Sandbox;

/// Every file below a directory with this name.
fn named(directory: &Path, name: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let found = entries.flat_map(|path| {
        let below = if path.is_dir() { named(&path, name) } else { Vec::new() };
        below.into_iter().chain(path.file_name().is_some_and(|one| one == name).then_some(path))
    });
    found.collect()
}

// -- The cache ------------------------------------------------------------------------------------

#[test]
fn foreign_files_in_the_cache_are_not_loaded() {
    let sandbox = Sandbox::with_tests("def test_a(): pass\n");
    let cache = sandbox.root().join("cache");
    let run = || sandbox.run_invocation("", "pytest").env("XDG_CACHE_HOME", &cache).finish().expect_exit(0);
    run();
    assert_eq!(fs::metadata(cache.join("unflake")).unwrap().permissions().mode() & 0o777, 0o700);
    let [agent] = &named(&cache, "unflake_agent")[..] else { panic!("there is one agent") };
    let planted = agent.with_file_name("sitecustomize.py");
    fs::write(&planted, format!("open({:?}, 'w')\n", sandbox.root().join("loaded"))).unwrap();
    run();
    assert!(!planted.exists() && !sandbox.root().join("loaded").exists());
}

#[test]
fn a_cache_that_others_can_replace_is_not_used() {
    let sandbox = Sandbox::with_tests("def test_a(): pass\n");
    let cache = sandbox.root().join("cache");
    fs::create_dir(&cache).unwrap();
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o777)).unwrap();
    sandbox.run_invocation("", "pytest").env("XDG_CACHE_HOME", &cache).finish().expect_exit(0);
    assert_eq!(named(&cache, "unflake_agent"), Vec::<PathBuf>::new());
}
