//! Serving other machines: refused without protection, tokens of two roles over HTTPS, users of a
//! proxy, and the audit log.

use std::fs;
use std::process::Command;

use e2e::Sandbox;

use super::access::{ADD, failing};
use super::client::{Answer, Served};

/// An HTTPS client that knows the authority of the server.
struct Https<'a> {
    sandbox: &'a Sandbox,
    port: u16,
}

impl Https<'_> {
    /// Sends a GET, or a form.
    fn ask(&self, path: &str, headers: &[&str], form: Option<&str>) -> Answer {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--include", "--max-time", "300", "--cacert"]);
        curl.arg(self.sandbox.root().join("root.crt"));
        headers.iter().for_each(|header| _ = curl.args(["--header", header]));
        form.iter().for_each(|form| _ = curl.args(["--data", form]));
        let output = curl.arg(format!("https://localhost:{}{path}", self.port)).output().expect("curl is installed");
        assert!(output.status.success(), "{path}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        Answer { status, head: format!("{head}\r\n"), body: body.to_owned() }
    }

    fn get(&self, path: &str, token: &str) -> Answer {
        self.ask(path, &[&format!("Authorization: Bearer {token}")], None)
    }

    fn post(&self, path: &str, token: &str, form: &str) -> u16 {
        self.ask(path, &[&format!("Authorization: Bearer {token}")], Some(form)).status
    }
}

fn create_token(sandbox: &Sandbox, name: &str, role: &str) -> String {
    let created =
        sandbox.unflake(["token", "create", name, "--role", role]).start().finish_in_parallel().expect_exit(0);
    let token = created.stdout.trim_end().to_owned();
    assert!(token.len() == "unflake_".len() + 64 && token.starts_with("unflake_"), "{token}");
    token
}

