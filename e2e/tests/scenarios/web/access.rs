//! Who may write through the pages: only requests with the token, from this site.

use std::fs;

use e2e::Sandbox;

use super::client::Served;

/// A project with a failing test in its history.
pub(super) fn failing() -> Sandbox {
    let sandbox = Sandbox::with_tests("def test_a(): assert 1 == 2\ndef test_b(): pass\n");
    sandbox.run("", "python -m pytest").expect_exit(1);
    sandbox
}

pub(super) const ADD: &str = "test=test_it.py%3A%3Atest_a&reason=slow+%3Cserver%3E&owner=%40ada&issue=&days=3";

#[test]
fn writing_needs_the_token() {
    let sandbox = failing();
    let served = Served::start(&sandbox);
    let file = sandbox.project().join(".unflake/quarantine.toml");
    let bearer = format!("Authorization: Bearer {}\r\n", served.token);
    let refused = [
        (403, String::new()),
        (403, "Authorization: Bearer 00000000000000000000000000000000\r\n".to_owned()),
        (403, format!("Cookie: unflake-{}=0\r\n", served.port)),
        // A page of another site, even with the token.
        (403, format!("{bearer}Origin: http://evil.example\r\n")),
        (403, format!("{bearer}Origin: null\r\n")),
    ];
    for (status, headers) in refused {
        assert_eq!(served.post("/quarantine/add", &headers, ADD).status, status, "{headers}");
        assert!(!file.exists(), "{headers}");
    }
    let foreign = format!(
        "POST /quarantine/add HTTP/1.1\r\nHost: evil.example:{}\r\n{bearer}Content-Length: 0\r\n\r\n",
        served.port
    );
    assert_eq!(served.ask(&foreign).status, 421);
    assert_eq!(served.ask("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n").status, 421);
    assert_eq!(served.get("/?token=wrong").status, 403);
    assert!(!served.get("/quarantine").body.contains("<form"), "who may only read sees no form");
    assert_eq!(served.stop().0, Some(0));
}

#[test]
fn with_the_token_failures_can_be_quarantined() {
    let sandbox = failing();
    let served = Served::start(&sandbox);
    let opened = served.get(&format!("/?token={}", served.token));
    assert_eq!(opened.status, 303);
    let cookie = opened.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{cookie}");
    let cookie = cookie.split(';').next().unwrap();
    let headers = format!("Cookie: {cookie}\r\nOrigin: http://localhost:{}\r\n", served.port);
    let with_cookie = |path: &str| {
        served.ask(&format!("GET {path} HTTP/1.1\r\nHost: localhost:{}\r\nCookie: {cookie}\r\n\r\n", served.port))
    };
    assert!(with_cookie("/quarantine").body.contains("action=\"/quarantine/add\""));

    let wrong = |form: &str, words: &str| {
        let answer = served.post("/quarantine/add", &headers, form);
        assert!(answer.status == 400 && answer.text().contains(words), "{} {}", answer.status, answer.text());
    };
    wrong(&ADD.replace("days=3", "days=31"), "a quarantine lasts 1 to 30 days, not 31");
    wrong(&ADD.replace("days=3", "days=soon"), "a quarantine lasts 1 to 30 days");
    wrong(&ADD.replace("test_a", "test_b"), "the history has no failure of test_it.py::test_b");
    wrong(&ADD.replace("owner=%40ada", "owner=+"), "a quarantine needs its owner");

    assert_eq!(served.post("/quarantine/add", &headers, ADD).status, 303);
    let listed = sandbox.unflake(["quarantine", "list"]).start().finish_in_parallel().expect_exit(0).stdout;
    assert!(listed.contains("EXCUSED  test_it.py::test_a") && listed.contains("slow <server>"), "{listed}");
    let entries = served.json("/quarantine.json");
    assert_eq!(entries["entries"][0]["reason"], "slow <server>");
    let page = with_cookie("/quarantine");
    assert!(page.body.contains("slow &lt;server&gt;") && page.body.contains("Remove"));
    sandbox.run_invocation("", "python -m pytest").start().finish_in_parallel().expect_exit(0);

    let remove = "test=test_it.py%3A%3Atest_a";
    assert_eq!(served.post("/quarantine/remove", &headers, remove).status, 303);
    assert!(!fs::read_to_string(sandbox.project().join(".unflake/quarantine.toml")).unwrap().contains("test_a"));
    let again = served.post("/quarantine/remove", &headers, remove);
    assert!(again.status == 400 && again.text().contains("is not in quarantine"), "{}", again.text());
    assert_eq!(served.stop().0, Some(0));
}

#[test]
fn failed_assertions_can_be_labeled_on_the_test_page() {
    let sandbox = Sandbox::with_tests("def test_a():\n    total = 1\n    assert total == 2\n");
    let now_and_then = sandbox.project().join("unflake-filter.toml");
    fs::write(&now_and_then, "").unwrap();
    sandbox.unflake(["run", "--filter", "--", "python", "-m", "pytest"]).finish().expect_exit(1);
    let served = Served::start(&sandbox);
    let bearer = format!("Authorization: Bearer {}\r\n", served.token);
    let page = served.ask(&format!("GET /test/1 HTTP/1.1\r\nHost: localhost:{}\r\n{bearer}\r\n", served.port)).body;
    assert!(page.contains("action=\"/mark\"") && page.contains("value=\"total == 2\""), "{page}");
    let reported = "test=1&assertion=total+%3D%3D+2&label=true";
    assert_eq!(served.post("/mark", "", reported).status, 403);
    assert_eq!(served.post("/mark", &bearer, reported).status, 303);
    assert_eq!(served.post("/mark", &bearer, "test=1&assertion=a&label=else").status, 404);
    let labels = fs::read_to_string(sandbox.project().join("unflake-labels.tsv")).unwrap();
    assert_eq!(labels, "true\ttest_it.py::test_a\ttotal == 2\n");
    assert_eq!(served.stop().0, Some(0));
}
