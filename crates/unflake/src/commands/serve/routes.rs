//! Routes: from a request to a page, or to a change of the quarantine, feedback or labels.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use unflake_model::{Day, Feedback, Fingerprint};
use unflake_report::pages::{ErrorPage, Links, PageLayout, QuarantineEntry, QuarantinePage, View, located_page};
use unflake_report::{LocateReport, TimeZone, recent_outcomes};
use unflake_store::{Store, TestKey};
use unflake_web::{AccessToken, Method, Request, Response};

use super::overview_cache::OverviewCache;
use super::runs;
use super::views::ViewBuilder;
use crate::args::filter::{FilterLabelArgs, LabelName};
use crate::args::quarantine::QuarantineAdd;
use crate::commands::filter::tune;
use crate::commands::quarantine::command;
use crate::commands::quarantine::file::QuarantineFile;
use crate::config::project;
use crate::error::CommandError;
use crate::history::recorder;
use crate::project::source_files::SourceFiles;

/// Seconds after which the page of a run in progress reloads.
const RELOAD: u32 = 2;
const DAYS: i64 = 14;
/// The number of latest attempts that the quarantine page reads.
const LATELY: usize = 20;

pub(crate) struct Routes<'a> {
    cache: &'a OverviewCache,
    token: &'a AccessToken,
    here: PathBuf,
    project: String,
    zone: TimeZone,
    /// Held while the quarantine file is changed.
    writing: Mutex<()>,
}

/// The result of a request.
enum RouteResult {
    View(View),
    NotFound(&'static str),
    Redirect(String),
    /// A complete page and the data behind it.
    Page(String, Vec<u8>),
}

impl<'a> Routes<'a> {
    pub(crate) fn new(cache: &'a OverviewCache, token: &'a AccessToken, here: &Path, project: String) -> Self {
        let zone = TimeZone::system();
        Self { cache, token, here: here.to_owned(), project, zone, writing: Mutex::new(()) }
    }

    pub(crate) fn answer(&self, request: &Request) -> Response {
        if let Some(word) = request.query_value("token") {
            return self.log_in(request, word);
        }
        let may_write = self.token.authorizes(request);
        let (path, json) = match request.path.strip_suffix(".json") {
            Some(path) => (path, true),
            None => (request.path.as_str(), false),
        };
        let found = match request.method {
            Method::Post if !may_write => return self.message(json, 403, refused()),
            Method::Post => self.write(path, request),
            Method::Get | Method::Head => self.read(path, request),
        };
        match found {
            Ok(RouteResult::View(view)) => self.show(&view, request, json, may_write),
            Ok(RouteResult::Page(_, data)) if json => Response::json(200, data),
            Ok(RouteResult::Page(page, _)) => Response::html(200, page),
            Ok(RouteResult::Redirect(path)) => Response::redirect(&path),
            Ok(RouteResult::NotFound(what)) => {
                let what = format!("no such {what}");
                self.message(
                    json,
                    404,
                    ErrorPage { what, next: Some("the inbox lists flaky and broken tests".to_owned()) },
                )
            }
            Err(error) => {
                let status = if error.exit == crate::exit::Exit::Usage { 400 } else { 500 };
                self.message(json, status, ErrorPage { what: error.message, next: error.hint })
            }
        }
    }

    /// The printed address sets the token as a cookie and redirects, so that the token leaves the
    /// address bar.
    fn log_in(&self, request: &Request, word: &str) -> Response {
        if !self.token.matches(word) || request.method == Method::Post {
            return self.message(false, 403, refused());
        }
        self.token.set_cookie(Response::redirect("/"))
    }

    fn read(&self, path: &str, request: &Request) -> Result<RouteResult, CommandError> {
        let number = |name: &str| request.query_value(name).and_then(|page| page.parse().ok()).unwrap_or(1);
        let query = request.query_value("q").unwrap_or("").trim();
        let (overview, behind) = self.cache.overview();
        let quarantine = self.quarantine();
        self.cache.with(|store| {
            // An unreadable quarantine file is reported on its own page only.
            let entries = quarantine.as_ref().ok();
            let none = QuarantineFile::default();
            let quarantine = entries.unwrap_or(&none);
            let views = ViewBuilder { overview: &overview, store, quarantine, now: recorder::now() };
            let mut parts = path.split('/').skip(1);
            let (first, rest) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
            let key = rest.parse().map(TestKey);
            if parts.next().is_some() {
                return Ok(RouteResult::NotFound("page"));
            }
            let one_of = |found: Option<View>, what| found.map_or(RouteResult::NotFound(what), RouteResult::View);
            Ok(match (first, rest, key) {
                ("" | "inbox", "", _) => RouteResult::View(View::Inbox(views.inbox(number("page"), behind)?)),
                ("cause", id, _) => one_of(views.cause_page(id)?.map(|one| View::Cause(Box::new(one))), "cause"),
                ("tests", "", _) => RouteResult::View(View::Tests(views.tests(query, number("page")))),
                ("test", _, Ok(key)) => one_of(views.test(key)?.map(|one| View::Test(Box::new(one))), "test"),
                ("located", _, Ok(key)) => match views.located(key) {
                    Some(stored) => self.located(stored)?,
                    None => RouteResult::NotFound("report"),
                },
                ("matrix", "", _) => {
                    RouteResult::View(View::Matrix(views.matrix(query, number("page"), number("runs"))?))
                }
                ("runs", "", _) => RouteResult::View(View::Runs(runs::list(&views, number("page"))?)),
                ("run", id, _) => one_of(runs::page(&views, id)?.map(|one| View::Run(Box::new(one))), "run"),
                ("quarantine", "", _) => RouteResult::View(View::Quarantine(self.quarantine_page(store)?)),
                _ => RouteResult::NotFound("page"),
            })
        })
    }

