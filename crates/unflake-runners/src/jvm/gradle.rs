//! `gradle test`: Gradle builds, and each test task writes down what it would start a JVM with.
//!
//! So plugins, properties and every option of the task keep their meaning, and no build script is
//! read here.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use unflake_worlds::RuntimeSupport;

use crate::driver::build_cache;
use crate::driver::list_context::ListContext;
use crate::driver::suite::{ListError, ListedSuite};
use crate::jvm;
use crate::jvm::assertions::Assertions;
use crate::jvm::class_path::{self, CompiledModule};
use crate::jvm::forks::Forks;
use crate::jvm::module::{JvmTest, differing};
use crate::jvm::seeds;
use crate::process::files::{find_program, program_name};
use crate::runner::{AgentEntry, DefaultCommand, Driver, Profile, ProjectFiles, Runner};

const HAND_OVER: &str = include_str!("../../../../agents/jvm/gradle/handoff.gradle");
/// Tasks that go further than tests and would run before them.
const TOO_FAR: [&str; 4] = ["publish", "publishToMavenLocal", "uploadArchives", "install"];

pub(crate) struct Gradle;

static PROFILE: Profile = Profile {
    name: "Gradle",
    files: ProjectFiles {
        root_markers: &["settings.gradle", "settings.gradle.kts", "build.gradle", "build.gradle.kts"],
        global_inputs: &[
            "**/build.gradle.kts",
            "**/settings.gradle.kts",
            "**/gradle.properties",
            "**/gradle.lockfile",
            "**/*.gradle",
        ],
        caches: &[".gradle"],
        ..jvm::FILES
    },
    ..jvm::PROFILE
};

impl Runner for Gradle {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn entry(&self) -> AgentEntry {
        AgentEntry::Driven(Driver { list })
    }

    fn recognizes(&self, command: &[String]) -> bool {
        matches!(program_name(command), Some("gradle" | "gradlew"))
    }

    fn runtime_support(&self, command: &[String], cache: Option<&Path>) -> Vec<RuntimeSupport> {
        self.recognizes(command).then(|| seeds::support(cache)).flatten().into_iter().collect()
    }

    fn default_command(&self, project: &Path) -> Option<DefaultCommand> {
        let has = |name: &str| project.join(name).is_file();
        let script = ["build.gradle", "build.gradle.kts"].into_iter().find(|name| has(name))?;
        let reason = format!("there is a {script}");
        if jvm::is_here(project) {
            return DefaultCommand::new(&[if has("gradlew") { "./gradlew" } else { "gradle" }, "test"], reason);
        }
        let path = |name: &str| project.join(name).to_string_lossy().into_owned();
        let program = if has("gradlew") { path("gradlew") } else { "gradle".to_owned() };
        DefaultCommand::new(&[&program, "-p", &project.to_string_lossy(), "test"], reason)
    }
}

fn list(context: &ListContext<'_>) -> Result<ListedSuite, ListError> {
    let command = context.command;
    let is_too_far = |word: &&String| TOO_FAR.contains(&word.rsplit(':').next().unwrap_or(word));
    if let Some(task) = command[1..].iter().find(is_too_far) {
        let why = format!("`{task}` of Gradle would be done before the tests have run");
        return Err(ListError::refused(why, "use `test` or `check`, which go as far as tests"));
    }
    let handoff = build_cache::built("gradle", context, |handoff| {
        let script = context.run_dir.join("handoff.gradle");
        fs::write(&script, HAND_OVER).map_err(|error| ListError::usage(format!("{}: {error}", script.display())))?;
        class_path::build(context, |gradle| {
            // The task's values are known only when it runs, which excludes a stored configuration.
            gradle
                .arg(format!("-Dunflake.handoff={}", handoff.display()))
                .arg("-Dorg.gradle.configuration-cache=false");
            gradle.arg("--init-script").arg(&script);
        })
    })?;
    let cannot = |error: std::io::Error| ListError::usage(format!("{}: {error}", handoff.display()));
    let mut suite = ListedSuite { root: context.here.clone(), at_once: Some(1), ..ListedSuite::default() };
    let mut places: Vec<PathBuf> =
        fs::read_dir(&handoff).map_err(cannot)?.flatten().map(|entry| entry.path()).collect();
    places.sort();
    let assertions = Assertions::wanted(context);
    for place in places {
        GradleTask::read(&place).map_err(cannot)?.add(context, assertions.as_ref(), &mut suite)?;
    }
    suite.assertions = assertions.and_then(Assertions::into_filter);
    Ok(suite)
}

/// What a task has written down: lists of texts by name.
struct GradleTask(BTreeMap<String, Vec<String>>);

impl GradleTask {
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

    fn add(
        self,
        context: &ListContext<'_>,
        assertions: Option<&Arc<Assertions>>,
        suite: &mut ListedSuite,
    ) -> Result<(), ListError> {
        let name = self.one("name").to_owned();
        suite.notes.extend(self.list("notes").iter().map(|note| format!("{name}: {note}")));
        if self.list("classes").is_empty() {
            return Ok(());
        }
        let java = self.one("java");
        let java = find_program(java).and_then(|java| fs::canonicalize(java).ok());
        let java =
            java.ok_or_else(|| ListError::usage(format!("{name}: its java was not found: {}", self.one("java"))))?;
        let class = |path: &String| path.strip_suffix(".class").map(|path| path.replace('/', "."));
        let classes = self.list("classes").iter().filter_map(class).filter(|class| class_path::is_outermost(class));
        let groups = |name: &str| (name.to_owned(), self.list(name).join(","));
        let suites = (0..).zip(self.list("suites")).map(|(at, file)| (format!("testSuiteXmlFiles{at}"), file.clone()));
        let compiled = CompiledModule {
            name: name.clone(),
            java,
            options: self.list("options").to_vec(),
            assertions: false,
            class_path: self.list("class-path").to_vec(),
            classes: classes.collect(),
            directory: self.one("directory").into(),
            variables: differing(self.list("variables").iter().map(String::as_str), context),
            roots: self.list("roots").iter().map(PathBuf::from).collect(),
            settings: [groups("groups"), groups("excludegroups"), groups("framework")]
                .into_iter()
                .chain(suites)
                .filter(|(_, text)| !text.is_empty())
                .collect(),
        };
        let (jvm, mut listing) = compiled.listed(context, assertions, suite)?;
        listing.tests.retain(|test| self.is_wanted(test));
        let number = |name: &str| self.one(name).parse::<usize>().ok().filter(|number| *number > 0);
        let forks = Forks { at_once: number("forks").unwrap_or(1), classes: number("fork-every"), dealt: true };
        suite.start_stage(forks.at_once as u32);
        jvm.add(&listing, forks, suite, |test| alone(context.command, &name, test));
        Ok(())
    }

    /// As the filter of the task and `--tests` decide it.
    fn is_wanted(&self, test: &JvmTest) -> bool {
        let any = |name: &str| self.list(name).iter().any(|pattern| fits(pattern, test));
        let among = |name: &str| self.list(name).is_empty() || any(name);
        among("typed") && among("included") && !any("excluded")
    }
}

/// Matches a class, a method of one, or a package with a star. A pattern that begins with a capital
/// leaves packages out.
fn fits(pattern: &str, test: &JvmTest) -> bool {
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

/// The user's command for one test. Gradle takes `--tests` right after the task.
fn alone(command: &[String], task: &str, test: &JvmTest) -> Vec<String> {
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

    fn test(class: &str, method: &str) -> JvmTest {
        JvmTest { key: String::new(), class: class.to_owned(), method: method.to_owned() }
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
