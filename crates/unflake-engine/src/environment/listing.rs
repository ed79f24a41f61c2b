//! The tests that a runner process has collected.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use unflake_model::{Test, TestId};
use unflake_protocol::{ListedTest, TestNeeds};

/// The tests that a runner process has collected. Shared with all its forks.
#[derive(Default)]
pub(crate) struct Listing {
    pub(crate) tests: Vec<Test>,
    number_of: HashMap<TestId, u32>,
    pub(crate) deselected: u32,
    /// Why the process cannot be forked.
    pub(crate) unforkable: Option<String>,
    /// Why the tests have to run in this process.
    pub(crate) one_process: Option<String>,
    /// Tests run in processes of their own, so that an environment that has run tests is as good as
    /// a new one.
    pub(crate) isolated: bool,
    /// The plain runner does not keep the order in which a command names tests.
    pub(crate) reorders: bool,
    /// Test files are relative to this directory.
    pub(crate) root: String,
    /// Of tests that declare any.
    needs: HashMap<TestId, TestNeeds>,
}

impl Listing {
    /// Of a process that has not listed its tests yet.
    pub(crate) fn empty(root: String) -> Self {
        Self { root, ..Self::default() }
    }

    /// The same process has listed these tests.
    pub(crate) fn with_tests(
        &self,
        listed: Vec<ListedTest>,
        deselected: u32,
        unforkable: Option<String>,
        isolated: bool,
        reorders: bool,
    ) -> Self {
        let mut needs = HashMap::new();
        let test = |listed: ListedTest| {
            if !listed.needs.is_nothing() {
                needs.insert(listed.test.id.clone(), listed.needs);
            }
            listed.test
        };
        let tests: Vec<Test> = listed.into_iter().map(test).collect();
        let number_of = (0..).zip(&tests).map(|(number, test)| (test.id.clone(), number)).collect();
        let root = self.root.clone();
        Self { tests, number_of, deselected, unforkable, one_process: None, isolated, reorders, root, needs }
    }

    pub(crate) fn has_needs(&self) -> bool {
        !self.needs.is_empty()
    }

    /// What a test needs for itself, where it declares that.
    pub(crate) fn needs(&self, test: &TestId) -> Option<&TestNeeds> {
        self.needs.get(test)
    }

    pub(crate) fn has_all<'a>(&self, tests: impl IntoIterator<Item = &'a TestId>) -> bool {
        tests.into_iter().all(|test| self.number_of.contains_key(test))
    }

    /// The numbers of tests that are all listed.
    pub(crate) fn numbers<'a>(&self, tests: impl IntoIterator<Item = &'a TestId>) -> Vec<u32> {
        tests.into_iter().map(|test| self.number_of[test]).collect()
    }

    pub(crate) fn test(&self, number: u32) -> Option<&TestId> {
        self.tests.get(number as usize).map(|test| &test.id)
    }

    /// The absolute paths of the files that contain these tests. None unless all are known.
    pub(crate) fn files_of(&self, tests: &BTreeSet<TestId>) -> Option<Vec<String>> {
        let root = Path::new(&self.root);
        let file = |test: &TestId| {
            let number = *self.number_of.get(test)?;
            let path = root.join(self.tests[number as usize].file.as_deref()?);
            path.is_file().then(|| path.to_string_lossy().into_owned())
        };
        let files: Option<BTreeSet<String>> = tests.iter().map(file).collect();
        files.filter(|files| !files.is_empty()).map(|files| files.into_iter().collect())
    }
}
