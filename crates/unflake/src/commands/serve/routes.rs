//! From a request to a page.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use unflake_model::{Day, Feedback, Fingerprint};
use unflake_report::pages::{Apart, Frame, Ledger, Links, Said, View, located_page};
use unflake_report::{LocateReport, TimeZone, lately};
use unflake_store::{Store, TestKey};
use unflake_web::{Method, Request, Response, Token};

use super::overview_cache::Desk;
use super::runs;
use super::views::Sight;
use crate::args::QuarantineAdd;
use crate::args::filter::{FilterMarkArgs, Marked};
use crate::commands::filter::tune;
use crate::commands::quarantine::command;
use crate::commands::quarantine::file::QuarantineFile;
use crate::config::project;
use crate::error::Trouble;
use crate::history_recorder;
use crate::sources::Sources;

/// The page of a run that goes on is loaded again after so many seconds.
const AGAIN: u32 = 2;
const DAYS: i64 = 14;
/// Attempts that the ledger looks at.
const LATELY: usize = 20;

pub(crate) struct Routes<'a> {
    desk: &'a Desk,
    token: &'a Token,
    here: PathBuf,
    project: String,
    zone: TimeZone,
    /// One changes the ledger at a time.
    writing: Mutex<()>,
}

/// What comes of a request.
enum Found {
    View(View),
    Nothing(&'static str),
    Elsewhere(String),
    /// A page that is whole already, and what it is drawn from.
    Whole(String, Vec<u8>),
}

impl<'a> Routes<'a> {
    pub(crate) fn new(desk: &'a Desk, token: &'a Token, here: &Path, project: String) -> Self {
        let zone = TimeZone::system();
        Self { desk, token, here: here.to_owned(), project, zone, writing: Mutex::new(()) }
    }

    pub(crate) fn answer(&self, request: &Request) -> Response {
        if let Some(word) = request.asked("token") {
            return self.come_in(request, word);
        }
        let may_write = self.token.is_shown(request);
        let (path, json) = match request.path.strip_suffix(".json") {
            Some(path) => (path, true),
            None => (request.path.as_str(), false),
        };
        let found = match request.method {
            Method::Post if !may_write => return self.say(json, 403, refused()),
            Method::Post => self.write(path, request),
            Method::Get | Method::Head => self.read(path, request),
        };
        match found {
            Ok(Found::View(view)) => self.show(&view, request, json, may_write),
            Ok(Found::Whole(_, data)) if json => Response::json(200, data),
            Ok(Found::Whole(page, _)) => Response::html(200, page),
            Ok(Found::Elsewhere(path)) => Response::elsewhere(&path),
            Ok(Found::Nothing(what)) => {
                let what = format!("there is no {what} here of that name");
                self.say(json, 404, Said { what, next: Some("the inbox has what concerns somebody".to_owned()) })
            }
            Err(trouble) => {
                let status = if trouble.exit == crate::exit::Exit::Usage { 400 } else { 500 };
                let (what, next) = trouble.parts();
                self.say(json, status, Said { what: what.to_owned(), next: next.map(str::to_owned) })
            }
        }
    }

    /// Whoever opens the printed address is known from then on, and the token leaves the address line.
    fn come_in(&self, request: &Request, word: &str) -> Response {
        if !self.token.is(word) || request.method == Method::Post {
            return self.say(false, 403, refused());
        }
        self.token.given(Response::elsewhere("/"))
    }

    fn read(&self, path: &str, request: &Request) -> Result<Found, Trouble> {
        let number = |name: &str| request.asked(name).and_then(|page| page.parse().ok()).unwrap_or(1);
        let query = request.asked("q").unwrap_or("").trim();
        let (overview, behind) = self.desk.overview();
        let quarantine = self.quarantine();
        self.desk.with(|store| {
            // What is wrong with the ledger is told on its own page.
            let entries = quarantine.as_ref().ok();
            let none = QuarantineFile::default();
            let quarantine = entries.unwrap_or(&none);
            let sight = Sight { overview: &overview, store, quarantine, now: history_recorder::now() };
            let mut parts = path.split('/').skip(1);
            let (first, rest) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
            let key = rest.parse().map(TestKey);
            if parts.next().is_some() {
                return Ok(Found::Nothing("page"));
            }
            let one_of = |found: Option<View>, what| found.map_or(Found::Nothing(what), Found::View);
            Ok(match (first, rest, key) {
                ("" | "inbox", "", _) => Found::View(View::Inbox(sight.inbox(number("page"), behind)?)),
                ("cause", id, _) => one_of(sight.cause_page(id)?.map(|one| View::Cause(Box::new(one))), "cause"),
                ("tests", "", _) => Found::View(View::Tests(sight.tests(query, number("page")))),
                ("test", _, Ok(key)) => one_of(sight.test(key)?.map(|one| View::Test(Box::new(one))), "test"),
                ("located", _, Ok(key)) => match sight.located(key) {
                    Some(said) => self.located(said)?,
                    None => Found::Nothing("report"),
                },
                ("matrix", "", _) => Found::View(View::Matrix(sight.matrix(query, number("page"), number("runs"))?)),
                ("runs", "", _) => Found::View(View::Runs(runs::list(&sight, number("page"))?)),
                ("run", id, _) => one_of(runs::page(&sight, id)?.map(|one| View::Run(Box::new(one))), "run"),
                ("quarantine", "", _) => Found::View(View::Quarantine(self.ledger(store)?)),
                _ => Found::Nothing("page"),
            })
        })
    }