fn certify(sandbox: &Sandbox) {
    let script = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -keyout key.pem \
                  -out root.crt -subj /CN=localhost -addext subjectAltName=DNS:localhost";
    let made = Command::new("sh").args(["-c", script]).current_dir(sandbox.root()).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

#[test]
fn other_machines_are_refused_without_protection() {
    let sandbox = failing();
    let refused = |options: &[&str]| {
        sandbox.unflake(["serve"].iter().chain(options)).start().finish_in_parallel().expect_exit(2).stderr
    };
    assert_eq!(
        refused(&["--listen", "0.0.0.0:0"]),
        "error: 0.0.0.0:0 can be reached from other machines, and nothing protects it there\n\
         hint: give a certificate (--tls-cert and --tls-key), or the proxy that authenticates users (--trusted-proxy)\n"
    );
    let no_file = refused(&["--listen", "0.0.0.0:0", "--tls-cert", "no.pem", "--tls-key", "no.pem"]);
    assert!(no_file.contains("no.pem is not a certificate in PEM"), "{no_file}");
    let no_url = refused(&["--listen", "0.0.0.0:0", "--trusted-proxy", "10.0.0.1"]);
    assert!(no_url.contains("hint: give the address at which browsers reach it"), "{no_url}");
}

#[test]
fn tokens_have_roles_and_can_be_revoked() {
    let sandbox = failing();
    certify(&sandbox);
    let (reader, writer) = (create_token(&sandbox, "ann", "read"), create_token(&sandbox, "nightly", "write"));
    let again = sandbox.unflake(["token", "create", "ann"]).start().finish_in_parallel().expect_exit(2);
    assert!(again.stderr.contains("there is a valid token with the name ann"), "{}", again.stderr);
    let (certificate, key) = (sandbox.root().join("root.crt"), sandbox.root().join("key.pem"));
    let options = ["--listen", "127.0.0.1:0", "--tls-cert", certificate.to_str().unwrap(), "--tls-key"];
    let served = Served::start_with(&sandbox, &[&options[..], &[key.to_str().unwrap()]].concat());
    let https = Https { sandbox: &sandbox, port: served.port };

    let stranger = https.ask("/", &[], None);
    assert_eq!(stranger.status, 401);
    assert!(stranger.body.contains("action=\"/sign-in\"") && !stranger.body.contains("test_a"), "{}", stranger.text());
    assert_eq!((https.ask("/inbox.json", &[], None).status, https.get("/inbox.json", "no").status), (401, 401));
    assert_eq!(https.ask("/?token=0", &[], None).status, 401);
    assert_eq!(https.ask("/", &["Host: evil.example"], None).status, 421);

    assert!(https.get("/inbox.json", &reader).body.contains("test_it.py::test_a"));
    assert!(https.get("/", &reader).text().contains("token ann may read."), "the page names who looks at it");
    assert_eq!(https.post("/quarantine/add", &reader, ADD), 403);
    let file = sandbox.project().join(".unflake/quarantine.toml");
    assert!(!file.exists());
    assert_eq!(https.post("/quarantine/add", &writer, ADD.replace("days=3", "days=99").as_str()), 400);
    assert_eq!(https.post("/quarantine/add", &writer, ADD), 303);
    assert!(file.exists());

    let changes: serde_json::Value = serde_json::from_str(&https.get("/audit.json", &reader).body).unwrap();
    let of = |at: usize, field: &str| changes["changes"][at][field].as_str().unwrap_or_else(|| panic!("{changes}"));
    assert_eq!(
        (of(0, "who"), of(0, "action"), of(0, "what")),
        ("token nightly", "quarantine-add", "test_it.py::test_a")
    );
    assert_eq!(of(0, "detail"), "3 days, owner @ada: slow <server>");
    assert!(changes["changes"][0]["at"].as_i64().unwrap() > 1_700_000_000_000_000);
    assert_eq!((of(1, "action"), of(1, "what"), of(2, "what")), ("token-create", "nightly", "ann"));
    assert_eq!(changes["pages"]["total"], 3, "what was refused changed nothing: {changes}");
    let page = https.get("/audit", &reader).text();
    assert!(page.contains("token nightly  quarantine-add"), "{page}");

    // Browsers send a form, and get a cookie.
    let opened = https.ask("/sign-in", &[], Some(&format!("token={writer}")));
    assert_eq!(opened.status, 303);
    let cookie = opened.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict; Secure"), "{cookie}");
    let cookie = format!("Cookie: {}", cookie.split(';').next().unwrap());
    assert!(https.ask("/quarantine", &[&cookie], None).body.contains("action=\"/quarantine/remove\""));
    assert!(https.ask("/sign-in", &[], Some("token=no")).text().contains("unknown, expired or revoked"));
    let remove = "test=test_it.py%3A%3Atest_a";
    let foreign = https.ask("/quarantine/remove", &[&cookie, "Origin: https://evil.example"], Some(remove));
    assert_eq!(foreign.status, 403);

    let revoked = sandbox.unflake(["token", "revoke", "nightly"]).start().finish_in_parallel().expect_exit(0);
    assert_eq!(revoked.stdout, "nightly is revoked\n");
    assert_eq!(https.post("/quarantine/remove", &writer, remove), 401);
    assert_eq!(https.ask("/", &[&cookie], None).status, 401);
    assert_eq!(https.get("/", &reader).status, 200);
    let listed = sandbox.unflake(["token", "list"]).start().finish_in_parallel().expect_exit(0).stdout;
    assert!(listed.contains("VALID     read") && listed.contains("REVOKED   write"), "{listed}");
    for name in ["history.db", "history.db-wal"] {
        let stored = fs::read(sandbox.project().join(".unflake").join(name)).unwrap_or_default();
        assert!(!stored.windows(32).any(|part| writer.as_bytes().starts_with(part)), "{name} has the token");
    }
    assert_eq!(served.stop().0, Some(0));
}

#[test]
fn a_proxy_names_the_users() {
    let sandbox = failing();
    let options = |proxy: &'static str| {
        ["--listen", "127.0.0.1:0", "--trusted-proxy", proxy, "--url", "https://tests.example", "--writer", "ann"]
    };
    let served = Served::start_with(&sandbox, &options("127.0.0.1"));
    let ask = |method: &str, path: &str, headers: &str, form: &str| {
        let length = form.len();
        served.ask(&format!("{method} {path} HTTP/1.1\r\nContent-Length: {length}\r\n{headers}\r\n{form}"))
    };
    let host = "Host: tests.example\r\n";
    let user = |name: &str| format!("{host}X-Forwarded-User: {name}\r\n");
    assert_eq!(ask("GET", "/", host, "").status, 401);
    assert_eq!(ask("GET", "/", &user(""), "").status, 401);
    assert_eq!(ask("GET", "/", &format!("{}X-Forwarded-User: bob\r\n", user("ann")), "").status, 401);
    assert_eq!(ask("GET", "/", "Host: evil.example\r\nX-Forwarded-User: ann\r\n", "").status, 421);
    assert!(ask("GET", "/", &user("bob"), "").text().contains("bob may read."));
    assert_eq!(ask("POST", "/quarantine/add", &user("bob"), ADD).status, 403);
    let foreign = format!("{}Origin: https://evil.example\r\n", user("ann"));
    assert_eq!(ask("POST", "/quarantine/add", &foreign, ADD).status, 403);
    let own = format!("{}Origin: https://tests.example\r\n", user("ann"));
    assert_eq!(ask("POST", "/quarantine/add", &own, ADD).status, 303);
    let log = ask("GET", "/audit.json", &user("bob"), "").body;
    assert!(log.contains("\"who\":\"ann\"") && !log.contains("bob"), "{log}");
    assert_eq!(served.stop().0, Some(0));

    // Whoever else connects may name nobody.
    let served = Served::start_with(&sandbox, &options("10.9.9.9"));
    let refused = served.ask(&format!("GET / HTTP/1.1\r\n{}\r\n", user("ann")));
    assert_eq!(refused.status, 403);
    assert!(refused.text().contains("takes requests from its proxy only"), "{}", refused.text());
    assert_eq!(served.stop().0, Some(0));
}
