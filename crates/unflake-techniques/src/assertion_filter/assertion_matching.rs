//! Finds the assertion of the current code that an earlier run learned about, across edits, moves
//! and renames. When the match is ambiguous no assertion matches: tolerating the wrong assertion is
//! worse than tolerating none.

use std::collections::{HashMap, HashSet};

use unflake_model::{Assertion, AssertionKey, AssertionSite, Test, TestId};

/// An assertion as it was when it was learned.
#[derive(Clone, Debug, PartialEq)]
pub struct LearnedAssertion {
    pub assertion: Assertion,
    /// Hash of the enclosing function's body. Empty when unknown; then the assertion matches only
    /// at its old location.
    pub body: String,
    /// How often its function contained this expression.
    pub same: u32,
    /// Hash of the test's file, for parametrized tests: parameter ids can be reassigned by an edit.
    pub source: Option<String>,
    /// Whether another assertion or test could be mistaken for it once it has moved.
    pub alike: bool,
}

/// Index of the assertions and tests of the current code.
pub struct AssertionSource<'a> {
    tests: HashMap<&'a str, &'a Test>,
    sites: &'a [AssertionSite],
    spots: HashMap<&'a AssertionKey, usize>,
    bodies: HashMap<&'a str, Vec<&'a AssertionSite>>,
    functions: HashSet<(&'a str, &'a str)>,
    /// Hashes of test files.
    sources: &'a HashMap<String, String>,
}

impl<'a> AssertionSource<'a> {
    pub fn new(tests: &'a [Test], sites: &'a [AssertionSite], sources: &'a HashMap<String, String>) -> Self {
        let (mut spots, mut bodies) = (HashMap::new(), HashMap::<_, Vec<&AssertionSite>>::new());
        for site in sites {
            *spots.entry(&site.spot).or_default() += 1;
            bodies.entry(site.body.as_str()).or_default().push(site);
        }
        let functions = sites.iter().map(|site| (&*site.spot.file, &*site.spot.function)).collect();
        let tests = tests.iter().map(|test| (test.id.as_str(), test)).collect();
        Self { tests, sites, spots, bodies, functions, sources }
    }

    /// Describes an assertion of this code so that it can be found in later versions.
    pub fn learned(&self, assertion: &Assertion) -> LearnedAssertion {
        let site = self.sites.iter().find(|site| site.spot == assertion.spot);
        let body = site.map(|site| site.body.clone()).unwrap_or_default();
        let id = assertion.test.as_str();
        let source = split(id).1.and_then(|_| self.source_of(id)).cloned();
        let twins = self.alike(&assertion.spot, &body).count() > 1;
        let alike = twins || self.permutations(id).next().is_some();
        LearnedAssertion { assertion: assertion.clone(), same: self.same(&assertion.spot), body, source, alike }
    }

    /// The same assertion in this code, or the reason why there is no certain match.
    pub fn find(&self, old: &LearnedAssertion) -> Result<Assertion, String> {
        let spot = self.find_spot(old)?;
        let test = self.find_test(old, spot)?;
        Ok(Assertion { test, spot: spot.clone() })
    }

