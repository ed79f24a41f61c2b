//! Changes through the pages: quarantine, feedback and labels, each with an entry in the audit log.

use unflake_model::{Feedback, Fingerprint};
use unflake_store::{AuditEntry, TestKey};
use unflake_web::Request;

use super::access::Caller;
use super::routes::{RouteResult, Routes};
use crate::args::filter::{FilterLabelArgs, LabelName};
use crate::args::quarantine::QuarantineAdd;
use crate::commands::filter::tune;
use crate::commands::quarantine::command;
use crate::error::CommandError;
use crate::history::recorder;

const DAYS: i64 = 14;

/// One submitted form.
struct Form<'a> {
    request: &'a Request,
    caller: &'a Caller,
}

impl Form<'_> {
    fn field(&self, name: &str) -> String {
        self.request.form_value(name).unwrap_or("").trim().to_owned()
    }

    fn optional(&self, name: &str) -> Option<String> {
        Some(self.field(name)).filter(|value| !value.is_empty())
    }

    fn entry(&self, action: &str, what: &str, detail: String) -> AuditEntry {
        let who = self.caller.name.clone().unwrap_or_default();
        AuditEntry { at: recorder::now(), who, action: action.to_owned(), what: what.to_owned(), detail }
    }
}

impl Routes {
    pub(super) fn change(&self, path: &str, request: &Request, caller: &Caller) -> Result<RouteResult, CommandError> {
        let _one_at_a_time = self.writing.lock().expect("nothing panics under this lock");
        let form = Form { request, caller };
        match path {
            "/quarantine/add" => self.add_to_quarantine(&form),
            "/quarantine/remove" => self.remove_from_quarantine(&form),
            "/answer" => self.record_feedback(&form),
            "/mark" => self.label(&form),
            _ => Ok(RouteResult::NotFound("page")),
        }
    }

    fn add_to_quarantine(&self, form: &Form) -> Result<RouteResult, CommandError> {
        let days = form.optional("days").map_or(DAYS, |days| days.parse().unwrap_or(0));
        let add = QuarantineAdd {
            test: form.field("test"),
            reason: form.field("reason"),
            owner: form.field("owner"),
            issue: form.optional("issue"),
            days,
            skip: false,
        };
        let detail = format!("{days} days, owner {}: {}", add.owner, add.reason);
        let entry = form.entry("quarantine-add", &add.test, detail);
        // Another connection, opened before the first one locks the history.
        self.cache.with(|reader| {
            self.cache.with(|store| store.audited(&entry, || command::add(&add, Some(&*reader), &self.here)))
        })?;
        Ok(RouteResult::Redirect("/quarantine".to_owned()))
    }

    fn remove_from_quarantine(&self, form: &Form) -> Result<RouteResult, CommandError> {
        let test = form.field("test");
        let entry = form.entry("quarantine-remove", &test, String::new());
        self.cache.with(|store| store.audited(&entry, || command::remove(&test, &self.here)))?;
        Ok(RouteResult::Redirect("/quarantine".to_owned()))
    }

    /// Labels a failure of an assertion, for `unflake filter tune`.
    fn label(&self, form: &Form) -> Result<RouteResult, CommandError> {
        let key = form.field("test").parse().map(TestKey);
        let found = self.cache.with(|store| {
            let tests = store.tests()?;
            Ok(tests.into_iter().find(|stored| Ok(stored.key) == key).map(|stored| (stored.key, stored.test)))
        })?;
        let (Some((key, test)), Some(label)) = (found, LabelName::from_word(&form.field("label"))) else {
            return Ok(RouteResult::NotFound("test"));
        };
        let expression = form.optional("assertion");
        let detail = format!("{}: {}", form.field("label"), expression.as_deref().unwrap_or("every assertion"));
        let entry = form.entry("label", test.as_str(), detail);
        let args = FilterLabelArgs { label, test: test.as_str().to_owned(), expression, labels: None };
        self.cache.with(|store| store.audited(&entry, || tune::label(&args, &self.here)))?;
        Ok(RouteResult::Redirect(format!("/test/{}", key.0)))
    }

    fn record_feedback(&self, form: &Form) -> Result<RouteResult, CommandError> {
        let (finding, why) = (Fingerprint(form.field("finding")), form.optional("why"));
        let useful = form.request.form_value("useful") == Some("yes");
        let answer = Feedback { finding, useful, at: recorder::now(), why };
        self.cache.with(|store| {
            let known =
                store.latest_findings(usize::MAX)?.into_iter().find(|stored| stored.finding.id() == answer.finding);
            let Some(known) = known.filter(|stored| !stored.finding.is_real()) else {
                return Ok(RouteResult::NotFound("finding"));
            };
            let rating = if useful { "useful" } else { "not useful" };
            let why = answer.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            let detail = format!("{} finding {}, {rating}{why}", known.finding.technique(), answer.finding.0);
            store.record_feedback_of(&answer, &form.entry("feedback", known.finding.test.as_str(), detail))?;
            let key = store.key_of(&known.finding.test)?;
            Ok(RouteResult::Redirect(key.map_or("/".to_owned(), |key| format!("/test/{}", key.0))))
        })
    }
}
