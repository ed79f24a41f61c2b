//! INTERSECT (Eloussi 2015, chapter 4): does a change touch anything that a test depends on?
//!
//! In doubt it does. Unknown dependencies are reported as such, and then the answer is never
//! "unaffected".

use std::collections::{BTreeMap, BTreeSet};

use unflake_model::{ChangeKind, Changes, Dependencies, FileChange, Granularity, TouchedPath};

/// What a change and the dependencies of one attempt have in common.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Overlap {
    pub(crate) touched: Vec<TouchedPath>,
    pub(crate) unknown: Vec<String>,
}

impl Overlap {
    pub(crate) fn is_empty(&self) -> bool {
        self.touched.is_empty() && self.unknown.is_empty()
    }
}

pub(crate) fn intersect(changes: &Changes, on: &Dependencies, granularity: Granularity) -> Overlap {
    let mut overlap = intersect_recorded(changes, on, granularity);
    if on.after > 0 {
        overlap.unknown.push(format!("{} attempts ran before it in its process", on.after));
    }
    overlap
}

/// Without what earlier attempts in its process may have left behind.
fn intersect_recorded(changes: &Changes, on: &Dependencies, granularity: Granularity) -> Overlap {
    let mut found = Intersection { changes, on, granularity, touched: BTreeMap::new() };
    let mut unknown = changes.unknown.clone();
    unknown.extend(on.unknown.iter().cloned());
    // The project may be a part of the repository, or contain another repository.
    let below = match on.root.strip_prefix(&changes.root).map(|below| below.to_str()) {
        Ok(Some("")) => String::new(),
        Ok(Some(below)) => format!("{below}/"),
        _ if on.root.as_os_str().is_empty() => String::new(),
        _ => {
            unknown.push(format!(
                "the tests are in {}, but changes are known only for {}",
                on.root.display(),
                changes.root.display()
            ));
            return Overlap { touched: Vec::new(), unknown };
        }
    };
    let at = |path: &str| match path {
        "." | "" => below.trim_end_matches('/').to_owned(),
        path => format!("{below}{path}"),
    };
    found.global_inputs();
    let used = on.executed.keys().chain(&on.read).chain(&on.listed).chain(&on.looked).map(|path| at(path));
    found.directory_inputs(&used.collect::<Vec<_>>());
    let executed: Vec<(String, Option<&BTreeSet<String>>)> =
        on.executed.iter().map(|(path, functions)| (at(path), functions.as_ref())).collect();
    let read: Vec<String> = on.read.iter().map(|path| at(path)).collect();
    for (path, functions) in &on.executed {
        found.executed(path, &at(path), functions.as_ref());
        found.names(&at(path), &executed, &read);
    }
    for path in &on.read {
        found.used(path, &at(path), READ);
    }
    for path in on.configured.iter().filter(|path| !changes.descriptive.contains(&at(path))) {
        found.used(path, &at(path), CONFIGURES);
    }
    for path in &on.written {
        found.used(path, &at(path), "is written by it");
    }
    for path in &on.listed {
        found.below(path, &at(path), appears_or_disappears, "is in a directory that it lists");
    }
    for path in &on.looked {
        // The directory may have appeared together with its contents.
        let counts = if changes.new_directories.contains(&at(path)) { appears_or_disappears } else { disappears };
        found.below(path, &at(path), counts, "is in a directory that it looks for");
    }
    for path in &on.missed {
        found.used(path, &at(path), "is looked for by it");
        found.below(path, &at(path), |_| true, "is below a path that it looks for");
    }
    for (directory, names) in &on.searched {
        let directory = at(directory);
        found.searched(&directory, |name| names.contains(name));
    }
    // A file that the test created itself did not exist before.
    let made = |path: &String| on.written.contains(path) && on.missed.contains(path);
    for path in on.executed.keys().chain(&on.read) {
        if changes.ignores(&at(path)) && !made(path) {
            unknown.push(format!("it uses {path}, which git ignores, so changes to it are unknown"));
        }
    }
    for path in &on.listed {
        let directory = at(path);
        if changes.ignores(&directory) {
            unknown.push(format!("it lists {path}, which git ignores, so changes to it are unknown"));
        }
        for ignored in changes.ignored_in(&directory) {
            let own = ignored.strip_prefix(&below).unwrap_or(ignored).to_owned();
            if !made(&own) {
                unknown.push(format!("it lists a directory with {ignored}, which git ignores, so it may be new"));
            }
        }
    }
    Overlap { touched: found.touched.into_values().collect(), unknown }
}

