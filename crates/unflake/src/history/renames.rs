//! Detects renamed tests: one that appears when another with the same code disappears. Ambiguous
//! cases are no rename.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use unflake_model::{Test, TestId};
use unflake_source::python::function_hashes;
use unflake_store::{RunId, Store, StoreError, TestRename};

use crate::config::project;
use crate::hash;

/// The source files of tests: each is read once, and parsed only where its functions are needed.
pub(crate) struct TestSources {
    roots: [PathBuf; 2],
    texts: RefCell<HashMap<String, Option<Rc<str>>>>,
    /// The hashes of the functions of a file. None: it cannot be parsed.
    functions: RefCell<HashMap<String, Option<Functions>>>,
}

type Functions = HashMap<String, Option<String>>;

/// The parts of an id such as `tests/test_a.py::TestIt::test_total[2]`: the file, the function, and
/// the rest.
fn parts(test: &TestId) -> Option<(&str, &str, &str)> {
    let (file, name) = test.as_str().split_once("::").filter(|(file, _)| file.ends_with(".py"))?;
    let (name, rest) = name.split_at(name.find('[').unwrap_or(name.len()));
    Some((file, name, rest))
}

impl TestSources {
    pub(crate) fn new(here: &Path) -> Self {
        let roots = [here.to_owned(), project::find(here)];
        Self { roots, texts: RefCell::default(), functions: RefCell::default() }
    }

    fn text(&self, file: &str) -> Option<Rc<str>> {
        let read = || self.roots.iter().find_map(|root| fs::read_to_string(root.join(file)).ok());
        self.texts.borrow_mut().entry(file.to_owned()).or_insert_with(|| read().map(Rc::from)).clone()
    }

    fn look_up<T>(&self, file: &str, read_in: impl FnOnce(&Functions) -> T) -> Option<T> {
        let parsed = || self.text(file).map_or(Some(HashMap::new()), |text| function_hashes(&text));
        self.functions.borrow_mut().entry(file.to_owned()).or_insert_with(parsed).as_ref().map(read_in)
    }

    /// The hash of a test's code. None where it is unknown, or too short to identify a test.
    fn body(&self, test: &TestId) -> Option<String> {
        let (file, name, _) = parts(test)?;
        self.look_up(file, |functions| functions.get(name).cloned().flatten())?
    }

    /// The files of these tests that differ from the stored hashes, each with its hash.
    fn changed_files(&self, tests: &[Test], stored: &HashMap<String, String>) -> HashMap<String, String> {
        let files: HashSet<&str> = tests.iter().filter_map(|test| Some(parts(&test.id)?.0)).collect();
        files
            .into_iter()
            .filter_map(|file| Some((file.to_owned(), hash::hex(self.text(file)?.as_bytes()))))
            .filter(|(file, hash)| stored.get(file) != Some(hash))
            .collect()
    }

    /// Whether a test is not in the sources any more. One that the command deselects still is.
    fn is_gone(&self, test: &TestId) -> bool {
        parts(test)
            .is_some_and(|(file, name, _)| self.look_up(file, |functions| !functions.contains_key(name)) == Some(true))
    }
}

/// Whether the code of any of these tests can be looked up.
pub(crate) fn may_know(tests: &[Test]) -> bool {
    tests.iter().any(|test| parts(&test.id).is_some())
}

/// Stores the hashes of the listed tests' code, and which of them are renamed. `before`: the tests
/// that the history knew before.
pub(crate) fn keep(
    store: &mut Store,
    run: RunId,
    tests: &[Test],
    before: &HashSet<TestId>,
    sources: &TestSources,
) -> Result<(), StoreError> {
    let last = store.bodies()?;
    let files = sources.changed_files(tests, &store.test_files()?);
    // Tests that are known keep their hash as long as their file stays the same.
    let body = |test: &TestId| match before.contains(test) && !files.contains_key(parts(test)?.0) {
        true => last.get(test).cloned(),
        false => sources.body(test),
    };
    let now: Vec<(TestId, String)> = tests.iter().filter_map(|test| Some((test.id.clone(), body(&test.id)?))).collect();
    let listed: HashSet<&TestId> = tests.iter().map(|test| &test.id).collect();
    let mut renamed = revised(&store.renames()?, &listed, &|test| sources.is_gone(test));
    renamed.extend(find(&now, before, &last, &|test| !listed.contains(test) && sources.is_gone(test)));
    let changed: Vec<_> = now.into_iter().filter(|(test, hash)| last.get(test) != Some(hash)).collect();
    store.keep_bodies(run, &files.into_iter().collect::<Vec<_>>(), &changed, &renamed)
}