    fn write(&self, path: &str, request: &Request) -> Result<Found, Trouble> {
        let told = |name: &str| request.told(name).unwrap_or("").trim().to_owned();
        let _one_at_a_time = self.writing.lock().expect("nothing panics under this lock");
        match path {
            "/quarantine/add" => {
                let days = told("days");
                let issue = Some(told("issue")).filter(|issue| !issue.is_empty());
                let add = QuarantineAdd {
                    test: told("test"),
                    reason: told("reason"),
                    owner: told("owner"),
                    issue,
                    days: if days.is_empty() { DAYS } else { days.parse().unwrap_or(0) },
                    skip: false,
                };
                self.desk.with(|store| command::add(&add, Some(store), &self.here))?;
            }
            "/quarantine/remove" => command::remove(&told("test"), &self.here)?,
            "/answer" => return self.answer_to(request, told),
            "/mark" => return self.mark(told),
            _ => return Ok(Found::Nothing("page")),
        }
        Ok(Found::Elsewhere("/quarantine".to_owned()))
    }

    /// The lines as they are now: of other files, they may have moved.
    fn located(&self, said: &unflake_store::StoredFinding) -> Result<Found, Trouble> {
        let root = project::find(&self.here);
        let sources = Sources::new(&root);
        let lines = |file: &str| sources.lines(file);
        let finding = &said.finding;
        let located = LocateReport { repeat: finding.repeat.as_deref(), ..LocateReport::new(finding, &lines, 0.0) };
        let Some(page) = located_page(&located, said.started, said.commit.as_deref(), &self.frame(false, None)) else {
            return Ok(Found::Nothing("report"));
        };
        let data = serde_json::json!({
            "schema": 1, "view": "located", "when": said.started, "commit": said.commit, "finding": finding,
        });
        Ok(Found::Whole(page, format!("{data}\n").into_bytes()))
    }

    /// What a failure of an assertion was, for `unflake filter tune`.
    fn mark(&self, told: impl Fn(&str) -> String) -> Result<Found, Trouble> {
        let key = told("test").parse().map(TestKey);
        let found = self.desk.with(|store| {
            let tests = store.tests()?;
            Ok(tests.into_iter().find(|kin| Ok(kin.key) == key).map(|kin| (kin.key, kin.test)))
        })?;
        let (Some((key, test)), Some(label)) = (found, Marked::from_word(&told("label"))) else {
            return Ok(Found::Nothing("test"));
        };
        let expression = Some(told("assertion")).filter(|text| !text.is_empty());
        let args = FilterMarkArgs { label, test: test.as_str().to_owned(), expression, labels: None };
        tune::mark(&args, &self.here)?;
        Ok(Found::Elsewhere(format!("/test/{}", key.0)))
    }

    fn answer_to(&self, request: &Request, told: impl Fn(&str) -> String) -> Result<Found, Trouble> {
        let finding = Fingerprint(told("finding"));
        let why = Some(told("why")).filter(|why| !why.is_empty());
        let answer =
            Feedback { finding, useful: request.told("useful") == Some("yes"), at: history_recorder::now(), why };
        self.desk.with(|store| {
            let known = store.latest_findings(usize::MAX)?.into_iter().find(|said| said.finding.id() == answer.finding);
            let Some(known) = known.filter(|said| !said.finding.is_real()) else {
                return Ok(Found::Nothing("finding"));
            };
            store.answer(&answer)?;
            let key = store.key_of(&known.finding.test)?;
            Ok(Found::Elsewhere(key.map_or("/".to_owned(), |key| format!("/test/{}", key.0))))
        })
    }

    fn quarantine(&self) -> Result<QuarantineFile, Trouble> {
        QuarantineFile::read(&project::find(&self.here).join(".unflake"))
    }

    fn ledger(&self, store: &Store) -> Result<Ledger, Trouble> {
        let file = self.quarantine()?;
        let mut entries = Vec::new();
        for entry in &file.entries {
            let kept = store.attempts_of(&entry.test, LATELY)?;
            let attempts: Vec<_> = kept.into_iter().map(|kept| kept.attempt).collect();
            let key = store.key_of(&entry.test)?.map(|key| key.0);
            entries.push(Apart { entry: entry.clone(), key, lately: lately(&attempts) });
        }
        let path = file.path().strip_prefix(&self.here).unwrap_or(file.path()).display().to_string();
        Ok(Ledger { today: Day::of(history_recorder::now()), path, entries })
    }

    fn show(&self, view: &View, request: &Request, json: bool, may_write: bool) -> Response {
        if json {
            return Response::json(200, view.json());
        }
        let live = matches!(view, View::Run(run) if run.run.going_on) && request.asked("still").is_none();
        Response::html(200, view.html(&self.frame(may_write, live.then_some(AGAIN))))
    }

    fn say(&self, json: bool, status: u16, said: Said) -> Response {
        let view = View::Said(said);
        if json {
            return Response::json(status, view.json());
        }
        Response::html(status, view.html(&self.frame(false, None)))
    }

    fn frame(&self, may_write: bool, again_after: Option<u32>) -> Frame<'_> {
        let (project, zone, now) = (self.project.as_str(), &self.zone, history_recorder::now());
        Frame { project, zone, now, may_write, again_after, links: Links::Server }
    }
}

fn refused() -> Said {
    let next = "open the address that unflake printed when it started, which has the token in it";
    Said { what: "Only who has the token may change anything here".to_owned(), next: Some(next.to_owned()) }
}
