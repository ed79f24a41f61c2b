//! Option groups that several commands share.

use std::path::PathBuf;

use clap::Args;

/// Settings as they are typed. Each has the same name in the settings file, and as an environment
/// variable the name in capitals after `UNFLAKE_`.
#[derive(Debug, Default, Args)]
pub(crate) struct SettingOptions {
    /// Attempts right after a failure, in the same process [default: 1]
    #[arg(long, value_name = "N", help_heading = "Reruns")]
    pub(crate) immediate: Option<String>,

    /// Attempts after the whole suite, in the same process [default: 1]
    #[arg(long, value_name = "N", help_heading = "Reruns")]
    pub(crate) at_end: Option<String>,

    /// Attempts in fresh environments, one each [default: 1]
    #[arg(long, value_name = "N", help_heading = "Reruns")]
    pub(crate) fresh: Option<String>,

    /// What a fresh environment is: `fork` of a process that has collected the tests and run none,
    /// or a new `process` [default: fork]
    #[arg(long, value_name = "HOW", help_heading = "Reruns")]
    pub(crate) fresh_by: Option<String>,

    /// From this share of failing tests on, in per cent, only the immediate attempts are made.
    /// Never with fewer than ten failing tests [default: 1]
    #[arg(long, value_name = "PER CENT", help_heading = "Reruns")]
    pub(crate) too_many: Option<String>,

    /// Whether flaky tests `pass` or `fail` the run [default: pass]
    #[arg(long, value_name = "RESULT", help_heading = "Reruns")]
    pub(crate) flaky_result: Option<String>,

    /// A regular expression; a failure that says or prints it is never excused by a later pass. Can
    /// be given several times; takes the place of the defaults (sanitizers and race detectors).
    /// Crashes are never excused
    #[arg(long, value_name = "REGEX", help_heading = "Reruns")]
    pub(crate) never_excuse: Vec<String>,

    /// The revision that your change is compared with [default: where this parted from the default
    /// branch, or the last commit at which the failing tests passed]
    #[arg(long, value_name = "REV", help_heading = "Your change")]
    pub(crate) base: Option<String>,

    /// How finely to look whether your change can have caused a failure: by `file`, by `function`,
    /// or `off` [default: file]
    #[arg(long, value_name = "HOW", help_heading = "Your change")]
    pub(crate) granularity: Option<String>,

    /// Run tests that your change does not touch at the base too, in a temporary working tree:
    /// `yes`, `no`, or only where it is `needed` to tell what a known pass there is worth [default:
    /// needed]
    #[arg(
        long,
        value_name = "WHEN",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "yes",
        help_heading = "Your change"
    )]
    pub(crate) verify_base: Option<String>,

    /// Fresh environments at the same time [default: number of cores]
    #[arg(long, short, value_name = "N", help_heading = "Limits")]
    pub(crate) jobs: Option<String>,

    /// Time limit of one attempt: `90`, `2m`, `1h`, or `0` for none [default: 15m]
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    pub(crate) timeout: Option<String>,

    /// Characters of one text (what a test prints, a trace) to keep [default: 65536]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) output_limit: Option<String>,

    #[arg(long, help = unflake_runners::option_help("results"), value_name = "FILE", help_heading = "Other runners")]
    pub(crate) results: Option<String>,

    #[arg(long, help = unflake_runners::option_help("one-test"), value_name = "COMMAND", help_heading = "Other runners")]
    pub(crate) one_test: Option<String>,

    #[arg(long, help = unflake_runners::option_help("classpath-file"), value_name = "FILE", help_heading = "Other runners")]
    pub(crate) classpath_file: Option<String>,

    #[arg(long, help = unflake_runners::option_help("test-classes"), value_name = "DIR", help_heading = "Other runners")]
    pub(crate) test_classes: Vec<String>,

    /// Where the history of the project is: a directory, or a server that a team shares, as
    /// `postgres://USER@HOST/DATABASE` [default: .unflake in the project]
    #[arg(long, value_name = "PLACE", help_heading = "Limits")]
    pub(crate) store: Option<String>,
}

#[derive(Debug, Default, Args)]
pub(crate) struct CommandArgs {
    /// Your own test command, after `--`. Where it is left out, it is taken from the settings or
    /// guessed.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) words: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// Say only what has to be acted upon.
    #[arg(long, short)]
    pub(crate) quiet: bool,

    /// Print the whole report, however long it is
    #[arg(long)]
    pub(crate) full: bool,

    /// Write everything found as JSON to FILE (`-`: standard output).
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write a JUnit report to FILE, every attempt included.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,

    /// Write what was found as annotations for GitHub to FILE (`-`: standard output, where GitHub
    /// reads them).
    #[arg(long, value_name = "FILE", help_heading = "Where people review changes")]
    pub(crate) annotations: Option<PathBuf>,

    /// Add what was found, as Markdown, to the end of FILE: the summary of a job
    /// ("$GITHUB_STEP_SUMMARY"), or the text of a comment.
    #[arg(long, value_name = "FILE", help_heading = "Where people review changes")]
    pub(crate) markdown: Option<PathBuf>,

    /// Write root-cause lines as SARIF to FILE, for code scanning
    #[arg(long, value_name = "FILE", help_heading = "Where people review changes")]
    pub(crate) sarif: Option<PathBuf>,

    /// Write what was found as a code quality report for GitLab to FILE.
    #[arg(long, value_name = "FILE", help_heading = "Where people review changes")]
    pub(crate) code_quality: Option<PathBuf>,
}

pub(super) const SEARCH_EXITS: &str = "Exit codes: 0 nothing found, 1 tests that depend on what ran before, 2 wrong usage, 4 the \
runner could not run, 5 no tests, 70 unflake's own trouble, 130 stopped by you: what was found until then is told.";

/// Options of the searches: `nio` and `order`.
#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// How long to search: `90`, `10m`, `2h`, or `0` for as long as it takes [default: 10m]
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) time: Option<String>,

    /// Do not look for the state that is left behind.
    #[arg(long)]
    pub(crate) no_state: bool,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    #[command(flatten)]
    pub(crate) settings: SettingOptions,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}

/// Limits on the traced runs of one test.
#[derive(Debug, Args)]
pub(crate) struct LocateLimits {
    /// How many runs of a test to compare; fewer where more would not change the answer.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) runs: u32,

    /// How many runs of a test to make at most, as long as all end alike.
    #[arg(long, value_name = "N", default_value_t = 200)]
    most: u32,
}

impl LocateLimits {
    /// The largest number of runs: never fewer than are to be compared.
    pub(crate) fn most(&self) -> u32 {
        self.most.max(self.runs)
    }
}

#[derive(Debug, Default, Args)]
pub(crate) struct StoreArg {
    /// Where the history is: a directory, or `postgres://USER@HOST/DATABASE` [default: .unflake in
    /// the project]
    #[arg(long = "store", value_name = "PLACE")]
    pub(crate) location: Option<String>,
}
