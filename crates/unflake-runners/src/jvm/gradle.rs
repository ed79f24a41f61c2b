//! `gradle test`: Gradle builds, and each task that would run tests hands over to us what it would start a JVM with.
//!
//! So plugins, properties and every option of the task mean what they always mean, and no build script is read here.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::driver::build_cache;
use crate::driver::orders::Workshop;
use crate::driver::suite::{self, CannotList, Suite};
use crate::jvm::class_path::{self, Compiled};
use crate::jvm::module::{Listed, differing};

const HAND_OVER: &str = include_str!("../../../../agents/jvm/gradle/handoff.gradle");
/// What goes further than tests, and would do so before they have run.
const TOO_FAR: [&str; 4] = ["publish", "publishToMavenLocal", "uploadArchives", "install"];

pub(crate) fn list(command: &[String], workshop: &Workshop<'_>) -> Result<Suite, CannotList> {
    let is_too_far = |word: &&String| TOO_FAR.contains(&word.rsplit(':').next().unwrap_or(word));
    if let Some(task) = command[1..].iter().find(is_too_far) {
        let what = format!(
            "`{task}` of Gradle would be done before the tests have run; `test` or `check` goes as far as tests"
        );
        return Err(CannotList::usage(what));
    }
    let desk = build_cache::handed_over("gradle", command, workshop, |desk| {
        let script = workshop.side.join("handoff.gradle");
        fs::write(&script, HAND_OVER).map_err(|error| CannotList::usage(format!("{}: {error}", script.display())))?;
        class_path::build(command, workshop, |gradle| {
            // What is handed over is known only when a task runs, which a kept configuration cannot have.
            gradle.arg(format!("-Dunflake.handoff={}", desk.display())).arg("-Dorg.gradle.configuration-cache=false");
            gradle.arg("--init-script").arg(&script);
        })
    })?;
    let cannot = |error: std::io::Error| CannotList::usage(format!("{}: {error}", desk.display()));
    let mut suite = Suite { root: workshop.here.clone(), at_once: Some(1), ..Suite::default() };
    let mut places: Vec<PathBuf> = fs::read_dir(&desk).map_err(cannot)?.flatten().map(|entry| entry.path()).collect();
    places.sort();
    for place in places {
        Task::read(&place).map_err(cannot)?.add(command, workshop, &mut suite)?;
    }
    Ok(suite)
}

/// A task as it was handed over: lists of texts by name.
struct Task(BTreeMap<String, Vec<String>>);

impl Task {
    fn read(place: &Path) -> std::io::Result<Self> {
        let mut lists = BTreeMap::new();
        for entry in fs::read_dir(place)? {
            let entry = entry?;
            let text = String::from_utf8_lossy(&fs::read(entry.path())?).into_owned();
            let values = text.split('\0').filter(|value| !value.is_empty()).map(str::to_owned).collect();
            lists.insert(entry.file_name().to_string_lossy().into_owned(), values);
        }
        Ok(Self(lists))
    }

    fn list(&self, name: &str) -> &[String] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    fn one(&self, name: &str) -> &str {
        self.list(name).first().map_or("", String::as_str)
    }