/// Why a change can affect a test with these dependencies, worded to follow the test's name.
/// `None`: it cannot as far as is known, apart from state that tests leave behind for each other.
pub fn can_affect(changes: &Changes, on: &Dependencies, granularity: Granularity) -> Option<String> {
    let overlap = intersect_recorded(changes, on, granularity);
    match (overlap.touched.first(), overlap.unknown.first()) {
        (Some(touch), _) => Some(format!("{} {}", touch.path, touch.how)),
        (None, Some(why)) => Some(format!("cannot be ruled out: {why}")),
        (None, None) => None,
    }
}

/// The changed files whose code a test ran, or which it read.
pub fn touched_paths(changes: &Changes, on: &Dependencies, granularity: Granularity) -> Vec<TouchedPath> {
    let touched = intersect(changes, on, granularity).touched;
    touched.into_iter().filter(|touch| [RUN, READ, DEFINES].contains(&&*touch.how)).collect()
}

const RUN: &str = "is run by it";
const READ: &str = "is read by it";
const DEFINES: &str = "defines what it uses";
const CONFIGURES: &str = "configures it";

struct Intersection<'a> {
    changes: &'a Changes,
    on: &'a Dependencies,
    granularity: Granularity,
    touched: BTreeMap<&'a str, TouchedPath>,
}

impl<'a> Intersection<'a> {
    /// Only the first way in which a change is touched is kept; they come from the most to the
    /// least informative.
    fn touch(&mut self, change: &'a FileChange, used: Option<&str>, how: &str, functions: Vec<String>) {
        let via = used.and_then(|path| self.on.via.get(path)).cloned();
        let new = || TouchedPath { path: change.path.clone(), how: how.to_owned(), via, functions };
        self.touched.entry(&change.path).or_insert_with(new);
    }

    /// At function granularity, a file in which only comments and spacing differ is unchanged.
    fn counts(&self, change: &FileChange) -> bool {
        let same = change.functions.as_ref().is_some_and(|functions| functions.is_empty());
        self.granularity == Granularity::File || !same
    }

    fn global_inputs(&mut self) {
        let changes = self.changes;
        let all = changes.files.iter().filter(|change| changes.for_all.contains(&change.path));
        let all = all.filter(|change| !self.counts_by_function(change));
        for change in all.filter(|change| self.counts(change)).collect::<Vec<_>>() {
            self.touch(change, None, "counts for every test", Vec::new());
        }
    }

    /// Code whose changed functions are known, so that it counts for those who run or use them.
    fn counts_by_function(&self, change: &FileChange) -> bool {
        let is_known = change.functions.as_ref().is_some_and(|functions| functions.bodies.is_empty());
        self.granularity == Granularity::Function && is_known && self.changes.by_function.contains(&change.path)
    }

    fn directory_inputs(&mut self, used: &[String]) {
        let changes = self.changes;
        for change in changes.files.iter().filter(|change| changes.for_directory.contains(&change.path)) {
            let from = match &change.kind {
                ChangeKind::Renamed { from } => Some(from),
                _ => None,
            };
            let directories = [Some(&change.path), from].into_iter().flatten().map(|path| parent(path));
            let is_used = |directory: &str| {
                used.iter().any(|path| path == directory || path_below(path, directory, changes.ignore_case).is_some())
            };
            if directories.into_iter().any(is_used) && self.counts(change) {
                self.touch(change, None, "configures what it uses", Vec::new());
            }
        }
    }

