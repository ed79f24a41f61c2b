//! Tests of encrypted connections: what each `sslmode` accepts, and what a login is bound to.

mod common;

use common::postgres::{PostgresServer, server};
use common::{batch, facts, location};
use unflake_store::{Store, StoreError};

const PASSWORD: &str = "pa55-w0rd";

/// A user with a password, and an address as that user over TCP.
fn user(name: &str) -> String {
    user_with(name, "scram-sha-256")
}

fn user_with(name: &str, encryption: &str) -> String {
    let create = format!("CREATE USER {name} PASSWORD '{PASSWORD}'; GRANT CREATE ON DATABASE postgres TO {name}");
    server().ask(&format!("SET password_encryption = '{encryption}'; {create}"));
    server().address_as(name, PASSWORD, &format!("of_{name}"))
}

fn file(server: &PostgresServer, name: &str) -> String {
    server.dir().join(name).display().to_string()
}

/// What the server says about the connection: how the user's sessions are encrypted.
fn encryption(user: &str) -> String {
    server().ask(&format!(
        "SELECT string_agg(DISTINCT ssl::text, ' ') FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = '{user}'"
    ))
}

fn opened(address: &str) -> Store {
    Store::open(location(address)).unwrap_or_else(|error| panic!("{address}: {error}"))
}

fn refused(address: &str) -> String {
    let error = Store::open(location(address)).unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }), "{address}: {error:?}");
    let text = error.to_string();
    assert!(!text.contains(PASSWORD), "{text}");
    text
}

/// Waits until new sessions have a setting that ends like this.
fn wait_for(server: &PostgresServer, setting: &str, end: &str) {
    let is_there = || server.ask(&format!("SHOW {setting}")).ends_with(end);
    assert!((0..300).any(|_| is_there()), "{setting} does not become {end}");
    // Sessions over TCP see it when they start, which may be a little later.
    std::thread::sleep(std::time::Duration::from_millis(300));
}

#[test]
fn every_mode_encrypts_as_it_says() {
    let address = user("modes");
    let root = file(server(), "root.crt");
    let named = address.replace("127.0.0.1", "localhost");
    let check = |address: String, encrypted: &str| {
        let mut store = opened(&address);
        assert_eq!(encryption("modes"), encrypted, "{address}");
        let run = store.begin(&facts()).unwrap();
        store.record(run, &batch(0, 3_000)).unwrap();
        assert_eq!(store.attempts_in(run).unwrap().len(), 3_000);
    };
    check(address.clone(), "true");
    check(format!("{address}&sslmode=disable"), "false");
    check(format!("{address}&sslmode=allow"), "false");
    check(format!("{address}&sslmode=prefer"), "true");
    check(format!("{address}&sslmode=require"), "true");
    check(format!("{address}&sslmode=verify-ca&sslrootcert={root}"), "true");
    check(format!("{named}&sslmode=verify-full&sslrootcert={root}"), "true");
    check(format!("{named}&sslmode=require&sslrootcert={root}"), "true");
}

#[test]
fn servers_that_prove_too_little_are_refused() {
    let address = user("doubting");
    let (root, other) = (file(server(), "root.crt"), file(server(), "other.crt"));
    let unknown = refused(&format!("{address}&sslmode=verify-ca&sslrootcert={other}"));
    assert!(unknown.contains("TLS failed: invalid peer certificate: UnknownIssuer"), "{unknown}");
    assert!(unknown.contains("Check the certificate of the server"), "{unknown}");
    let name = refused(&format!("{address}&sslmode=verify-full&sslrootcert={root}"));
    assert!(name.contains("not valid for name \"127.0.0.1\""), "{name}");
    // As in libpq, an existing root certificate makes `require` verify the authority.
    refused(&format!("{address}&sslmode=require&sslrootcert={other}"));
    opened(&format!("{address}&sslmode=require&sslrootcert=/nowhere/root.crt"));
    let missing = refused(&format!("{address}&sslmode=verify-ca&sslrootcert=/nowhere/root.crt"));
    assert!(missing.contains("/nowhere/root.crt cannot be read"), "{missing}");
    // The authorities of this machine do not know the server.
    refused(&format!("{}&sslrootcert=system", address.replace("127.0.0.1", "localhost")));
}

