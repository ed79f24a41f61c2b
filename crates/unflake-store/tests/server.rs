//! Tests of errors that only a server has: unreachable, refused, read-only.

mod common;

use std::time::Duration;

use common::postgres::server;
use common::{TestLocation, batch, facts, location};
use unflake_store::{Store, StoreError};

const PASSWORD: &str = "pa55-w0rd";

/// A new schema that contains a history.
fn schema(name: &str) -> String {
    Store::open(location(&server().address_of(name))).unwrap();
    name.to_owned()
}

/// A new user with the password.
fn user(name: &str, encryption: &str) {
    server().ask(&format!("SET password_encryption = '{encryption}'; CREATE USER {name} PASSWORD '{PASSWORD}'"));
}

/// The message of an error, with the variable parts replaced.
fn message(error: &StoreError) -> String {
    let message = error.to_string();
    assert!(!message.contains(PASSWORD) && !format!("{error:?}").contains(PASSWORD), "{message}");
    message.replace(&server().port().to_string(), "PORT").replace(server().dir().to_str().unwrap(), "DIR")
}

fn refused(address: &str) -> String {
    message(&Store::open(location(address)).unwrap_err())
}

#[test]
fn all_password_methods_work() {
    for (user, encryption) in [("scrammer", "scram-sha-256"), ("older", "md5"), ("plain", "scram-sha-256")] {
        self::user(user, encryption);
        server().ask(&format!("GRANT CREATE ON DATABASE postgres TO {user}"));
        let address = server().address_as(user, PASSWORD, &format!("of_{user}"));
        let mut store = Store::open(location(&address)).unwrap();
        let run = store.begin(&facts()).unwrap();
        store.record(run, &batch(0, 3)).unwrap();
        assert_eq!(store.attempts_in(run).unwrap().len(), 3);
        assert!(!format!("{store:?} {}", store.location_text()).contains(PASSWORD));

        let wrong = refused(&server().address_as(user, "another", "x"));
        let expected = format!(
            "the history in postgres://{user}@127.0.0.1:PORT/postgres?schema=x cannot be opened. The reason given is: password \
             authentication failed for user \"{user}\" (28P01). Give a valid user and password: in the address, in PGPASSWORD, or in ~/.pgpass."
        );
        assert_eq!(wrong, expected);
    }
}

#[test]
fn a_missing_password_is_reported() {
    let address = server().address_as("somebody", "", "x").replace(":@", "@");
    assert_eq!(
        refused(&address),
        "the history in postgres://somebody@127.0.0.1:PORT/postgres?schema=x cannot be opened. The reason given is: the server asks for a password, and none was given. Give a valid user and password: in the address, in PGPASSWORD, or in ~/.pgpass."
    );
}

#[test]
fn a_missing_server_is_reported() {
    assert_eq!(
        refused("postgres://ann:pa55-w0rd@127.0.0.1:1/ci"),
        "the history in postgres://ann@127.0.0.1:1/ci cannot be reached. The reason given is: Connection refused (os error 111). Check that the server runs and accepts connections, and try again: recorded runs are safe."
    );
    let dir = tempfile::tempdir().unwrap();
    let nowhere = refused(&format!("postgres://ann:pa55-w0rd@/ci?host={}", dir.path().display()));
    assert!(nowhere.contains("cannot be reached") && nowhere.contains("No such file"), "{nowhere}");
}

#[test]
fn other_protocols_are_reported() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let other = std::thread::spawn(move || {
        use std::io::Write;
        let _ = listener.accept().unwrap().0.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    let error = Store::open(location(&format!("postgres://ann@127.0.0.1:{port}/ci"))).unwrap_err().to_string();
    assert!(error.contains("the server there is not PostgreSQL"), "{error}");
    other.join().unwrap();
}

#[test]
fn a_silent_server_times_out() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let began = std::time::Instant::now();
    let error = Store::open(location(&format!("postgres://ann@127.0.0.1:{port}/ci?connect_timeout=1"))).unwrap_err();
    assert!(error.to_string().contains("it does not respond"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
}

#[test]
fn a_missing_database_is_reported() {
    assert_eq!(
        refused(&server().address_of("x").replace("/postgres?", "/nothing?")),
        "the history in postgres://unflake@/nothing?host=DIR&port=PORT&schema=x cannot be opened. The reason given is: database \
         \"nothing\" does not exist (3D000). Create the database (createdb NAME), or name an existing one."
    );
}

#[test]
fn a_read_only_user_can_read_and_gets_an_error_on_writing() {
    let schema = schema("reading");
    user("reader", "scram-sha-256");
    server().ask(&format!(
        "GRANT USAGE ON SCHEMA {schema} TO reader; GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO reader"
    ));
    let mut writer = Store::open(location(&server().address_of(&schema))).unwrap();
    let run = writer.begin(&facts()).unwrap();
    writer.record(run, &batch(0, 3)).unwrap();
    let mut reader = Store::open(location(&server().address_as("reader", PASSWORD, &schema))).unwrap();
    assert_eq!(reader.attempts_in(run).unwrap().len(), 3);
    let error = reader.begin(&facts()).unwrap_err();
    assert!(matches!(error, StoreError::Unwritable { .. }), "{error:?}");
    assert_eq!(
        message(&error),
        "the history in postgres://reader@127.0.0.1:PORT/postgres?schema=reading cannot be written. The reason given is: permission \
         denied for table history (42501). Ask the owner of the tables for write permission, or name another user. Reading may still work."
    );
    assert_eq!(reader.attempts_in(run).unwrap().len(), 3, "and goes on reading");

    let nothing = refused(&server().address_as("reader", PASSWORD, "new"));
    assert!(nothing.contains("cannot be written") && nothing.contains("permission denied for database"), "{nothing}");
}

#[test]
fn newer_tables_are_refused_even_after_opening() {
    let schema = schema("newer");
    let address = server().address_of(&schema);
    let mut early = Store::open(location(&address)).unwrap();
    server().ask(&format!("UPDATE {schema}.history SET version = 99"));
    let error = Store::open(location(&address)).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error:?}");
    assert!(message(&error).ends_with("or name another schema (`?schema=NAME`) to begin a new history."), "{error}");
    let error = early.begin(&facts()).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error:?}");
}

