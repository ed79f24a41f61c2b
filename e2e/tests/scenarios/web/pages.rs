//! The content of the pages, and how the server starts and ends.

use std::fmt::Write;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;

use e2e::{Sandbox, server};

use super::client::Served;

/// A shop with twenty imported CI runs.
pub(super) fn shop() -> Sandbox {
    let sandbox = Sandbox::new().file("pyproject.toml", "").file("CODEOWNERS", "* @shop\n");
    import(&sandbox, 0..20);
    sandbox
}

/// Imports reports in which one test is flaky, one is broken since day 12, and one has a hostile
/// name.
fn import(sandbox: &Sandbox, days: std::ops::Range<u32>) {
    let (place, last) = (sandbox.root().join(format!("until-{}", days.end)), days.end - 1);
    fs::create_dir(&place).unwrap();
    for day in days {
        let path = if day == last { sandbox.root().join("last.xml") } else { place.join(format!("{day}.xml")) };
        fs::write(path, report(day)).unwrap();
    }
    let import = |path: &Path, more: &[&str]| {
        let call = sandbox.unflake(["history", "import", "--quiet", "--branch", "main"]).args(more).arg(path);
        call.start().finish_in_parallel().expect_exit(0);
    };
    import(&place, &[]);
    import(&sandbox.root().join("last.xml"), &["--revision", &format!("{last:040x}")]);
}

