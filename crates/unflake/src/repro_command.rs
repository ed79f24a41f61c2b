//! The commands that reproduce findings, ready to be pasted into a shell: the plain runner's where
//! it can run the session, else `unflake replay`.

use std::fmt::Display;

use unflake_model::World;
use unflake_report::quote;
use unflake_runners::{AgentEntry, ReplayedSession, Runner};

use crate::commands::locate::command::shown;
use crate::config::settings::{SettingSource, Settings};
use crate::hash;
use crate::output::write_file;

/// An order with more tests is written to a file.
const LONG_ORDER: usize = 20;
/// How a replay starts.
const REPLAY: &str = "unflake replay";

/// What the commands of one finding depend on.
pub(crate) struct ReproCommands<'a> {
    pub(crate) settings: &'a Settings,
    /// The runner that the tests ran in.
    pub(crate) runner: Option<&'static dyn Runner>,
    /// Whether the plain runner ends with an error where the test fails.
    pub(crate) plain_shows_failure: bool,
    /// Whether the plain runner does not keep the order in which a command names tests.
    pub(crate) reorders: bool,
}

impl ReproCommands<'_> {
    /// In this world.
    pub(crate) fn under(&self, world: &World, session: &ReplayedSession<'_>) -> String {
        // Without an agent in the runner, only unflake builds programs that can be delayed.
        let is_built = self.runner.is_some_and(|runner| matches!(runner.entry(), AgentEntry::Driven(_)));
        if is_built && world.factors.iter().any(|factor| factor.kind().at_lines) {
            return in_world(&in_shell(&self.replay(session)), world);
        }
        in_world(&self.of(session), world)
    }

    fn of(&self, session: &ReplayedSession<'_>) -> String {
        if session.tests.is_empty() {
            return in_shell(session.command);
        }
        let keeps_order = session.tests.len() == 1 || !self.reorders;
        let can_be_plain = self.plain_shows_failure && keeps_order && session.tests.len() <= LONG_ORDER;
        let plain = self.runner.filter(|_| can_be_plain).and_then(|runner| runner.reproduce(session));
        if plain.is_none() && session.at_once > 1 {
            // A replay runs its tests one after the other.
            return in_shell(session.command);
        }
        in_shell(&plain.unwrap_or_else(|| self.replay(session)))
    }

    /// `unflake replay` with what the user gave on the command line: the rest is found again.
    fn replay(&self, session: &ReplayedSession<'_>) -> Vec<String> {
        let mut words: Vec<String> = REPLAY.split(' ').map(str::to_owned).collect();
        words.extend(self.options());
        match self.order_file(session) {
            Some(file) => words.extend(["--order".to_owned(), file]),
            None if session.at_once > 1 => {
                words.extend(["--at-once".to_owned(), session.at_once.to_string()]);
                words.extend(session.tests.iter().map(|test| (*test).to_owned()));
            }
            None => words.extend(session.tests.iter().map(|test| (*test).to_owned())),
        }
        if self.settings.command.from == SettingSource::Flag {
            words.push("--".to_owned());
            words.extend(session.command.iter().cloned());
        }
        words
    }

    fn options(&self) -> Vec<String> {
        let Settings { fresh_by, timeout, .. } = self.settings;
        let mut options = Vec::new();
        let mut add = |name: &str, value: &str, from: &SettingSource| {
            if *from == SettingSource::Flag {
                options.push(format!("--{name}={value}"));
            }
        };
        add("fresh-by", fresh_by.value.word(), &fresh_by.from);
        let seconds = timeout.value.map_or(0.0, |timeout| timeout.as_secs_f64());
        add("timeout", &seconds.to_string(), &timeout.from);
        self.settings.given_runner_options().into_iter().for_each(|(name, value, from)| add(name, value, from));
        options
    }

    /// The file with a long order, beside the history. None: the order is short, or no file can hold
    /// it.
    fn order_file(&self, session: &ReplayedSession<'_>) -> Option<String> {
        if session.tests.len() <= LONG_ORDER || session.tests.iter().any(|test| test.contains('\n')) {
            return None;
        }
        let text = session.tests.join("\n") + "\n";
        let file = self.settings.store.value.dir.join("orders").join(format!("{}.txt", hash::hex(text.as_bytes())));
        write_file(&file, |out| out.write_all(text.as_bytes())).ok()?;
        Some(shown(&file, session.here))
    }
}

/// A printed command in this world. A replay puts its tests into the world itself: around the
/// replay, the world would apply to unflake as well.
pub(crate) fn in_world(command: &str, world: &World) -> String {
    let (mut world, mut command) = (world.clone(), command.to_owned());
    if let Some(rest) = command.strip_prefix(REPLAY) {
        let factors = std::mem::take(&mut world.factors);
        let factors = factors.iter().map(|factor| " ".to_owned() + &quote(&format!("--under={factor}")));
        command = format!("{REPLAY}{}{rest}", factors.collect::<String>());
    }
    match world.options().iter().map(|option| format!(" {}", quote(option))).collect::<String>() {
        flags if flags.is_empty() => command,
        flags => format!("unflake under{flags} -- {command}"),
    }
}

/// Copies of a printed command at the same time. It fails where one of them does.
pub(crate) fn in_copies(command: &str, copies: impl Display) -> String {
    format!("seq {copies} | xargs -P {copies} -I {{copy}} {command}")
}

