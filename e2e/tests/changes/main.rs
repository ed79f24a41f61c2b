//! Whether a change can have caused a failure: every way to depend on something, against every way to change it. No case
//! may ever be called unaffected that is not.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use e2e::Story;
use serde::Deserialize;

mod stories;

#[derive(Deserialize)]
struct Cases {
    case: Vec<Case>,
}

/// A project with one test, which passes with the files of the base, and fails in a bad world whatever the files are.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    /// The body of the test, or with `top` before it the beginning of its file.
    test: String,
    #[serde(default)]
    top: String,
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    links: BTreeMap<String, String>,
    /// Programs that make files which no commit has, each in the words of a command.
    #[serde(default)]
    make: Vec<String>,
    change: Change,
    #[serde(default)]
    options: String,
    expect: String,
    /// The changed path that is to be told first.
    touched: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Change {
    write: BTreeMap<String, String>,
    delete: Vec<String>,
    rename: BTreeMap<String, String>,
    link: BTreeMap<String, String>,
    executable: Vec<String>,
    /// Changes are in the index, or on a branch of their own, and not only in the working tree.
    staged: bool,
    committed: bool,
}

impl Case {
    fn test_file(&self) -> String {
        let body: String = self.test.lines().map(|line| format!("    {line}\n")).collect();
        format!("import os\n{}\n\ndef test_it():\n{body}    assert os.environ.get('WORLD') != 'bad'\n", self.top)
    }
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn git(story: &Story, words: &[&str]) {
    let mut git = story.command("git");
    git.args(["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "init.defaultBranch=main"]).args(words);
    let output = git.output().expect("git is there");
    assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn apply(story: &Story, change: &Change) {
    let root = story.project();
    if change.committed {
        git(story, &["checkout", "-q", "-b", "topic"]);
    }
    for (path, text) in &change.write {
        write(&root, path, text);
    }
    for path in &change.delete {
        fs::remove_file(root.join(path)).unwrap();
    }
    for (from, to) in &change.rename {
        fs::create_dir_all(root.join(to).parent().unwrap()).unwrap();
        fs::rename(root.join(from), root.join(to)).unwrap();
    }
    for (path, target) in &change.link {
        let _ = fs::remove_file(root.join(path));
        symlink(target, root.join(path)).unwrap();
    }
    for path in &change.executable {
        fs::set_permissions(root.join(path), fs::Permissions::from_mode(0o755)).unwrap();
    }
    if change.staged || change.committed {
        git(story, &["add", "-A"]);
    }
    if change.committed {
        git(story, &["commit", "-qm", "a change"]);
    }
}

/// What is wrong with the answer to a case, if anything is.
fn examine(case: &Case) -> Option<String> {
    let story = Story::new();
    let root = story.project();
    write(&root, ".gitignore", "__pycache__/\n.pytest_cache/\n/made/\n");
    write(&root, "tests/test_it.py", &case.test_file());
    write(&root, "other.py", "VALUE = 1\n");
    for (path, text) in &case.files {
        write(&root, path, text);
    }
    for (path, target) in &case.links {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        symlink(target, root.join(path)).unwrap();
    }
    for line in &case.make {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert!(story.command(words[0]).args(&words[1..]).status().unwrap().success(), "{line}");
    }
    git(&story, &["init", "-q"]);
    git(&story, &["add", "-A"]);
    git(&story, &["commit", "-qm", "base"]);
    let command = "python -m pytest -q -p no:cacheprovider";
    let base = story.run(&case.options, command);
    if base.code != 0 {
        return Some(format!("it does not pass at the base:\n{}", base.stdout));
    }
    apply(&story, &case.change);
    let ran = story.running(&case.options, command).env("WORLD", "bad").end();
    let found = |technique: &str| {
        ran.list("findings")
            .iter()
            .find(|one| one["test"] == "tests/test_it.py::test_it" && one["technique"] == technique)
    };
    let (Some(intersect), Some(verdict)) = (found("intersect"), found("verdict")) else {
        return Some(format!("no finding:\n{}", ran.stdout));
    };
    let kind = intersect["kind"].as_str().unwrap_or_default();
    let excused = verdict["kind"] == "unaffected-by-change";
    let told = intersect["touched"][0]["path"].as_str().unwrap_or_default();
    let right = kind == case.expect
        && excused == (kind == "unaffected")
        && case.touched.as_deref().is_none_or(|touched| touched == told);
    (!right).then(|| format!("expected {}, found\n{intersect:#}\n{verdict:#}", case.expect))
}

#[test]
fn every_way_to_depend_meets_every_way_to_change() {
    let cases: Cases = toml::from_str(include_str!("cases.toml")).unwrap();
    let only = std::env::var("UNFLAKE_SPECIMENS").unwrap_or_default();
    let cases: Vec<Case> = cases.case.into_iter().filter(|case| case.name.contains(&only)).collect();
    assert!(cases.len() >= 40 || !only.is_empty(), "{} cases", cases.len());
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let workers = thread::available_parallelism().map_or(2, |cores| cores.get());
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Some(why) = examine(case) {
                        wrong.lock().unwrap().push(format!("=== {}\n{why}", case.name));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
