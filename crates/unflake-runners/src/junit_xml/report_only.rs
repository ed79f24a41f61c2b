//! Runners that unflake can use only by their JUnit reports, known by the name of their program.

use std::fs;
use std::path::Path;

use crate::runner::UnsupportedCommand;

struct ReportOnly {
    name: &'static str,
    /// The program, and its subcommand where only that runs tests.
    starts: &'static [&'static str],
    /// How to get a JUnit report.
    report: &'static str,
}

const RUNNERS: [ReportOnly; 27] = [
    only("Go", &["go", "test"], "`gotestsum --junitfile report.xml`"),
    only("gotestsum", &["gotestsum"], "`--junitfile report.xml`"),
    only("vitest", &["vitest"], "`--reporter=junit --outputFile=report.xml`"),
    only("Jest", &["jest"], "the package jest-junit"),
    only("Jest", &["react-scripts", "test"], "the package jest-junit"),
    only("Mocha", &["mocha"], "the package mocha-junit-reporter"),
    only("Karma", &["karma"], "the package karma-junit-reporter"),
    only("AVA", &["ava"], "`--tap` and the package tap-xunit"),
    only("Playwright", &["playwright", "test"], "`--reporter=junit`"),
    only("Cypress", &["cypress", "run"], "`--reporter junit`"),
    only("Node", &["node", "--test"], "`--test-reporter=junit --test-reporter-destination=report.xml`"),
    only("Deno", &["deno", "test"], "`--junit-path=report.xml`"),
    only("Bun", &["bun", "test"], "`--reporter=junit --reporter-outfile=report.xml`"),
    only("Angular", &["ng", "test"], "the package karma-junit-reporter"),
    only(".NET", &["dotnet", "test"], "`--logger junit`, of the package JunitXml.TestLogger"),
    only("RSpec", &["rspec"], "the gem rspec_junit_formatter"),
    only("Rails", &["rails", "test"], "the gem minitest-reporters"),
    only("Rake", &["rake", "test"], "the gem minitest-reporters"),
    only("PHPUnit", &["phpunit"], "`--log-junit report.xml`"),
    only("ExUnit", &["mix", "test"], "the package junit_formatter"),
    only("Swift", &["swift", "test"], "`--xunit-output report.xml`"),
    only("Bazel", &["bazel", "test"], "`bazel-testlogs/**/test.xml`, which it always writes"),
    only("sbt", &["sbt"], "`target/test-reports/*.xml`, which it always writes"),
    only("Dart", &["dart", "test"], "the package junitreport"),
    only("Flutter", &["flutter", "test"], "the package junitreport"),
    only("prove", &["prove"], "`--formatter TAP::Formatter::JUnit`"),
    only("Robot Framework", &["robot"], "`--xunit report.xml`"),
];

/// Words that start the program behind them.
const LAUNCHERS: [&str; 12] =
    ["npx", "bunx", "pnpx", "yarn", "pnpm", "npm", "bundle", "exec", "dlx", "env", "time", "nice"];

/// Programs that run a script of `package.json`.
const SCRIPT_RUNNERS: [&str; 4] = ["npm", "yarn", "pnpm", "bun"];

const fn only(name: &'static str, starts: &'static [&'static str], report: &'static str) -> ReportOnly {
    ReportOnly { name, starts, report }
}

/// What to say of a command that starts such a runner. `is_supported`: whether a runner that
/// unflake can use recognizes a command.
pub(super) fn explain(
    command: &[String],
    project: &Path,
    is_supported: &dyn Fn(&[String]) -> bool,
) -> Option<UnsupportedCommand> {
    let script = package_script(command, project);
    if script.as_deref().is_some_and(is_supported) {
        return None;
    }
    let ReportOnly { name, report, .. } = script.as_deref().and_then(find).or_else(|| find(command))?;
    Some(UnsupportedCommand {
        why: format!("unflake cannot start single tests of {name}"),
        hint: format!(
            "it can by a JUnit report ({report}): `unflake run --results report.xml --one-test 'COMMAND {{name}}' -- …`, \
             see docs/book/other-runners.md"
        ),
    })
}

fn find(command: &[String]) -> Option<&'static ReportOnly> {
    let is_launcher =
        |word: &&String| LAUNCHERS.contains(&file_name(word)) || word.starts_with('-') || word.contains('=');
    let mut words = command.iter().skip_while(is_launcher);
    let program = file_name(words.next()?);
    let next = words.next().map(String::as_str);
    RUNNERS.iter().find(|one| one.starts[0] == program && one.starts.get(1).is_none_or(|word| Some(*word) == next))
}

/// The words of the script that `npm test` or `npm run NAME` starts.
fn package_script(command: &[String], project: &Path) -> Option<Vec<String>> {
    let mut words = command.iter().filter(|word| !word.starts_with('-')).map(String::as_str);
    words.next().filter(|program| SCRIPT_RUNNERS.contains(&file_name(program)))?;
    let name = match words.next()? {
        "run" | "run-script" => words.next()?,
        "t" => "test",
        name => name,
    };
    let package: serde_json::Value = serde_json::from_slice(&fs::read(project.join("package.json")).ok()?).ok()?;
    shell_words::split(package["scripts"][name].as_str()?).ok()
}

fn file_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, package: &str, expected: Option<&str>) {
        let project = tempfile::tempdir().unwrap();
        fs::write(project.path().join("package.json"), package).unwrap();
        let command: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let is_supported = |command: &[String]| command.first().is_some_and(|word| word == "supported");
        let why = explain(&command, project.path(), &is_supported).map(|found| found.why);
        let expected = expected.map(|name| format!("unflake cannot start single tests of {name}"));
        assert_eq!(why, expected);
    }

    #[test]
    fn runners_are_known_by_their_program() {
        check("go test ./...", "", Some("Go"));
        check("go vet ./...", "", None);
        check("npx --yes jest --ci", "", Some("Jest"));
        check("./node_modules/.bin/vitest run", "", Some("vitest"));
        check("bundle exec rspec", "", Some("RSpec"));
        check("env A=1 vendor/bin/phpunit", "", Some("PHPUnit"));
        check("make test", "", None);
        check("echo go test", "", None);
    }

    #[test]
    fn scripts_of_a_package_are_looked_up() {
        let package = r#"{"scripts": {"test": "jest --ci", "unit": "supported x", "all": "node all.js"}}"#;
        check("npm test", package, Some("Jest"));
        check("yarn run unit", package, None);
        check("npm run all", package, None);
        check("npm run build", package, None);
        check("npm test", "{}", None);
    }
}
