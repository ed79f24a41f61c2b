//! Files that another user may have placed: in its cache, as its history, in reports.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use e2e::{Sandbox, unflake};

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

// -- The history ----------------------------------------------------------------------------------

/// Creates a database of another program at this path.
fn other_database(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    rusqlite::Connection::open(path).unwrap().execute_batch("CREATE TABLE bookmark (url TEXT)").unwrap();
}

/// A run and a reading command refuse the history and leave this file as it is.
#[track_caller]
fn check_refused(sandbox: &Sandbox, file: &Path, why: &str) {
    let before = fs::read(file).unwrap();
    for arguments in [&["run", "--", "pytest"][..], &["history", "show"]] {
        let result = sandbox.unflake(arguments).finish().expect_exit(70);
        let error = format!(
            "error: the history in [PLACE]/project/.unflake/history.db was left as it is: {why}\n\
             hint: move it away to begin a new history, or choose another directory with `--store`"
        );
        assert_eq!(sandbox.redact(&result.stderr), error);
    }
    assert_eq!(fs::read(file).unwrap(), before);
}

#[test]
fn a_history_that_is_a_link_is_refused() {
    let sandbox = Sandbox::with_tests("def test_a(): pass\n");
    let target = sandbox.root().join("bookmarks.db");
    other_database(&target);
    fs::create_dir(sandbox.project().join(".unflake")).unwrap();
    symlink(&target, sandbox.project().join(".unflake/history.db")).unwrap();
    check_refused(&sandbox, &target, "[PLACE]/project/.unflake/history.db is a symbolic link");
}

#[test]
fn a_history_beside_a_link_is_refused() {
    let sandbox = Sandbox::with_tests("def test_a(): pass\n");
    sandbox.run("", "pytest").expect_exit(0);
    let target = sandbox.root().join("precious");
    fs::write(&target, "text").unwrap();
    let log = sandbox.project().join(".unflake/history.db-wal");
    fs::remove_file(&log).unwrap();
    symlink(&target, log).unwrap();
    check_refused(&sandbox, &target, "[PLACE]/project/.unflake/history.db-wal is a symbolic link");
}

#[test]
fn a_database_of_another_program_is_refused() {
    let sandbox = Sandbox::with_tests("def test_a(): pass\n");
    let file = sandbox.project().join(".unflake/history.db");
    other_database(&file);
    check_refused(&sandbox, &file, "it is a database of another program");
}

#[test]
fn a_limit_on_file_sizes_costs_only_the_history() {
    let tests = "import pytest\n@pytest.mark.parametrize('n', range(3000))\ndef test_a(n): assert n != 2000\n";
    let sandbox = Sandbox::with_tests(tests);
    let mut shell = sandbox.command("sh");
    // In blocks of 512 bytes.
    shell.args(["-c", "ulimit -f 400; exec \"$0\" \"$@\"", unflake().to_str().unwrap()]);
    let output = shell.args(["run", "--", "pytest", "-q"]).output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stdout}");
    assert!(stdout.starts_with("3000 tests, 1 real failure"), "{stdout}");
    assert!(stdout.contains("cannot grow"), "{stdout}");
    let database = rusqlite::Connection::open(sandbox.project().join(".unflake/history.db")).unwrap();
    let checked: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(checked, "ok");
}

// -- Reports --------------------------------------------------------------------------------------

#[test]
fn reports_in_utf_16_and_tests_within_tests_are_imported() {
    let report = "<?xml version='1.0' encoding='UTF-16'?><testsuite timestamp='2026-11-15T10:00:00'>\
                  <testcase classname='maße' name='a'><testcase classname='maße' name='b'><failure/></testcase>\
                  </testcase></testsuite>";
    let units = || report.encode_utf16().flat_map(u16::to_le_bytes);
    let marked: Vec<u8> = [0xff, 0xfe].into_iter().chain(units()).collect();
    for bytes in [marked, units().collect()] {
        let sandbox = Sandbox::new().file("report.xml", bytes);
        let result = sandbox.unflake(["history", "import", "report.xml"]).finish().expect_exit(0);
        assert!(result.stdout.contains("1 report read, 2 results, 1 failed"), "{}", result.stdout);
        let result = sandbox.unflake(["history", "show", "b"]).finish().expect_exit(0);
        assert!(result.stdout.contains("maße"), "{}", result.stdout);
    }
}