/// Quotes words for a shell.
fn in_shell(words: &[String]) -> String {
    words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::options::setting_options::TypedSettings;
    use crate::config::settings::SettingSources;

    fn command(
        typed: &str,
        typed_settings: TypedSettings,
        tests: &[&str],
        alone: Option<&str>,
        runner: &str,
    ) -> String {
        command_under(&World::default(), typed, typed_settings, tests, alone, runner)
    }

    fn command_under(
        world: &World,
        typed: &str,
        typed_settings: TypedSettings,
        tests: &[&str],
        alone: Option<&str>,
        runner: &str,
    ) -> String {
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path();
        let sources = SettingSources { file: None, variable: &|_| None, cores: 1, project: here };
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let settings = Settings::resolve(typed_settings, words(typed), &sources).unwrap();
        let alone = alone.map(words);
        let session = ReplayedSession {
            command: &settings.command.value,
            tests,
            in_listed_order: true,
            at_once: 0,
            alone: alone.as_deref(),
            root: Some(here),
            here,
        };
        let runner = unflake_runners::reported_as(runner);
        ReproCommands { settings: &settings, runner, plain_shows_failure: true, reorders: false }.under(world, &session)
    }

    #[test]
    fn a_runner_that_reorders_tests_gets_a_replay() {
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path();
        let sources = SettingSources { file: None, variable: &|_| None, cores: 1, project: here };
        let settings = Settings::resolve(TypedSettings::new(), vec!["pytest".to_owned()], &sources).unwrap();
        let runner = unflake_runners::reported_as("pytest 8.3.4");
        let commands = ReproCommands { settings: &settings, runner, plain_shows_failure: true, reorders: true };
        let of = |tests: &[&str]| {
            let command = &settings.command.value;
            let session = ReplayedSession {
                command,
                tests,
                in_listed_order: true,
                at_once: 0,
                alone: None,
                root: Some(here),
                here,
            };
            commands.of(&session)
        };
        assert_eq!(of(&["a"]), "pytest a");
        assert_eq!(of(&["a", "b"]), "unflake replay a b -- pytest");
    }

    fn of_pytest(tests: &[&str]) -> String {
        command("pytest", TypedSettings::new(), tests, None, "pytest 8.3.4")
    }

    #[test]
    fn odd_names_are_quoted_for_a_shell() {
        let check = |test: &str, expected: &str| assert_eq!(of_pytest(&[test]), expected);
        check("t.py::a[x y]", "pytest 't.py::a[x y]'");
        check("t.py::a[it's]", "pytest 't.py::a[it'\\''s]'");
        check("t.py::a[1\n2]", "pytest \"$(printf 't.py::a[1\\n2]')\"");
        check("a[\x1b'%\\\u{202e}é]", "pytest \"$(printf 'a[\\033'\\''%%\\\\\\342\\200\\256é]')\"");
        check("t.py::a[$(rm -r x)]", "pytest 't.py::a[$(rm -r x)]'");
    }

    #[test]
    fn a_driven_test_has_its_own_command_and_an_order_is_replayed() {
        let of = |tests: &[&str], runner| command("tool all", TypedSettings::new(), tests, Some("tool one"), runner);
        assert_eq!(of(&["a"], "cargo test"), "tool one");
        assert_eq!(of(&["a b", "c"], "cargo test"), "unflake replay 'a b' c -- tool all");
        assert_eq!(of(&["a"], "other"), "unflake replay a -- tool all");
        assert_eq!(of(&[], "other"), "tool all");
    }

    #[test]
    fn a_driven_test_under_a_schedule_is_replayed() {
        crate::commands::under::declare_all();
        let world = World::of(vec!["schedule=7".parse().unwrap()]);
        let under = |typed, runner| command_under(&world, typed, TypedSettings::new(), &["a"], Some("one"), runner);
        assert_eq!(under("tool all", "cargo test"), "unflake replay --under=schedule=7 a -- tool all");
        assert_eq!(under("pytest", "pytest 8.3.4"), "unflake under --schedule=7 -- pytest a");
    }

    #[test]
    fn a_test_without_a_plain_command_is_replayed_in_its_world() {
        crate::commands::under::declare_all();
        let world = World { seed: Some(3), ..World::of(vec!["time-zone=Asia/Tokyo".parse().unwrap()]) };
        let under = |alone| command_under(&world, "./build.sh", TypedSettings::new(), &["a b"], alone, "JUnit");
        assert_eq!(
            under(None),
            "unflake under --seed=3 -- unflake replay --under=time-zone=Asia/Tokyo 'a b' -- ./build.sh"
        );
        assert_eq!(under(Some("one")), "unflake under --time-zone=Asia/Tokyo --seed=3 -- one");
    }

    #[test]
    fn a_replay_has_the_options_of_the_user() {
        let options = [("fresh-by", "process"), ("timeout", "1.5s")];
        let options = options.map(|(name, value)| (name, vec![value.to_owned()])).into();
        assert_eq!(
            command("pytest", options, &["a", "a"], None, "pytest 8.3.4"),
            "unflake replay --fresh-by=process --timeout=1.5 a a -- pytest"
        );
    }

    #[test]
    fn a_long_order_is_in_a_file() {
        let tests: Vec<String> = (0..50).map(|number| format!("t.py::a{number}")).collect();
        let replay = of_pytest(&tests.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(replay.starts_with("unflake replay --order .unflake/orders/"), "{replay}");
        assert!(replay.ends_with(".txt -- pytest"), "{replay}");
    }
}
