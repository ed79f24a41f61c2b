//! Change impact: every kind of dependency against every kind of change, one test per case of the
//! files in `specimens/change_impact/python`. No test may be called unaffected that is affected.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use e2e::{Sandbox, repository};
use libtest_mimic::Trial;
use serde::Deserialize;

use crate::{Differences, in_every_run};

#[derive(Deserialize)]
struct CaseFile {
    case: Vec<ChangeCase>,
}

/// A project with one test, which passes at the base and fails with `WORLD=bad` whatever the files
/// are.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangeCase {
    name: String,
    /// The body of the test.
    test: String,
    /// The code above the test.
    #[serde(default)]
    top: String,
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    links: BTreeMap<String, String>,
    /// Commands that create files which are not committed.
    #[serde(default)]
    make: Vec<String>,
    change: Change,
    #[serde(default)]
    options: String,
    expect: String,
    /// The changed path that must be reported first.
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
    /// The change is in the index.
    staged: bool,
    /// The change is a commit on a branch.
    committed: bool,
}

/// One test per case, named after it.
pub(crate) fn trials() -> Vec<Trial> {
    let files = fs::read_dir(repository().join("specimens/change_impact/python")).unwrap();
    let paths = files.map(|file| file.unwrap().path()).filter(|path| path.extension().is_some_and(|end| end == "toml"));
    let read = |path| toml::from_str::<CaseFile>(&fs::read_to_string(path).unwrap()).unwrap().case;
    let cases: Vec<ChangeCase> = paths.flat_map(read).collect();
    assert!(cases.len() >= 150, "{} cases", cases.len());
    let trial = |case: ChangeCase| {
        let name = format!("change_impact::python::{}", identifier(&case.name));
        Trial::test(name, move || in_every_run(None, || examine(&case)))
    };
    cases.into_iter().map(trial).collect()
}

fn identifier(name: &str) -> String {
    let words = name.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_").to_lowercase()
}

impl ChangeCase {
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

fn apply(sandbox: &Sandbox, change: &Change) {
    let root = sandbox.project();
    if change.committed {
        sandbox.git(&["checkout", "-q", "-b", "topic"]);
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
        sandbox.git(&["add", "-A"]);
    }
    if change.committed {
        sandbox.git(&["commit", "-qm", "a change"]);
    }
}

fn examine(case: &ChangeCase) -> Differences {
    let sandbox = Sandbox::new();
    let root = sandbox.project();
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
        assert!(sandbox.command(words[0]).args(&words[1..]).status().unwrap().success(), "{line}");
    }
    sandbox.commit("base");
    let command = "python -m pytest -q -p no:cacheprovider";
    let base = sandbox.run(&case.options, command);
    if base.code != 0 {
        return vec![format!("it does not pass at the base:\n{}", base.stdout)];
    }
    apply(&sandbox, &case.change);
    let result = sandbox.run_invocation(&case.options, command).env("WORLD", "bad").finish();
    let found = |technique: &str| {
        result
            .list("findings")
            .iter()
            .find(|one| one["test"] == "tests/test_it.py::test_it" && one["technique"] == technique)
    };
    let (Some(intersect), Some(verdict)) = (found("intersect"), found("verdict")) else {
        return vec![format!("no finding:\n{}", result.stdout)];
    };
    let kind = intersect["kind"].as_str().unwrap_or_default();
    let excused = verdict["kind"] == "unaffected-by-change";
    let first = intersect["touched"][0]["path"].as_str().unwrap_or_default();
    let right = kind == case.expect
        && excused == (kind == "unaffected")
        && case.touched.as_deref().is_none_or(|touched| touched == first);
    let difference = || format!("expected {}, found\n{intersect:#}\n{verdict:#}", case.expect);
    if right { Vec::new() } else { vec![difference()] }
}