#[test]
fn kinds_of_certificates_are_told_apart() {
    let server = PostgresServer::start();
    server.ask(&format!("CREATE USER ann PASSWORD '{PASSWORD}'; GRANT CREATE ON DATABASE postgres TO ann"));
    let address = server.address_as("ann", PASSWORD, "x").replace("127.0.0.1", "localhost");
    let full = |root: &str| format!("{address}&sslmode=verify-full&sslrootcert={}", file(&server, root));
    let present = |name: &str| {
        server.ask(&format!("ALTER SYSTEM SET ssl_cert_file = '{}'", file(&server, name)));
        server.ask("SELECT pg_reload_conf()");
        wait_for(&server, "ssl_cert_file", name);
    };
    opened(&full("root.crt"));

    present("expired.crt");
    let error = refused(&full("root.crt"));
    assert!(error.contains("invalid peer certificate: Expired"), "{error}");
    opened(&format!("{address}&sslmode=require"));

    // The server is its own authority.
    present("own.crt");
    opened(&full("own.crt"));
    refused(&full("root.crt"));
    refused(&full("own.crt").replace("localhost", "127.0.0.1"));
    opened(&full("own.crt").replace("localhost", "127.0.0.1").replace("verify-full", "verify-ca"));

    present("version1.crt");
    opened(&format!("{address}&sslmode=require"));
    refused(&full("root.crt"));

    server.ask("ALTER SYSTEM SET ssl = off");
    server.ask("SELECT pg_reload_conf()");
    wait_for(&server, "ssl", "off");
    let error = refused(&format!("{address}&sslmode=require"));
    assert!(error.contains("the server does not encrypt connections"), "{error}");
    opened(&address);
}

#[test]
fn rules_of_the_server_for_encryption_are_met() {
    let (plain, tls) = (user("only_plain"), user("only_tls"));
    opened(&plain);
    opened(&tls);
    opened(&format!("{tls}&sslmode=allow"));
    assert!(refused(&format!("{plain}&sslmode=require")).contains("28000"));
    assert!(refused(&format!("{tls}&sslmode=disable")).contains("with or without TLS"));
}

#[test]
fn a_client_certificate_logs_in() {
    server().ask("CREATE USER by_cert; GRANT CREATE ON DATABASE postgres TO by_cert");
    let address = server().address_as("by_cert", "", "of_by_cert").replace(":@", "@");
    assert!(refused(&address).contains("28000"));
    // The test runs as another user than the server, which owns the key.
    let dir = tempfile::tempdir().unwrap();
    let key = dir.path().join("by_cert.key");
    std::fs::copy(server().dir().join("by_cert.key"), &key).unwrap();
    let set_mode = |mode| {
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(&key, permissions).unwrap();
    };
    set_mode(0o644);
    let address = format!("{address}&sslcert={}&sslkey={}", file(server(), "by_cert.crt"), key.display());
    let readable = refused(&format!("{address}&sslmode=require"));
    assert!(readable.contains("others can read the private key"), "{readable}");
    set_mode(0o600);
    opened(&format!("{address}&sslmode=require"));
    let root = file(server(), "root.crt");
    opened(&format!("{}&sslmode=verify-full&sslrootcert={root}", address.replace("127.0.0.1", "localhost")));
}

#[test]
fn a_login_can_be_bound_to_the_connection() {
    let address = user("bound");
    opened(&format!("{address}&channel_binding=require"));
    opened(&format!("{address}&channel_binding=disable"));
    let plain = refused(&format!("{address}&channel_binding=require&sslmode=disable"));
    assert!(plain.contains("channel_binding=require needs an encrypted connection"), "{plain}");
    // MD5 and passwords in clear text bind nothing.
    for (name, encryption) in [("older", "md5"), ("plain", "scram-sha-256")] {
        let address = user_with(name, encryption);
        let error = refused(&format!("{address}&channel_binding=require&sslmode=require"));
        assert!(error.contains("does not bind the login"), "{error}");
    }
}
