//! Routes: from a request to a page, a change, or a stream of events.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use unflake_model::Day;
use unflake_report::pages::{
    AuditLog, AuditRow, ErrorPage, Links, PageLayout, Pagination, QuarantineEntry, QuarantinePage, SignInPage, View,
    located_page,
};
use unflake_report::{LocateReport, TimeZone, recent_outcomes};
use unflake_store::{RunId, Store, TestKey};
use unflake_web::{Method, Request, Response};

use super::access::{Access, Caller, Stranger};
use super::overview_cache::OverviewCache;
use super::views::ViewBuilder;
use super::{live, runs};
use crate::commands::quarantine::file::QuarantineFile;
use crate::config::project;
use crate::error::CommandError;
use crate::history::recorder;
use crate::project::source_files::SourceFiles;

/// Seconds after which the page of a run in progress reloads.
const RELOAD: u32 = 2;
/// The number of latest attempts that the quarantine page reads.
const LATELY: usize = 20;
/// Entries of the audit log on a page.
const CHANGES: usize = 100;

pub(super) struct Routes {
    pub(super) cache: Arc<OverviewCache>,
    access: Access,
    pub(super) here: PathBuf,
    project: String,
    zone: TimeZone,
    /// Held while the quarantine file is changed.
    pub(super) writing: Mutex<()>,
}

/// The result of a request.
pub(super) enum RouteResult {
    View(View),
    NotFound(&'static str),
    Redirect(String),
    /// A complete page and the data behind it.
    Page(String, Vec<u8>),
}

impl Routes {
    pub(super) fn new(cache: Arc<OverviewCache>, access: Access, here: &Path, project: String) -> Self {
        let zone = TimeZone::system();
        Self { cache, access, here: here.to_owned(), project, zone, writing: Mutex::new(()) }
    }

    pub(super) fn answer(self: &Arc<Self>, request: &Request) -> Response {
        let (path, json) = match request.path.strip_suffix(".json") {
            Some(path) => (path, true),
            None => (request.path.as_str(), false),
        };
        let caller = match self.caller(request) {
            Ok(Ok(caller)) => caller,
            Ok(Err(Stranger::NoProxy)) => {
                let next = Some("open the address of the proxy".to_owned());
                let what = "This server takes requests from its proxy only".to_owned();
                return self.message(json, 403, ErrorPage { what, next });
            }
            Ok(Err(Stranger::Unknown)) if path == "/sign-in" && request.method == Method::Post => {
                return self.sign_in(request.form_value("token").unwrap_or_default().trim());
            }
            Ok(Err(Stranger::Unknown)) => return self.unknown(json, false),
            Err(error) => return self.failed(json, error),
        };
        if let Some(token) = request.query_value("token") {
            return self.log_in(request, token);
        }
        if let Some(run) = run_of_events(path) {
            return self.events(request, run);
        }
        let found = match request.method {
            Method::Post if path == "/sign-in" => {
                return self.sign_in(request.form_value("token").unwrap_or_default().trim());
            }
            Method::Post if !caller.may_write() => return self.message(json, 403, refused(&caller)),
            Method::Post => self.change(path, request, &caller),
            Method::Get | Method::Head => self.read(path, request),
        };
        match found {
            Ok(RouteResult::View(view)) => self.show(&view, request, json, &caller),
            Ok(RouteResult::Page(_, data)) if json => Response::json(200, data),
            Ok(RouteResult::Page(page, _)) => Response::html(200, page),
            Ok(RouteResult::Redirect(path)) => Response::redirect(&path),
            Ok(RouteResult::NotFound(what)) => self.not_found(json, what),
            Err(error) => self.failed(json, error),
        }
    }

    /// Who sends a request.
    pub(super) fn caller(&self, request: &Request) -> Result<Result<Caller, Stranger>, CommandError> {
        self.access.caller(request, |secret| self.cache.with(|store| Caller::of_token(store, secret)))
    }

    /// The printed address sets the token as a cookie and redirects, so that the token leaves the
    /// address bar.
    fn log_in(&self, request: &Request, token: &str) -> Response {
        let is_ours = self.access.start_token().is_some() && self.has_access(token).is_ok_and(|has| has);
        if !is_ours || request.method == Method::Post {
            return self.message(false, 403, refused(&Caller { name: None, role: unflake_store::AccessRole::Read }));
        }
        self.access.set_cookie(token, Response::redirect("/"))
    }

    fn sign_in(&self, token: &str) -> Response {
        match self.has_access(token) {
            Ok(true) => self.access.set_cookie(token, Response::redirect("/")),
            Ok(false) => self.unknown(false, true),
            Err(error) => self.failed(false, error),
        }
    }