    fn find_spot(&self, old: &LearnedAssertion) -> Result<&'a AssertionKey, String> {
        let spot = &old.assertion.spot;
        let mut alike = self.alike(spot, &old.body).filter(|there| *there != spot);
        if let Some((there, times)) = self.spots.get_key_value(spot) {
            let unchanged = self.alike(spot, &old.body).any(|there| there == spot);
            return match () {
                () if *times > 1 => Err("there are several functions of its name".to_owned()),
                () if unchanged => Ok(there),
                () if old.same != 1 || self.same(spot) != 1 => {
                    Err("its function has changed, and has several such assertions".to_owned())
                }
                () if !old.body.is_empty() && alike.next().is_some() => {
                    Err("its function has changed, and another one now has its former code".to_owned())
                }
                () => Ok(there),
            };
        }
        if self.functions.contains(&(&*spot.file, &*spot.function)) {
            return Err("its function no longer has it".to_owned());
        }
        let moved: Vec<&AssertionKey> =
            alike.filter(|there| there.file == spot.file || there.function == spot.function).collect();
        match moved[..] {
            [] => Err("it no longer exists".to_owned()),
            _ if old.alike => Err("it moved, and others were identical".to_owned()),
            [one] if self.spots[one] == 1 => Ok(one),
            _ => Err("it moved, and several match".to_owned()),
        }
    }

    fn find_test(&self, old: &LearnedAssertion, now: &AssertionKey) -> Result<TestId, String> {
        let (id, was) = (old.assertion.test.as_str(), &old.assertion.spot);
        let (_, parameters) = split(id);
        if self.tests.contains_key(id) {
            let unchanged = old.source.is_some() && self.source_of(id) == old.source.as_ref();
            return match parameters {
                None => Ok(TestId::new(id)),
                Some(_) if unchanged => Ok(TestId::new(id)),
                Some(parameters) if are_numbered(id, parameters) => {
                    Err("the file of its test has changed, and the parameters are only numbered".to_owned())
                }
                Some(_) if old.alike || self.permutations(id).next().is_some() => {
                    Err("the file of its test has changed, and the same parameters are in another order".to_owned())
                }
                Some(_) => Ok(TestId::new(id)),
            };
        }
        let renamed = followed(id, was, now).filter(|renamed| renamed != id);
        if let Some(renamed) = renamed.filter(|renamed| self.tests.contains_key(renamed.as_str())) {
            if parameters.is_some_and(|parameters| are_numbered(id, parameters)) {
                return Err("its test was renamed, and the parameters are only numbered".to_owned());
            }
            return Ok(TestId::new(renamed));
        }
        let mut permuted = self.permutations(id);
        match (permuted.next(), permuted.next()) {
            (Some(one), None) if !old.alike => Ok(TestId::new(one)),
            (Some(_), _) => Err("its test has its parameters in several orders".to_owned()),
            (None, _) => Err("its test is nowhere to be found".to_owned()),
        }
    }

    /// Occurrences of the same expression in functions whose body has this hash.
    fn alike(&self, spot: &AssertionKey, body: &str) -> impl Iterator<Item = &'a AssertionKey> {
        let in_body = self.bodies.get(body).filter(|_| !body.is_empty()).map_or(&[][..], Vec::as_slice);
        let wanted = (&spot.expression, spot.ordinal);
        let found = in_body.iter().map(|site| &site.spot).filter(|there| (&there.expression, there.ordinal) == wanted);
        found.collect::<Vec<_>>().into_iter()
    }

    fn same(&self, spot: &AssertionKey) -> u32 {
        let is_same = |there: &AssertionKey| {
            (&there.expression, &there.function, &there.file) == (&spot.expression, &spot.function, &spot.file)
        };
        self.sites.iter().filter(|site| is_same(&site.spot)).count() as u32
    }

    fn source_of(&self, id: &str) -> Option<&String> {
        self.sources.get(self.tests.get(id)?.file.as_deref()?)
    }

    /// Tests with the same parameters in a different order.
    fn permutations(&self, id: &str) -> impl Iterator<Item = &'a str> {
        let pieces = |parameters: &str| {
            let mut pieces: Vec<String> = parameters.split('-').map(str::to_owned).collect();
            pieces.sort_unstable();
            pieces
        };
        let (base, parameters) = split(id);
        let wanted = parameters.map(|parameters| (base.to_owned(), pieces(parameters)));
        let id = id.to_owned();
        let found = self.tests.keys().copied().filter(move |other| {
            let (base, parameters) = split(other);
            let theirs = parameters.map(|parameters| (base.to_owned(), pieces(parameters)));
            *other != id && theirs.is_some() && theirs == wanted
        });
        found.collect::<Vec<_>>().into_iter()
    }
}

/// Splits a test id into its name and its parameters.
fn split(id: &str) -> (&str, Option<&str>) {
    match id.find('[') {
        Some(at) if id.ends_with(']') => (&id[..at], Some(&id[at + 1..id.len() - 1])),
        _ => (id, None),
    }
}

/// Whether parameter ids are only indexes. They are for `Class#method` ids.
fn are_numbered(id: &str, parameters: &str) -> bool {
    split(id).0.contains('#') || parameters.split('-').any(is_numbered)
}

/// Whether a parameter id is named by its index, as in `case0`.
fn is_numbered(parameter: &str) -> bool {
    let name = parameter.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let is_name = |name: &str| name.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    name.len() < parameter.len()
        && name.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
        && is_name(name)
}

/// The current id of a test that contains the assertion, or whose file does.
fn followed(id: &str, was: &AssertionKey, now: &AssertionKey) -> Option<String> {
    let (base, parameters) = split(id);
    if let Some((class, method)) = base.split_once('#') {
        return followed_method(class, method, was, now).filter(|_| parameters.is_none());
    }
    let rest = base.strip_prefix(&was.file)?.strip_prefix("::")?;
    let rest = if rest == was.function.replace('.', "::") { now.function.replace('.', "::") } else { rest.to_owned() };
    let parameters = parameters.map(|parameters| format!("[{parameters}]")).unwrap_or_default();
    Some(format!("{}::{rest}{parameters}", now.file))
}

/// The same for ids of methods such as `com.acme.CartTest$Inner#total(int)`. The assertion's
/// function carries neither package nor parameters.
fn followed_method(class: &str, method: &str, was: &AssertionKey, now: &AssertionKey) -> Option<String> {
    let folder = |file: &str| file.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned());
    let (package, simple) = class.rsplit_once('.').unwrap_or(("", class));
    let (name, given) = method.split_at(method.find('(').unwrap_or(method.len()));
    let packages = package.replace('.', "/");
    let sources = folder(&was.file).strip_suffix(&packages)?.to_owned();
    let package = folder(&now.file).strip_prefix(&sources)?.replace('/', ".");
    let (class, name) = match was.function.rsplit_once('.')? {
        (there, this) if (there, this) == (simple, name) => now.function.rsplit_once('.')?,
        // A helper method of the same class.
        (there, _) if there == simple => (now.function.rsplit_once('.')?.0, name),
        _ => return None,
    };
    let dot = if package.is_empty() { "" } else { "." };
    Some(format!("{package}{dot}{class}#{name}{given}"))
}

#[cfg(test)]
mod tests;
