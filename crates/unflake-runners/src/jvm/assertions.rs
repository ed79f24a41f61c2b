//! The assertions of a Java project, and which of them may fail.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use unflake_source::java::{JavaAssertion, assertion_sites};

use crate::driver::assertion_filter::FiltersAssertions;
use crate::driver::list_context::ListContext;
use crate::driver::suite::TestCase;
use crate::process::files::relative;

/// Larger sources are generated tables.
const LARGEST: u64 = 2 << 20;

pub(crate) struct Assertions {
    pub(crate) may_be_let_fail: bool,
    /// Files are named relative to this directory.
    root: PathBuf,
    known: Mutex<AssertionState>,
}

#[derive(Default)]
struct AssertionState {
    /// Sources that have been read.
    read: BTreeSet<PathBuf>,
    sites: Vec<JavaAssertion>,
    /// By test: positions of its assertions in `sites`.
    may_fail: HashMap<String, Vec<usize>>,
}

/// An assertion that may fail in a test, as unflake names it.
#[derive(Deserialize)]
struct AllowedFailure {
    test: String,
    file: String,
    function: String,
    expression: String,
    ordinal: u32,
}

impl Assertions {
    pub(crate) fn new(root: &Path, may_be_let_fail: bool) -> Self {
        Self { may_be_let_fail, root: root.to_owned(), known: Mutex::default() }
    }

    /// Of a project whose assertions unflake asks for.
    pub(crate) fn wanted(context: &ListContext<'_>) -> Option<Arc<Self>> {
        context.wants_layer("assertion").then(|| Arc::new(Self::new(&context.here, context.filter)))
    }

    /// For a suite: None where no assertion can be let fail.
    pub(crate) fn into_filter(self: Arc<Self>) -> Option<Arc<dyn FiltersAssertions>> {
        let can_filter = self.may_be_let_fail && !self.known().read.is_empty();
        can_filter.then_some(self as Arc<dyn FiltersAssertions>)
    }

    fn known(&self) -> MutexGuard<'_, AssertionState> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads all sources below these directories.
    pub(crate) fn read(&self, folders: &[PathBuf]) {
        let mut known = self.known();
        let mut ahead: Vec<PathBuf> = folders.to_vec();
        while let Some(folder) = ahead.pop() {
            // An unreadable source has no assertion that may fail.
            let mut entries: Vec<fs::DirEntry> = fs::read_dir(folder).into_iter().flatten().flatten().collect();
            entries.sort_by_key(fs::DirEntry::file_name);
            for entry in entries {
                let path = entry.path();
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => ahead.push(path),
                    Ok(_) if is_source(&path) && known.read.insert(path.clone()) => {
                        let file = relative(&path, &self.root);
                        let text = fs::read(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
                        known
                            .sites
                            .extend(text.ok().and_then(|text| assertion_sites(&file, &text)).unwrap_or_default());
                    }
                    _ => {}
                }
            }
        }
    }

    /// For the agent in a JVM, one line each: file, line, called method, and the name of the
    /// assertion.
    pub(crate) fn table(&self) -> String {
        let line = |site: &JavaAssertion| {
            let JavaAssertion { file, function, expression, ordinal, line, called, .. } = site;
            format!("{file}\t{line}\t{called}\t{function}\t{ordinal}\t{expression}\n")
        };
        self.known().sites.iter().map(line).collect()
    }

    fn write_all(&self, directory: &Path) -> io::Result<PathBuf> {
        let path = directory.join(format!("sites-{}", std::process::id()));
        let mut out = io::BufWriter::new(fs::File::create(&path)?);
        for site in &self.known().sites {
            serde_json::to_writer(&mut out, site)?;
            out.write_all(b"\n")?;
        }
        out.flush()?;
        Ok(path)
    }

    fn set_allowed(&self, path: &Path) -> io::Result<()> {
        let wanted: Vec<AllowedFailure> = serde_json::from_slice(&fs::read(path)?)?;
        let mut known = self.known();
        let mut places: HashMap<(&str, &str, &str, u32), Vec<usize>> = HashMap::new();
        for (at, site) in known.sites.iter().enumerate() {
            places.entry((&site.file, &site.function, &site.expression, site.ordinal)).or_default().push(at);
        }
        let mut may_fail: HashMap<String, Vec<usize>> = HashMap::new();
        for one in wanted {
            // A name that fits two assertions selects neither.
            if let Some([at]) =
                places.get(&(&*one.file, &*one.function, &*one.expression, one.ordinal)).map(Vec::as_slice)
            {
                may_fail.entry(one.test).or_default().push(*at);
            }
        }
        known.may_fail = may_fail;
        Ok(())
    }

    /// For the agent in a JVM that runs these tests, one line each: the position of a test and of
    /// an assertion that may fail in it. None: no assertion may fail.
    pub(crate) fn may_fail(&self, tests: &[&TestCase]) -> Option<String> {
        let known = self.known();
        let mut lines = String::new();
        for (at, test) in tests.iter().enumerate() {
            for site in known.may_fail.get(&test.id).into_iter().flatten() {
                lines.push_str(&format!("{at}\t{site}\n"));
            }
        }
        (!lines.is_empty()).then_some(lines)
    }
}

impl FiltersAssertions for Assertions {
    fn write_sites(&self, directory: &Path) -> io::Result<PathBuf> {
        self.write_all(directory)
    }

    fn let_fail(&self, path: &Path) -> io::Result<()> {
        self.set_allowed(path)
    }
}

fn is_source(path: &Path) -> bool {
    let is_plain = path.to_str().is_some_and(|path| !path.contains(char::is_control));
    is_plain
        && path.extension().is_some_and(|kind| kind == "java")
        && fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= LARGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_may_fail_and_what_could_be_one_of_two_may_not() {
        let place = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = place.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        };
        put("src/a/A.java", "class A { void a() {\n assertTrue(x);\n assertThat(y).isNull(); } }");
        put("src/a/broken.java", "class A { void a() { assertTrue(x);");
        let assertions = Assertions::new(place.path(), true);
        let folders = [place.path().join("src")];
        assertions.read(&folders);
        assertions.read(&folders);
        let table = assertions.table();
        assert_eq!(table.lines().next(), Some("src/a/A.java\t2\tassertTrue\tA.a\t0\tassertTrue(x)"));
        assert_eq!(table.lines().count(), 3, "{table}");
        let table = fs::read_to_string(assertions.write_sites(place.path()).unwrap()).unwrap();
        assert!(
            table.lines().nth(2).unwrap().contains(r#""expression":"assertThat(y).isNull()","ordinal":0,"line":3"#)
        );

        let named = |expression: &str| {
            let name = r#""file":"src/a/A.java","function":"A.a","ordinal":0"#;
            put("named", &format!(r#"[{{"test":"A#a",{name},"expression":"{expression}"}}]"#))
        };
        let may_fail = || assertions.known().may_fail.get("A#a").cloned().unwrap_or_default();
        assertions.let_fail(&named("assertThat(y).isNull()")).unwrap();
        assert_eq!(may_fail(), [2]);
        assertions.let_fail(&named("assertTrue(z)")).unwrap();
        assert_eq!(may_fail(), [0usize; 0]);
        let again = assertions.known().sites[0].clone();
        assertions.known().sites.push(again);
        assertions.let_fail(&named("assertTrue(x)")).unwrap();
        assert_eq!(may_fail(), [0usize; 0]);
    }
}
