//! All tests of a history by key. Keys count from 1 with few gaps, so a table takes less time and
//! space than a map: a history may have a million tests.

use unflake_store::{StoredTest, TestKey};

/// The tests, in ascending order of their keys.
#[derive(Default)]
pub(crate) struct TestTable(Vec<StoredTest>);

impl TestTable {
    pub(crate) fn new(mut tests: Vec<StoredTest>) -> Self {
        if !tests.is_sorted_by_key(|stored| stored.key) {
            tests.sort_by_key(|stored| stored.key);
        }
        Self(tests)
    }

    pub(crate) fn get(&self, key: &TestKey) -> Option<&StoredTest> {
        let expected = usize::try_from(key.0).ok().and_then(|number| number.checked_sub(1));
        let found = expected.and_then(|at| self.0.get(at)).filter(|stored| stored.key == *key);
        found.or_else(|| self.0.binary_search_by_key(key, |stored| stored.key).ok().map(|at| &self.0[at]))
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &StoredTest> {
        self.0.iter()
    }
}

/// The position of each test in a list, by its key.
#[derive(Default)]
pub(crate) struct KeyIndex(Vec<u32>);

impl KeyIndex {
    /// No position.
    const NONE: u32 = u32::MAX;

    pub(crate) fn new(keys: impl Iterator<Item = TestKey>) -> Self {
        let mut all = Vec::new();
        for (at, key) in (0..Self::NONE).zip(keys) {
            let Ok(number) = usize::try_from(key.0) else { continue };
            if number >= all.len() {
                all.resize(number + 1, Self::NONE);
            }
            all[number] = at;
        }
        Self(all)
    }

    pub(crate) fn get(&self, key: TestKey) -> Option<usize> {
        let at = *self.0.get(usize::try_from(key.0).ok()?)?;
        (at != Self::NONE).then_some(at as usize)
    }
}

#[cfg(test)]
mod tests {
    use unflake_model::TestId;

    use super::*;

    #[test]
    fn tests_are_found_by_key_despite_gaps() {
        let stored =
            |key: i64| StoredTest { key: TestKey(key), test: TestId::new(key.to_string()), file: None, line: None };
        let table = TestTable::new([5, 1, 2, 9].map(stored).to_vec());
        let name = |key: i64| table.get(&TestKey(key)).map(|found| found.test.to_string());
        assert_eq!(
            (name(1), name(2), name(5), name(9)),
            (Some("1".into()), Some("2".into()), Some("5".into()), Some("9".into()))
        );
        assert_eq!((name(0), name(3), name(10), name(-1)), (None, None, None, None));
    }

    #[test]
    fn positions_are_found_by_key() {
        let index = KeyIndex::new([7, 2, 3].map(TestKey).into_iter());
        let at = |key: i64| index.get(TestKey(key));
        assert_eq!((at(7), at(2), at(3)), (Some(0), Some(1), Some(2)));
        assert_eq!((at(0), at(1), at(8), at(-1)), (None, None, None, None));
    }
}
