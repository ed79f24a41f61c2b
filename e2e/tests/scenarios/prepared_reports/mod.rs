//! Reports made in advance, feedback on findings, and texts of review comments and issues.

mod comment_and_issue;
mod feedback;
mod prepare;

use std::fmt::Write;

use e2e::{RunOutput, Sandbox};

const RETRY: &str = "tests/test_shop.py::test_retry";
const QUIET: &str = "tests/test_shop.py::test_quiet";

const MAIL: &str = "\
import random

def jitter():
    return random.random()

def send(limit):
    if jitter() > limit:
        raise TimeoutError('gave up')
    return 'sent'
";

const TESTS: &str = "\
from shop.mail import send

def test_retry():
    assert send(0.6) == 'sent'

def test_quiet():
    pass

def test_sound():
    pass
";

/// A shop in a repository with thirty days of imported CI results: one test is flaky, one was flaky
/// in CI only, one never failed.
fn shop() -> Sandbox {
    shop_with(TESTS, &[("test_retry", 3), ("test_quiet", 7), ("test_sound", 0)])
}

/// The same with other tests; each failed on every n-th day.
fn shop_with(tests: &str, failing: &[(&str, u32)]) -> Sandbox {
    let sandbox = Sandbox::new()
        .file("shop/__init__.py", "")
        .file("shop/mail.py", MAIL)
        .file("tests/test_shop.py", tests)
        .file("CODEOWNERS", "* @shop/all\ntests/ @shop/testers\n");
    sandbox.commit("the shop");
    let reports = sandbox.root().join("reports");
    std::fs::create_dir(&reports).expect("the sandbox can be written");
    for day in 0..30 {
        let mut text = format!(
            r#"<testsuites><testsuite name="pytest" timestamp="2026-{:02}-{:02}T10:00:00Z">"#,
            9 + day / 28,
            1 + day % 28
        );
        for (name, every) in failing {
            let failed = *every > 0 && day % every == every - 1;
            let failure = if failed { r#"<failure message="TimeoutError: gave up">no</failure>"# } else { "" };
            let _ =
                write!(text, r#"<testcase classname="tests.test_shop" name="{name}" time="0.5">{failure}</testcase>"#);
        }
        std::fs::write(reports.join(format!("{day:02}.xml")), text + "</testsuite></testsuites>").expect("written");
    }
    sandbox.unflake(["history", "import", "--quiet"]).arg(reports).finish().expect_exit(0);
    sandbox
}

/// Runs `unflake COMMAND OPTIONS… -- python -m pytest` with a JSON report. The command may have several words.
fn pytest(sandbox: &Sandbox, command: &str, options: &[&str]) -> RunOutput {
    sandbox.unflake(command.split(' ')).json().args(options).args(["--", "python", "-m", "pytest"]).finish()
}