fn report(day: u32) -> String {
    let hostile = "test_x[&lt;script&gt;alert(1)&lt;/script&gt;]";
    let tests = [("test_retry", day % 4 == 3, 2.5), ("test_total", day >= 12, 0.25), (hostile, day % 5 == 4, 0.1)];
    let mut text = format!(r#"<testsuites><testsuite name="pytest" timestamp="2026-10-{:02}T10:00:00Z">"#, day + 1);
    for (name, failed, seconds) in tests {
        let message = format!("TimeoutError: no answer to {name} after {day}");
        let failure = format!(r#"<failure message="{message}">trace of {name}</failure>"#);
        let failure = if failed { failure.as_str() } else { "" };
        let head = r#"<testcase classname="tests.test_shop" file="tests/test_shop.py""#;
        write!(text, r#"{head} name="{name}" time="{seconds}">{failure}</testcase>"#).unwrap();
    }
    text + "</testsuite></testsuites>"
}

#[test]
fn every_page_has_html_and_json() {
    let sandbox = shop();
    let served = Served::start(&sandbox);
    let inbox = served.json("/inbox.json");
    assert_eq!((&inbox["schema"], &inbox["view"]), (&1.into(), &"inbox".into()));
    assert_eq!((&inbox["overall"]["tests"], &inbox["overall"]["runs"]), (&3.into(), &20.into()));
    let worst = &inbox["causes"][0];
    assert_eq!(worst["tests"][0]["test"], "tests/test_shop.py::test_retry");
    assert_eq!((&worst["failures"], &worst["seconds_lost"]), (&5.into(), &12.5.into()));
    let (key, cause) = (&worst["tests"][0]["key"], worst["id"].as_str().unwrap());

    let test = served.json(&format!("/test/{key}.json"));
    assert_eq!((&test["state"], &test["owner"]), (&"flaky".into(), &"@shop".into()));
    assert_eq!(test["past"].as_array().unwrap().len(), 20);
    assert_eq!((&test["failures"][0]["count"], &test["failures"][0]["id"]), (&5.into(), &cause.into()));
    let matrix = served.json("/matrix.json");
    assert_eq!(matrix["runs"].as_array().unwrap().len(), 20);
    let cells = matrix["rows"][0]["cells"].as_array().unwrap();
    assert_eq!((&cells[3], &cells[4]), (&"failed".into(), &"passed".into()));
    let runs = served.json("/runs.json");
    let run = runs["runs"][0]["id"].as_str().unwrap();
    assert_eq!((&runs["runs"][0]["failed"], &runs["runs"][0]["commit"]), (&3.into(), &format!("{:040x}", 19).into()));
    assert_eq!(served.json(&format!("/run/{run}.json"))["failures"][0]["failed"], 1);
    assert_eq!(served.json("/tests.json?q=total")["tests"].as_array().unwrap().len(), 1);
    assert_eq!(served.json("/quarantine.json")["entries"].as_array().unwrap().len(), 0);

    let paths = ["/", "/inbox", "/tests", "/matrix", "/runs", "/quarantine"].map(str::to_owned);
    let more = [format!("/test/{key}"), format!("/cause/{cause}"), format!("/run/{run}")];
    for path in paths.into_iter().chain(more) {
        let answer = served.get(&path);
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.head.contains("content-security-policy: default-src 'none'"), "{}", answer.head);
        assert!(!answer.body.contains("<script"), "{path}: a name of a test became markup");
    }
    for path in ["/test/999", "/test/x", "/cause/x", "/run/ci-99", "/nothing", "/located/1", "/test/1/2"] {
        assert_eq!(served.get(path).status, 404, "{path}");
    }
    assert_eq!(served.get("/test/999.json").status, 404);
    insta::assert_snapshot!("inbox", sandbox.redact(&served.get("/").text()));
    insta::assert_snapshot!("test", sandbox.redact(&served.get(&format!("/test/{key}")).text()));
    insta::assert_snapshot!("run", sandbox.redact(&served.get(&format!("/run/{run}")).text()));
    assert_eq!(served.stop().0, Some(0));
}

#[test]
fn pages_show_new_imports() {
    let sandbox = shop();
    let served = Served::start(&sandbox);
    assert_eq!(served.json("/inbox.json")["overall"]["runs"], 20);
    import(&sandbox, 20..22);
    served.until("/inbox.json", |inbox| inbox["overall"]["runs"] == 22);
    assert_eq!(served.stop().0, Some(0));
}

#[test]
fn a_run_in_progress_is_shown() {
    let tests = "
import os, time
def test_first(): pass
def test_slow():
    open('going', 'w').write('on')
    while not os.path.exists('end'): time.sleep(0.01)
";
    let sandbox = Sandbox::with_tests(tests);
    sandbox.run("", "python -m pytest -k first").expect_exit(0);
    let served = Served::start(&sandbox);
    let running = sandbox.run_invocation("", "python -m pytest").start();
    running.wait_for("going");
    let inbox = served.json("/inbox.json");
    let id = inbox["overall"]["going_on"]["id"].as_str().expect("it goes on").to_owned();
    assert!(served.get("/").text().contains("Run in progress"));
    let page = served.get(&format!("/run/{id}"));
    assert!(page.body.contains("http-equiv=\"refresh\""), "it loads itself again");
    assert!(!served.get(&format!("/run/{id}?still=1")).body.contains("http-equiv=\"refresh\""));
    fs::write(sandbox.project().join("end"), "").unwrap();
    running.finish_in_parallel().expect_exit(0);
    let page = served.get(&format!("/run/{id}"));
    assert!(page.text().contains("2 attempts: nothing failed; exit 0."), "{}", page.text());
    assert!(!page.body.contains("http-equiv=\"refresh\""));
    assert_eq!(served.json("/inbox.json")["overall"]["going_on"], serde_json::Value::Null);
    assert_eq!(served.stop().0, Some(0));
}

#[test]
fn ctrl_c_ends_the_server_without_leftovers() {
    let sandbox = shop();
    let served = Served::start(&sandbox);
    served.get("/");
    served.get("/test/1");
    // A silent client does not keep it running.
    let silent = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
    let port = served.port;
    let (code, printed) = served.stop();
    assert_eq!(code, Some(0));
    assert_eq!(printed, "  on this machine only; read-only without the token. Ctrl-C stops it\n");
    drop(silent);
    TcpListener::bind(("127.0.0.1", port)).expect("the port is free again");
    let mut left: Vec<String> = fs::read_dir(sandbox.project().join(".unflake"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, [".gitignore", "history.db"]);
    sandbox.unflake(["history", "show"]).finish().expect_exit(0);
}

#[test]
fn reasons_for_not_serving_are_given() {
    let sandbox = shop();
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let result = sandbox.unflake(["serve", "--port", &port]).finish().expect_exit(2);
    assert_eq!(
        result.stderr.replace(&port, "[PORT]"),
        "error: port [PORT] is in use, perhaps by another unflake serve\nhint: `unflake serve --port 0` picks a free port\n"
    );
    let empty = Sandbox::new();
    let result = empty.unflake(["serve", "--port", "0"]).finish().expect_exit(2);
    assert!(result.stderr.contains("there is no history in"), "{}", result.stderr);
}

#[test]
fn the_html_report_is_self_contained() {
    let sandbox = shop();
    sandbox.unflake(["report", "html", "flaky.html"]).finish().expect_exit(0);
    let page = fs::read_to_string(sandbox.project().join("flaky.html")).unwrap();
    assert!(page.contains("<title>Flaky tests · project</title>") && page.contains("Content-Security-Policy"));
    assert!(!page.contains("<script") && !page.contains("src=") && !page.contains("http://127"));
    for to in page.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        let to = to.strip_prefix('#').unwrap_or_else(|| panic!("{to} leads out of the file"));
        assert!(page.contains(&format!("id=\"{to}\"")), "{to} leads nowhere");
    }
    let printed = sandbox.unflake(["report", "html", "-"]).finish().expect_exit(0).stdout;
    assert!(printed.starts_with("<!DOCTYPE html>") && printed.contains("test_retry"));
    let nowhere = sandbox.unflake(["report", "html", "no/such/place.html"]).finish().expect_exit(2);
    assert!(nowhere.stderr.contains("no/such/place.html cannot be written"), "{}", nowhere.stderr);
}

#[test]
fn a_divergence_is_shown_and_can_be_rated() {
    let sandbox = Sandbox::with_tests("import random\n\ndef test_a():\n    n = random.random()\n    assert n < 0.5\n");
    let _ = sandbox.run("", "python -m pytest");
    sandbox.unflake(["locate", "test_a", "--", "python", "-m", "pytest"]).finish().expect_exit(1);
    let served = Served::start(&sandbox);
    let tests = served.json("/tests.json");
    let (key, next) = (&tests["tests"][0]["key"], &tests["tests"][0]["next"]);
    let sentence = next["diagnosed"]["sentence"].as_str().unwrap_or_else(|| panic!("{tests}"));
    assert!(sentence.starts_with("starts at test_it.py:4 (likely, "), "{sentence}");
    let page = served.get(&format!("/located/{key}")).text();
    assert!(page.contains("test_it.py:4") && page.contains("n = random.random()"), "{page}");
    let data = served.json(&format!("/located/{key}.json"));
    assert_eq!(data["finding"]["technique"], "divergence");

    let finding = |which: &str| {
        let test = served.json(&format!("/test/{key}.json"));
        let found = test["findings"].as_array().unwrap().iter().find(|one| one["technique"] == which).cloned();
        found.unwrap_or_else(|| panic!("{test}"))
    };
    let id = finding("divergence")["id"].as_str().unwrap().to_owned();
    assert_eq!(served.post("/answer", "", &format!("finding={id}&useful=no")).status, 403);
    let bearer = format!("Authorization: Bearer {}\r\n", served.token);
    assert_eq!(served.post("/answer", &bearer, "finding=none&useful=no").status, 404);
    assert_eq!(served.post("/answer", &bearer, &format!("finding={id}&useful=no")).status, 303);
    assert!(finding("divergence")["not_useful_since"].is_number());
    // It is no longer the cause.
    served.until("/tests.json", |tests| tests["tests"][0]["next"]["diagnosed"].is_null());
    assert_eq!(served.post("/answer", &bearer, &format!("finding={id}&useful=yes")).status, 303);
    assert!(finding("divergence")["not_useful_since"].is_null());
    assert_eq!(served.stop().0, Some(0));
}

#[test]
fn a_history_on_a_server_is_served() {
    let sandbox = shop();
    let address = server().address();
    sandbox.unflake(["history", "copy", ".unflake", &address]).finish().expect_exit(0);
    let (here, there) = (Served::start(&sandbox), Served::start_with(&sandbox, &["--store", &address]));
    let cause = here.json("/inbox.json")["causes"][0]["id"].as_str().unwrap().to_owned();
    let cause = format!("/cause/{cause}.json");
    for path in ["/inbox.json", "/tests.json", "/matrix.json", "/runs.json", "/test/1.json", "/run/ci-1.json", &cause] {
        assert_eq!(here.json(path), there.json(path), "{path}");
    }
    assert_eq!(here.stop().0, Some(0));
    assert_eq!(there.stop().0, Some(0));
}