    fn add(self, command: &[String], workshop: &Workshop<'_>, suite: &mut Suite) -> Result<(), CannotList> {
        let name = self.one("name").to_owned();
        suite.notes.extend(self.list("notes").iter().map(|note| format!("{name}: {note}")));
        if self.list("classes").is_empty() {
            return Ok(());
        }
        let java = self.one("java");
        let java = suite::found(java).and_then(|java| fs::canonicalize(java).ok());
        let java =
            java.ok_or_else(|| CannotList::usage(format!("{name}: its java was not found: {}", self.one("java"))))?;
        let class = |path: &String| path.strip_suffix(".class").map(|path| path.replace('/', "."));
        let classes = self.list("classes").iter().filter_map(class).filter(|class| class_path::is_outermost(class));
        let groups = |name: &str| (name.to_owned(), self.list(name).join(","));
        let compiled = Compiled {
            name: name.clone(),
            java,
            options: self.list("options").to_vec(),
            assertions: false,
            class_path: self.list("class-path").to_vec(),
            classes: classes.collect(),
            directory: self.one("directory").into(),
            variables: differing(self.list("variables").iter().map(String::as_str), workshop),
            roots: self.list("roots").iter().map(PathBuf::from).collect(),
            told: [groups("groups"), groups("excludegroups")]
                .into_iter()
                .filter(|(_, text)| !text.is_empty())
                .collect(),
        };
        let (jvm, mut tests) = compiled.listed(workshop, suite)?;
        tests.retain(|test| self.is_wanted(test));
        jvm.add(&tests, self.one("apart") == "true", suite, |test| alone(command, &name, test));
        Ok(())
    }

    /// As the filter of the task and `--tests` decide it.
    fn is_wanted(&self, test: &Listed) -> bool {
        let any = |name: &str| self.list(name).iter().any(|pattern| fits(pattern, test));
        let among = |name: &str| self.list(name).is_empty() || any(name);
        among("typed") && among("included") && !any("excluded")
    }
}

/// A class, a method of one, or a package with a star. One that begins with a capital leaves packages out.
fn fits(pattern: &str, test: &Listed) -> bool {
    let method = test.method.split(['(', '[']).next().unwrap_or(&test.method);
    let class = match pattern.starts_with(|first: char| first.is_uppercase()) {
        true => test.class.rsplit('.').next().unwrap_or(&test.class),
        false => &test.class,
    };
    matches(pattern, class) || matches(pattern, &format!("{class}.{method}"))
}

/// A star stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((before, after)) => text.strip_prefix(before).is_some_and(|rest| {
            rest.char_indices().map(|(at, _)| at).chain([rest.len()]).any(|at| matches(after, &rest[at..]))
        }),
    }
}

/// The user's command for one test. Gradle takes it right behind the task.
fn alone(command: &[String], task: &str, test: &Listed) -> Vec<String> {
    let short = task.rsplit(':').next().unwrap_or(task);
    let is_task = |word: &String| word == task || word == short || word.ends_with(&format!(":{short}"));
    let mut words = command.to_vec();
    let at = match words.iter().position(is_task) {
        Some(at) => at + 1,
        None => {
            words.push(task.to_owned());
            words.len()
        }
    };
    let method = test.method.split(['(', '[']).next().unwrap_or(&test.method);
    words.splice(at..at, ["--tests".to_owned(), format!("{}.{method}", test.class)]);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(class: &str, method: &str) -> Listed {
        Listed { key: String::new(), class: class.to_owned(), method: method.to_owned() }
    }

    #[test]
    fn patterns_choose_as_gradle_does() {
        let one = test("com.acme.TillTest", "sells(int)[1]");
        for good in [
            "com.acme.TillTest",
            "com.acme.TillTest.sells",
            "TillTest",
            "TillTest.sells",
            "com.acme.*",
            "*Till*",
            "*.sells",
        ] {
            assert!(fits(good, &one), "{good}");
        }
        for bad in ["com.acme", "acme.TillTest", "Till", "TillTest.sell", "com.other.*", "sells"] {
            assert!(!fits(bad, &one), "{bad}");
        }
    }

    #[test]
    fn a_test_is_run_alone_with_the_users_words() {
        let alone = |words: &str, task: &str| {
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            super::alone(&words, task, &test("a.B", "c(int)[1]")).join(" ")
        };
        assert_eq!(alone("gradle --offline test", ":test"), "gradle --offline test --tests a.B.c");
        assert_eq!(alone("./gradlew :app:test -q", ":app:test"), "./gradlew :app:test --tests a.B.c -q");
        assert_eq!(alone("gradle check", ":lib:test"), "gradle check :lib:test --tests a.B.c");
    }
}