/// Each new test with the one that it replaces.
fn find(
    now: &[(TestId, String)],
    before: &HashSet<TestId>,
    last: &HashMap<TestId, String>,
    is_gone: &dyn Fn(&TestId) -> bool,
) -> Vec<TestRename> {
    /// Tests with the same code and the same parameters.
    #[derive(Default)]
    struct Alike<'a> {
        new: Vec<&'a TestId>,
        old: Vec<&'a TestId>,
        others: usize,
    }
    let mut all: HashMap<(&str, &str), Alike> = HashMap::new();
    let rest = |test: &'_ TestId| parts(test).map_or(0, |(_, _, rest)| rest.len());
    for (test, hash) in now {
        let name = test.as_str();
        let alike = all.entry((hash, &name[name.len() - rest(test)..])).or_default();
        if before.contains(test) { alike.others += 1 } else { alike.new.push(test) }
    }
    all.retain(|_, alike| !alike.new.is_empty());
    for (test, hash) in last {
        let name = test.as_str();
        if let Some(alike) = all.get_mut(&(hash.as_str(), &name[name.len() - rest(test)..]))
            && is_gone(test)
        {
            alike.old.push(test);
        }
    }
    all.into_values()
        .filter(|alike| alike.others == 0)
        .filter_map(|alike| match (&alike.old[..], &alike.new[..]) {
            ([old], [new]) => Some(TestRename { old: (*old).clone(), new: (*new).clone(), is_over: false }),
            _ => None,
        })
        .collect()
}

/// Known renames that no longer hold because the old name is back, or hold again because it has
/// gone again.
fn revised(known: &[TestRename], listed: &HashSet<&TestId>, is_gone: &dyn Fn(&TestId) -> bool) -> Vec<TestRename> {
    let is_valid = |one: &TestRename| match listed.contains(&one.old) {
        true => Some(true),
        false => (listed.contains(&one.new) && is_gone(&one.old)).then_some(false),
    };
    known
        .iter()
        .filter_map(|one| Some((one, is_valid(one)?)))
        .filter(|(one, is_over)| one.is_over != *is_over)
        .map(|(one, is_over)| TestRename { is_over, ..one.clone() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(now: &[(&str, &str)], before: &[&str], last: &[(&str, &str)], gone: &[&str], expected: &[(&str, &str)]) {
        let now: Vec<_> = now.iter().map(|(test, hash)| (TestId::from(*test), (*hash).to_owned())).collect();
        let before: HashSet<TestId> = before.iter().map(|test| TestId::from(*test)).collect();
        let last = last.iter().map(|(test, hash)| (TestId::from(*test), (*hash).to_owned())).collect();
        let found = find(&now, &before, &last, &|test| gone.contains(&test.as_str()));
        let mut found: Vec<_> = found.iter().map(|one| (one.old.as_str(), one.new.as_str())).collect();
        found.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_new_test_with_the_code_of_a_removed_one_is_a_rename() {
        check(&[("b.py::n", "h")], &["a.py::o"], &[("a.py::o", "h")], &["a.py::o"], &[("a.py::o", "b.py::n")]);
        check(&[("b.py::n", "h")], &["a.py::o"], &[("a.py::o", "h")], &[], &[]);
        check(&[("b.py::n", "g")], &["a.py::o"], &[("a.py::o", "h")], &["a.py::o"], &[]);
    }

    #[test]
    fn each_parameter_set_is_a_test() {
        let last = [("a.py::o[1]", "h"), ("a.py::o[2]", "h")];
        let gone = ["a.py::o[1]", "a.py::o[2]"];
        let expected = [("a.py::o[1]", "a.py::n[1]"), ("a.py::o[2]", "a.py::n[2]")];
        check(&[("a.py::n[1]", "h"), ("a.py::n[2]", "h"), ("a.py::n[3]", "h")], &gone, &last, &gone, &expected);
    }

    #[test]
    fn ambiguous_candidates_are_no_rename() {
        let two = [("a.py::o", "h"), ("a.py::p", "h")];
        check(&[("b.py::n", "h")], &["a.py::o", "a.py::p"], &two, &["a.py::o", "a.py::p"], &[]);
        let one = [("a.py::o", "h")];
        check(&[("b.py::n", "h"), ("b.py::m", "h")], &["a.py::o"], &one, &["a.py::o"], &[]);
        check(&[("b.py::n", "h"), ("b.py::m", "h")], &["a.py::o", "b.py::m"], &one, &["a.py::o"], &[]);
        // A test that was known before has a history of its own.
        check(&[("b.py::n", "h")], &["a.py::o", "b.py::n"], &one, &["a.py::o"], &[]);
    }

    #[test]
    fn a_name_that_is_back_was_not_renamed() {
        let known = |is_over| [TestRename { old: "a.py::o".into(), new: "b.py::n".into(), is_over }];
        let (old, new) = (TestId::from("a.py::o"), TestId::from("b.py::n"));
        let both: HashSet<&TestId> = [&old, &new].into();
        assert_eq!(revised(&known(false), &both, &|_| false), known(true));
        assert_eq!(revised(&known(true), &both, &|_| false), []);
        assert_eq!(revised(&known(true), &[&new].into(), &|_| true), known(false));
        assert_eq!(revised(&known(true), &[&new].into(), &|_| false), [], "deselected, and still there");
        assert_eq!(revised(&known(false), &HashSet::new(), &|_| true), []);
    }
}