    fn has_access(&self, secret: &str) -> Result<bool, CommandError> {
        let mut token_of = |secret: &str| self.cache.with(|store| Caller::of_token(store, secret));
        Ok(self.access.caller_with(secret, &mut token_of)?.is_some())
    }

    /// A stream of events, where there is such a run.
    fn events(self: &Arc<Self>, request: &Request, run: RunId) -> Response {
        match self.cache.with(|store| Ok(store.run(run)?)) {
            Ok(Some(_)) => Response::events(live::events(self, request, run)),
            Ok(None) => self.not_found(true, "run"),
            Err(error) => self.failed(true, error),
        }
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
                ("audit", "", _) => RouteResult::View(View::Audit(audit_log(store, number("page"))?)),
                ("quarantine", "", _) => RouteResult::View(View::Quarantine(self.quarantine_page(store)?)),
                _ => RouteResult::NotFound("page"),
            })
        })
    }

    /// Shows source lines as they are now: they may have moved since the test was located.
    fn located(&self, stored: &unflake_store::StoredFinding) -> Result<RouteResult, CommandError> {
        let root = project::find(&self.here);
        let sources = SourceFiles::new(&root);
        let lines = |file: &str| sources.lines(file);
        let finding = &stored.finding;
        let located = LocateReport { reproduce: finding.command(), ..LocateReport::new(finding, &lines, 0.0) };
        let Some(page) = located_page(&located, stored.started, stored.commit.as_deref(), &self.frame()) else {
            return Ok(RouteResult::NotFound("report"));
        };
        let data = serde_json::json!({
            "schema": 1, "view": "located", "when": stored.started, "commit": stored.commit, "finding": finding,
        });
        Ok(RouteResult::Page(page, format!("{data}\n").into_bytes()))
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

    fn show(&self, view: &View, request: &Request, json: bool, caller: &Caller) -> Response {
        if json {
            return Response::json(200, view.json());
        }
        let live = matches!(view, View::Run(run) if run.run.going_on) && request.query_value("still").is_none();
        let frame = PageLayout { may_write: caller.may_write(), user: caller.name.as_deref(), ..self.frame() };
        Response::html(200, view.html(&PageLayout { again_after: live.then_some(RELOAD), ..frame }))
    }

    fn not_found(&self, json: bool, what: &str) -> Response {
        let next = Some("the inbox lists flaky and broken tests".to_owned());
        self.message(json, 404, ErrorPage { what: format!("no such {what}"), next })
    }

    fn failed(&self, json: bool, error: CommandError) -> Response {
        let status = if error.exit == crate::exit::Exit::Usage { 400 } else { 500 };
        self.message(json, status, ErrorPage { what: error.message, next: error.hint })
    }

    /// For who is not known. `was_wrong`: the token that was given is not valid.
    fn unknown(&self, json: bool, was_wrong: bool) -> Response {
        let response = if json {
            let next = Some("send `Authorization: Bearer TOKEN`; `unflake token create` makes one".to_owned());
            self.message(json, 401, ErrorPage { what: "This needs a token".to_owned(), next })
        } else {
            Response::html(401, View::SignIn(SignInPage { was_wrong }).html(&self.frame()))
        };
        response.with_header("www-authenticate", "Bearer")
    }

    fn message(&self, json: bool, status: u16, message: ErrorPage) -> Response {
        let view = View::Error(message);
        if json {
            return Response::json(status, view.json());
        }
        Response::html(status, view.html(&self.frame()))
    }

    /// For a page without forms.
    fn frame(&self) -> PageLayout<'_> {
        let (project, zone, now) = (self.project.as_str(), &self.zone, recorder::now());
        PageLayout { project, zone, now, may_write: false, user: None, again_after: None, links: Links::Server }
    }
}

fn refused(caller: &Caller) -> ErrorPage {
    let (what, next) = match &caller.name {
        None => ("Changes need the token", "open the address with the token that unflake printed when it started"),
        Some(_) => ("Changes need the role write", "use a token with this role, or ask who runs this server"),
    };
    ErrorPage { what: what.to_owned(), next: Some(next.to_owned()) }
}

/// The run in `/run/ID/events`.
fn run_of_events(path: &str) -> Option<RunId> {
    path.strip_prefix("/run/")?.strip_suffix("/events")?.parse().ok().map(RunId)
}

fn audit_log(store: &Store, page: usize) -> Result<AuditLog, CommandError> {
    let pages = Pagination::of(store.audit_count()?, page, CHANGES);
    let entries = store.audit_log((pages.page - 1) * CHANGES, CHANGES)?;
    let rows = entries.into_iter().map(|entry| AuditRow {
        at: entry.at,
        who: entry.who,
        action: entry.action,
        what: entry.what,
        detail: entry.detail,
    });
    Ok(AuditLog { changes: rows.collect(), pages })
}