    fn executed(&mut self, used: &str, path: &str, entered: Option<&BTreeSet<String>>) {
        for change in self.changes.touching(path).collect::<Vec<_>>() {
            match (&change.functions, entered) {
                (Some(changed), Some(entered)) if self.granularity == Granularity::Function => {
                    let touched: Vec<String> = entered.iter().filter(|name| changed.touches(name)).cloned().collect();
                    if !touched.is_empty() {
                        // If the body of a class or module changed, everything in it is touched;
                        // what changed is more informative.
                        let named = match changed.bodies.is_empty() {
                            true => touched,
                            false => changed.bodies.iter().cloned().collect(),
                        };
                        self.touch(change, Some(used), RUN, named);
                    }
                }
                _ => self.touch(change, Some(used), RUN, Vec::new()),
            }
        }
    }

    /// Names that a file which ran binds to something else, and that other code which ran may use.
    fn names(&mut self, path: &str, executed: &[(String, Option<&BTreeSet<String>>)], read: &[String]) {
        if self.granularity == Granularity::File {
            return;
        }
        for change in self.changes.touching(path).collect::<Vec<_>>() {
            let Some(changed) = &change.functions else { continue };
            let Some(users) = &changed.users else { continue };
            let uses = |(file, entered): &(String, Option<&BTreeSet<String>>)| match entered {
                Some(entered) => entered.iter().any(|function| users.touches(file, function)),
                None => users.functions.contains_key(file) || users.texts.contains(file),
            };
            if executed.iter().any(uses) || read.iter().any(|file| users.texts.contains(file)) {
                self.touch(change, None, DEFINES, changed.names.iter().cloned().collect());
            }
        }
    }

    fn used(&mut self, used: &str, path: &str, how: &str) {
        for change in self.changes.touching(path).collect::<Vec<_>>() {
            self.touch(change, Some(used), how, Vec::new());
        }
    }

    fn below(&mut self, used: &str, directory: &str, counts: fn(&ChangeKind) -> bool, how: &str) {
        let changes = self.changes;
        let is_below = |path: &str| path_below(path, directory, changes.ignore_case).is_some();
        for change in changes.files.iter().filter(|change| counts(&change.kind)) {
            let from = match &change.kind {
                ChangeKind::Renamed { from } => Some(from.as_str()),
                _ => None,
            };
            if is_below(&change.path) || from.is_some_and(is_below) {
                self.touch(change, Some(used), how, Vec::new());
            }
        }
    }

    /// Files that appeared or disappeared where a module of such a name was searched.
    fn searched(&mut self, directory: &str, is_searched: impl Fn(&str) -> bool) {
        let changes = self.changes;
        for change in changes.files.iter().filter(|change| appears_or_disappears(&change.kind)) {
            let from = match &change.kind {
                ChangeKind::Renamed { from } => Some(from.as_str()),
                _ => None,
            };
            let found = |path: &str| {
                let Some(rest) = path_below(path, directory, changes.ignore_case) else { return false };
                match rest.split_once('/') {
                    Some((package, _)) => is_searched(package),
                    None => is_searched(rest.split('.').next().unwrap_or(&rest)),
                }
            };
            if found(&change.path) || from.is_some_and(found) {
                self.touch(change, None, "is where it looks for a module", Vec::new());
            }
        }
    }
}

fn appears_or_disappears(kind: &ChangeKind) -> bool {
    !matches!(kind, ChangeKind::Modified | ChangeKind::ModeOnly)
}

fn disappears(kind: &ChangeKind) -> bool {
    !matches!(kind, ChangeKind::Modified | ChangeKind::ModeOnly | ChangeKind::Added | ChangeKind::Untracked)
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(above, _)| above)
}

/// The path below a directory. The root is the empty directory.
fn path_below(path: &str, directory: &str, ignore_case: bool) -> Option<String> {
    if ignore_case {
        return path_below(&path.to_lowercase(), &directory.to_lowercase(), false);
    }
    match directory {
        "" => Some(path.to_owned()),
        _ => path.strip_prefix(directory)?.strip_prefix('/').map(str::to_owned),
    }
}

#[cfg(test)]
mod tests;