#[test]
fn older_tables_are_migrated_by_their_owner_only() {
    let schema = schema("older_tables");
    let address = server().address_of(&schema);
    let mut store = Store::open(location(&address)).unwrap();
    let run = store.begin(&facts()).unwrap();
    store.record(run, &batch(0, 3)).unwrap();
    drop(store);
    // The tables of version 5.
    server().ask(&format!(
        "DROP TABLE {schema}.finding, {schema}.prepared, {schema}.feedback, {schema}.body, {schema}.renamed, {schema}.test_file,
             {schema}.world, {schema}.shard, {schema}.split, {schema}.token, {schema}.audit;
         ALTER TABLE {schema}.run DROP COLUMN origin;
         ALTER TABLE {schema}.event RENAME TO told;
         ALTER INDEX {schema}.event_by_run RENAME TO told_by_run;
         ALTER TABLE {schema}.attempt DROP COLUMN load;
         ALTER TABLE {schema}.circumstance DROP COLUMN world;
         UPDATE {schema}.history SET version = 5"
    ));
    user("guest", "scram-sha-256");
    server().ask(&format!(
        "GRANT USAGE ON SCHEMA {schema} TO guest; GRANT SELECT, UPDATE ON ALL TABLES IN SCHEMA {schema} TO guest"
    ));
    let message = refused(&server().address_as("guest", PASSWORD, &schema));
    assert!(
        message.contains("is older than this unflake and was left as it is. Its tables have version 5, "),
        "{message}"
    );
    assert!(
        message.contains("permission denied for schema") && message.contains("Let the user that owns the tables"),
        "{message}"
    );

    let store = Store::open(location(&address)).unwrap();
    assert_eq!(store.attempts_in(run).unwrap().len(), 3);
    assert_eq!(store.feedback().unwrap(), []);
}

#[test]
fn a_locked_history_is_busy() {
    let TestLocation::Server(address) = TestLocation::server() else { unreachable!("it is on a server") };
    let mut store = Store::open(location(&address)).unwrap();
    store.set_busy_timeout(Duration::from_millis(100)).unwrap();
    let schema = address.rsplit('=').next().unwrap().to_owned();
    let other = std::thread::spawn(move || {
        server().ask(&format!("BEGIN; SELECT version FROM {schema}.history FOR UPDATE; SELECT pg_sleep(3)"))
    });
    std::thread::sleep(Duration::from_secs(1));
    let error = store.begin(&facts()).unwrap_err();
    assert!(matches!(error, StoreError::Busy { .. }), "{error:?}");
    other.join().unwrap();
    store.begin(&facts()).unwrap();
}

#[test]
fn a_store_reconnects_after_a_lost_connection() {
    user("cut", "scram-sha-256");
    server().ask("GRANT CREATE ON DATABASE postgres TO cut");
    let mut store = Store::open(location(&server().address_as("cut", PASSWORD, "of_cut"))).unwrap();
    let run = store.begin(&facts()).unwrap();
    store.record(run, &batch(0, 3)).unwrap();
    let cut = || server().ask("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = 'cut'");
    assert_eq!(cut(), "t");
    store.record(run, &batch(3, 3)).unwrap();
    assert_eq!(store.attempts_in(run).unwrap().len(), 6);
    assert_eq!(cut(), "t");
    assert_eq!(store.attempts_in(run).unwrap().len(), 6, "what is read is asked again");
    // A user who may not log in any more is refused.
    server().ask("ALTER USER cut NOLOGIN");
    assert_eq!(cut(), "t");
    let error = store.attempts_in(run).unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }), "{error:?}");
    server().ask("ALTER USER cut LOGIN");
    assert_eq!(store.attempts_in(run).unwrap().len(), 6);
}

#[test]
fn a_database_without_utf8_is_refused() {
    server().ask("CREATE DATABASE western ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'");
    let message = refused(&server().address_of("x").replace("/postgres?", "/western?"));
    assert_eq!(
        message,
        "the history in postgres://unflake@/western?host=DIR&port=PORT&schema=x cannot be opened. The reason given is: its database \
         has the encoding LATIN1; UTF8 is required. Create a UTF-8 database (createdb -E UTF8 -T template0 NAME)."
    );
}

#[test]
fn names_and_texts_of_any_length_round_trip() {
    let mut store = TestLocation::server().open();
    let run = store.begin(&facts()).unwrap();
    // Hardly compressible.
    let name: String =
        (0..40_000_u32).map(|n| char::from(b'a' + (n.wrapping_mul(2_654_435_761) >> 27) as u8 % 26)).collect();
    let attempt = common::failing(&name, 0, &"x".repeat(20 << 20));
    store.record(run, &common::attempted([attempt.clone(), attempt.clone()])).unwrap();
    assert!(store.attempts_in(run).unwrap() == [attempt.clone(), attempt]);
    assert_eq!(store.tests().unwrap().len(), 1);
}