    fn write(&self, path: &str, request: &Request) -> Result<RouteResult, CommandError> {
        let form = |name: &str| request.form_value(name).unwrap_or("").trim().to_owned();
        let _one_at_a_time = self.writing.lock().expect("nothing panics under this lock");
        match path {
            "/quarantine/add" => {
                let days = form("days");
                let issue = Some(form("issue")).filter(|issue| !issue.is_empty());
                let add = QuarantineAdd {
                    test: form("test"),
                    reason: form("reason"),
                    owner: form("owner"),
                    issue,
                    days: if days.is_empty() { DAYS } else { days.parse().unwrap_or(0) },
                    skip: false,
                };
                self.cache.with(|store| command::add(&add, Some(store), &self.here))?;
            }
            "/quarantine/remove" => command::remove(&form("test"), &self.here)?,
            "/answer" => return self.feedback(request, form),
            "/mark" => return self.mark(form),
            _ => return Ok(RouteResult::NotFound("page")),
        }
        Ok(RouteResult::Redirect("/quarantine".to_owned()))
    }

    /// Shows source lines as they are now: they may have moved since the test was located.
    fn located(&self, stored: &unflake_store::StoredFinding) -> Result<RouteResult, CommandError> {
        let root = project::find(&self.here);
        let sources = SourceFiles::new(&root);
        let lines = |file: &str| sources.lines(file);
        let finding = &stored.finding;
        let located = LocateReport { reproduce: finding.command(), ..LocateReport::new(finding, &lines, 0.0) };
        let Some(page) = located_page(&located, stored.started, stored.commit.as_deref(), &self.frame(false, None))
        else {
            return Ok(RouteResult::NotFound("report"));
        };
        let data = serde_json::json!({
            "schema": 1, "view": "located", "when": stored.started, "commit": stored.commit, "finding": finding,
        });
        Ok(RouteResult::Page(page, format!("{data}\n").into_bytes()))
    }

    /// Labels a failure of an assertion, for `unflake filter tune`.
    fn mark(&self, form: impl Fn(&str) -> String) -> Result<RouteResult, CommandError> {
        let key = form("test").parse().map(TestKey);
        let found = self.cache.with(|store| {
            let tests = store.tests()?;
            Ok(tests.into_iter().find(|stored| Ok(stored.key) == key).map(|stored| (stored.key, stored.test)))
        })?;
        let (Some((key, test)), Some(label)) = (found, LabelName::from_word(&form("label"))) else {
            return Ok(RouteResult::NotFound("test"));
        };
        let expression = Some(form("assertion")).filter(|text| !text.is_empty());
        let args = FilterLabelArgs { label, test: test.as_str().to_owned(), expression, labels: None };
        tune::label(&args, &self.here)?;
        Ok(RouteResult::Redirect(format!("/test/{}", key.0)))
    }

    fn feedback(&self, request: &Request, form: impl Fn(&str) -> String) -> Result<RouteResult, CommandError> {
        let finding = Fingerprint(form("finding"));
        let why = Some(form("why")).filter(|why| !why.is_empty());
        let answer =
            Feedback { finding, useful: request.form_value("useful") == Some("yes"), at: recorder::now(), why };
        self.cache.with(|store| {
            let known =
                store.latest_findings(usize::MAX)?.into_iter().find(|stored| stored.finding.id() == answer.finding);
            let Some(known) = known.filter(|stored| !stored.finding.is_real()) else {
                return Ok(RouteResult::NotFound("finding"));
            };
            store.record_feedback(&answer)?;
            let key = store.key_of(&known.finding.test)?;
            Ok(RouteResult::Redirect(key.map_or("/".to_owned(), |key| format!("/test/{}", key.0))))
        })
    }

    fn quarantine(&self) -> Result<QuarantineFile, CommandError> {
        QuarantineFile::read(&project::find(&self.here).join(".unflake"))
    }

    fn quarantine_page(&self, store: &Store) -> Result<QuarantinePage, CommandError> {
        let file = self.quarantine()?;
        let mut entries = Vec::new();
        for entry in &file.entries {
            let kept = store.attempts_of(&entry.test, LATELY)?;
            let attempts: Vec<_> = kept.into_iter().map(|kept| kept.attempt).collect();
            let key = store.key_of(&entry.test)?.map(|key| key.0);
            entries.push(QuarantineEntry { entry: entry.clone(), key, lately: recent_outcomes(&attempts) });
        }
        let path = file.path().strip_prefix(&self.here).unwrap_or(file.path()).display().to_string();
        Ok(QuarantinePage { today: Day::of(recorder::now()), path, entries })
    }

    fn show(&self, view: &View, request: &Request, json: bool, may_write: bool) -> Response {
        if json {
            return Response::json(200, view.json());
        }
        let live = matches!(view, View::Run(run) if run.run.going_on) && request.query_value("still").is_none();
        Response::html(200, view.html(&self.frame(may_write, live.then_some(RELOAD))))
    }

    fn message(&self, json: bool, status: u16, message: ErrorPage) -> Response {
        let view = View::Error(message);
        if json {
            return Response::json(status, view.json());
        }
        Response::html(status, view.html(&self.frame(false, None)))
    }

    fn frame(&self, may_write: bool, again_after: Option<u32>) -> PageLayout<'_> {
        let (project, zone, now) = (self.project.as_str(), &self.zone, recorder::now());
        PageLayout { project, zone, now, may_write, again_after, links: Links::Server }
    }
}

fn refused() -> ErrorPage {
    let next = "open the address with the token that unflake printed when it started";
    ErrorPage { what: "Changes need the token".to_owned(), next: Some(next.to_owned()) }
}
