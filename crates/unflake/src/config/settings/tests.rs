//! Tests of `settings`.

use std::collections::HashMap;

use super::*;

fn resolve(typed: TypedSettings, variables: &[(&str, &str)], file: &str) -> Result<Settings, SettingError> {
    let variables: HashMap<_, _> = variables.iter().copied().collect();
    let file = SettingsFile { path: "unflake.toml".into(), table: file.parse().unwrap() };
    let sources = SettingSources {
        file: Some(&file),
        variable: &|name| variables.get(name).map(|value| (*value).to_owned()),
        cores: 8,
        project: Path::new("/project"),
    };
    Settings::resolve(typed, Vec::new(), &sources)
}

fn error_of(variables: &[(&str, &str)], file: &str) -> String {
    resolve(TypedSettings::new(), variables, file).unwrap_err().to_string()
}

#[test]
fn precedence_is_option_variable_file_default() {
    let typed = TypedSettings::from([("fresh", vec!["4".to_owned()])]);
    let variables = [("UNFLAKE_FRESH", "3"), ("UNFLAKE_AT_END", "3")];
    let settings = resolve(typed, &variables, "fresh = 2\nat-end = 2\nimmediate = 2").unwrap();
    assert_eq!(settings.fresh, Setting { value: 4, from: SettingSource::Flag });
    assert_eq!(settings.at_end, Setting { value: 3, from: SettingSource::Variable("UNFLAKE_AT_END".to_owned()) });
    assert_eq!(settings.immediate, Setting { value: 2, from: SettingSource::File("unflake.toml".into()) });
    assert_eq!(settings.jobs, Setting { value: 8, from: SettingSource::Default });
    assert_eq!(settings.store.value.dir, Path::new("/project/.unflake"));
}

#[test]
fn files_beside_a_history_in_memory_are_in_the_project() {
    let settings = resolve(TypedSettings::new(), &[("UNFLAKE_STORE", ":memory:")], "").unwrap();
    assert_eq!(settings.store.value.to_string(), ":memory:");
    assert_eq!(settings.store.value.dir, Path::new("/project/.unflake"));
}

#[test]
fn every_setting_can_be_in_the_file() {
    let file = r#"
        command = ["pytest", "-q"]
        immediate = 0
        at-end = 0
        fresh = 0
        fresh-by = "process"
        new-processes = 2
        too-many = 2.5
        flaky-result = "fail"
        never-excuse = ["boom"]
        base = "main"
        granularity = "function"
        verify-base = true
        jobs = 3
        timeout = "2m"
        output-limit = 100
        private = "project,temp"
        private-keep = ["tests/snapshots"]
        engine = "slurm"
        engine-directory = "/shared"
        engine-options = ["--partition=short"]
        engine-inputs = ["../data"]
        engine-shared = ["/opt"]
        engine-node-directory = "/scratch"
        engine-wrapper = ["nice"]
        engine-wait = "1m"
        results = "out/*.xml"
        one-test = "run {name}"
        classpath-file = "cp.txt"
        test-classes = ["out/test"]
        store = "/elsewhere"
    "#;
    let settings = resolve(TypedSettings::new(), &[], file).unwrap();
    let rows = settings.rows();
    assert_eq!(rows.iter().map(|row| row.0).collect::<Vec<_>>(), KEYS.iter().map(|key| key.name).collect::<Vec<_>>());
    assert!(rows.iter().all(|row| row.2 == "unflake.toml"), "{rows:?}");
    assert_eq!(settings.timeout.value, Some(Duration::from_secs(120)));
    assert_eq!(settings.command.value, ["pytest", "-q"]);
    assert_eq!(settings.private.value.to_string(), "project,temp");
}

#[test]
fn errors_name_the_valid_values() {
    assert_eq!(
        error_of(&[("UNFLAKE_JOBS", "0")], ""),
        "jobs: `0` (variable UNFLAKE_JOBS) is not a whole number from 1 on"
    );
    assert_eq!(
        error_of(&[], "private = 'files'"),
        "private: `files` (unflake.toml) is not `all`, `none`, or some of project, home, temp, network, ipc, host-name, \
         separated by commas"
    );
    assert_eq!(
        error_of(&[], "flaky-result = 'ignore'"),
        "flaky-result: `ignore` (unflake.toml) is not `pass` or `fail`"
    );
    assert_eq!(
        error_of(&[], "timeout = 'soon'"),
        "timeout: `soon` (unflake.toml) is not a time such as `90`, `1.5s`, `2m` or `1h`, or `0` for none"
    );
    assert!(error_of(&[], "jobs = [3]").contains("a text or a number is wanted"));
    assert_eq!(error_of(&[], "jobs = true"), "jobs: `true` (unflake.toml) is not a whole number from 1 on");
    assert!(error_of(&[], "command = 'pytest -q'").contains("a list of texts"));
    assert!(error_of(&[], "never-excuse = ['(']").starts_with("never-excuse: `(` is not a regular expression"));
}

#[test]
fn class_path_and_test_classes_need_each_other() {
    assert!(error_of(&[], "classpath-file = 'cp'").contains("needs test-classes"));
    assert!(error_of(&[("UNFLAKE_TEST_CLASSES", "out")], "").contains("(variable UNFLAKE_TEST_CLASSES) needs"));
}

#[test]
fn results_and_one_test_need_each_other() {
    assert_eq!(
        error_of(&[], "results = 'a.xml'"),
        "results (unflake.toml) needs one-test, the command that runs a single test"
    );
    assert_eq!(
        error_of(&[("UNFLAKE_ONE_TEST", "run {name}")], ""),
        "one-test (variable UNFLAKE_ONE_TEST) needs results, where your command writes its JUnit XML"
    );
    assert!(
        error_of(&[("UNFLAKE_RESULTS", "a.xml")], "one-test = 'run {nmae}'")
            .starts_with("one-test: `run {nmae}` (unflake.toml) cannot be used: there is no {nmae}, there are {id}, ")
    );
    assert!(error_of(&[("UNFLAKE_RESULTS", " ")], "").ends_with("is not a text with something in it"));
}

#[test]
fn durations_are_parsed_with_and_without_unit() {
    for (text, seconds) in [("90", 90.0), ("1.5", 1.5), ("1.5s", 1.5), ("2m", 120.0), ("1h", 3600.0)] {
        assert_eq!(duration(text), Ok(Some(Duration::from_secs_f64(seconds))), "{text}");
    }
    assert_eq!(duration("0"), Ok(None));
    for text in ["", "m", "-1", "inf", "nan", "1e99"] {
        assert!(duration(text).is_err(), "{text}");
    }
}

#[test]
fn an_unknown_setting_gets_a_suggestion() {
    let error = |file: &str| resolve(TypedSettings::new(), &[], file).unwrap_err();
    let typo = error("imediate = 1");
    assert_eq!(typo.message, "unflake.toml has an unknown setting `imediate`");
    assert_eq!(typo.hint.as_deref(), Some("did you mean `immediate`?"));
    let other = error("colour = 1");
    assert!(other.hint.unwrap().starts_with("the settings are command, immediate, "));
}
