//! What only a server can do: not be there, not let us in, not let us write.

mod common;

use std::time::Duration;

use common::postgres::server;
use common::{Home, batch, facts, place};
use unflake_store::{Store, StoreError};

const PASSWORD: &str = "pa55-w0rd";

/// A schema of its own with a history in it.
fn schema(name: &str) -> String {
    Store::open(place(&server().address_of(name))).unwrap();
    name.to_owned()
}

/// A user of its own, with the password.
fn user(name: &str, encryption: &str) {
    server().ask(&format!("SET password_encryption = '{encryption}'; CREATE USER {name} PASSWORD '{PASSWORD}'"));
}

/// The words of an error, with what differs from run to run left out.
fn words(error: &StoreError) -> String {
    let words = error.to_string();
    assert!(!words.contains(PASSWORD) && !format!("{error:?}").contains(PASSWORD), "{words}");
    words.replace(&server().port().to_string(), "PORT").replace(server().dir().to_str().unwrap(), "DIR")
}

fn refused(address: &str) -> String {
    words(&Store::open(place(address)).unwrap_err())
}

#[test]
fn passwords_are_shown_in_every_way_that_servers_ask_for_them() {
    for (user, encryption) in [("scrammer", "scram-sha-256"), ("older", "md5"), ("plain", "scram-sha-256")] {
        self::user(user, encryption);
        server().ask(&format!("GRANT CREATE ON DATABASE postgres TO {user}"));
        let address = server().address_as(user, PASSWORD, &format!("of_{user}"));
        let mut store = Store::open(place(&address)).unwrap();
        let run = store.begin(&facts()).unwrap();
        store.record(run, &batch(0, 3)).unwrap();
        assert_eq!(store.attempts_in(run).unwrap().len(), 3);
        assert!(!format!("{store:?} {}", store.whereabouts()).contains(PASSWORD));

        let wrong = refused(&server().address_as(user, "another", "x"));
        let expected = format!(
            "the history in postgres://{user}@127.0.0.1:PORT/postgres?schema=x cannot be opened. The reason given is: password \
             authentication failed for user \"{user}\" (28P01). Give a user and a password that the server knows: in the \
             address, in PGPASSWORD, or in ~/.pgpass."
        );
        assert_eq!(wrong, expected);
    }
}

#[test]
fn a_password_that_is_not_given_is_asked_for() {
    let address = server().address_as("somebody", "", "x").replace(":@", "@");
    assert_eq!(
        refused(&address),
        "the history in postgres://somebody@127.0.0.1:PORT/postgres?schema=x cannot be opened. The reason given is: the server asks \
         for a password, and none is given. Give a user and a password that the server knows: in the address, in PGPASSWORD, or in \
         ~/.pgpass."
    );
}

#[test]
fn a_server_that_is_not_there_is_told_as_such() {
    assert_eq!(
        refused("postgres://ann:pa55-w0rd@127.0.0.1:1/ci"),
        "the history in postgres://ann@127.0.0.1:1/ci cannot be reached. The reason given is: Connection refused (os error 111). See \
         that the server runs and takes connections there, and try again: what was recorded before is safe, and what was not yet is \
         kept whole or not at all."
    );
    let dir = tempfile::tempdir().unwrap();
    let nowhere = refused(&format!("postgres://ann:pa55-w0rd@/ci?host={}", dir.path().display()));
    assert!(nowhere.contains("cannot be reached") && nowhere.contains("No such file"), "{nowhere}");
}

#[test]
fn what_is_no_postgresql_is_told_as_such() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let other = std::thread::spawn(move || {
        use std::io::Write;
        let _ = listener.accept().unwrap().0.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    let error = Store::open(place(&format!("postgres://ann@127.0.0.1:{port}/ci"))).unwrap_err().to_string();
    assert!(error.contains("what answers there is no PostgreSQL"), "{error}");
    other.join().unwrap();
}

#[test]
fn a_server_that_never_answers_is_not_waited_for_for_ever() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let began = std::time::Instant::now();
    let error = Store::open(place(&format!("postgres://ann@127.0.0.1:{port}/ci?connect_timeout=1"))).unwrap_err();
    assert!(error.to_string().contains("it does not answer"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
}

#[test]
fn a_database_that_is_not_there_is_told_as_such() {
    assert_eq!(
        refused(&server().address_of("x").replace("/postgres?", "/nothing?")),
        "the history in postgres://unflake@/nothing?host=DIR&port=PORT&schema=x cannot be opened. The reason given is: database \
         \"nothing\" does not exist (3D000). Make the database (createdb NAME), or name one that is there."
    );
}

#[test]
fn a_user_who_may_only_read_reads_and_is_told_that_he_cannot_write() {
    let schema = schema("reading");
    user("reader", "scram-sha-256");
    server().ask(&format!(
        "GRANT USAGE ON SCHEMA {schema} TO reader; GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO reader"
    ));
    let mut writer = Store::open(place(&server().address_of(&schema))).unwrap();
    let run = writer.begin(&facts()).unwrap();
    writer.record(run, &batch(0, 3)).unwrap();
    let mut reader = Store::open(place(&server().address_as("reader", PASSWORD, &schema))).unwrap();
    assert_eq!(reader.attempts_in(run).unwrap().len(), 3);
    let error = reader.begin(&facts()).unwrap_err();
    assert!(matches!(error, StoreError::Unwritable { .. }), "{error:?}");
    assert_eq!(
        words(&error),
        "the history in postgres://reader@127.0.0.1:PORT/postgres?schema=reading cannot be written. The reason given is: permission \
         denied for table history (42501). Let the owner of the tables grant this user to write, or name a user that may. Reading \
         it may work all the same."
    );
    assert_eq!(reader.attempts_in(run).unwrap().len(), 3, "and goes on reading");

    let nothing = refused(&server().address_as("reader", PASSWORD, "new"));
    assert!(nothing.contains("cannot be written") && nothing.contains("permission denied for database"), "{nothing}");
}

#[test]
fn tables_of_a_newer_unflake_are_left_alone_also_when_they_become_so_later() {
    let schema = schema("newer");
    let address = server().address_of(&schema);
    let mut early = Store::open(place(&address)).unwrap();
    server().ask(&format!("UPDATE {schema}.history SET version = 99"));
    let error = Store::open(place(&address)).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error:?}");
    assert!(words(&error).ends_with("or name another schema (`?schema=NAME`) to begin a new history."), "{error}");
    let error = early.begin(&facts()).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error:?}");
}

#[test]
fn older_tables_are_brought_forward_by_who_may_and_told_to_who_may_not() {
    let schema = schema("older_tables");
    let address = server().address_of(&schema);
    let mut store = Store::open(place(&address)).unwrap();
    let run = store.begin(&facts()).unwrap();
    store.record(run, &batch(0, 3)).unwrap();
    drop(store);
    // As version 5 had them.
    server().ask(&format!(
        "DROP TABLE {schema}.said, {schema}.prepared, {schema}.answer, {schema}.body, {schema}.renamed; UPDATE {schema}.history SET version = 5"
    ));
    user("guest", "scram-sha-256");
    server().ask(&format!(
        "GRANT USAGE ON SCHEMA {schema} TO guest; GRANT SELECT, UPDATE ON ALL TABLES IN SCHEMA {schema} TO guest"
    ));
    let told = refused(&server().address_as("guest", PASSWORD, &schema));
    assert!(told.contains("is older than this unflake and was left as it is. Its tables have version 5, "), "{told}");
    assert!(
        told.contains("permission denied for schema") && told.contains("Let the user that owns the tables"),
        "{told}"
    );

    let store = Store::open(place(&address)).unwrap();
    assert_eq!(store.attempts_in(run).unwrap().len(), 3);
    assert_eq!(store.answers().unwrap(), []);
}

#[test]
fn a_history_that_another_process_never_lets_go_of_is_told_as_busy() {
    let Home::Server(address) = Home::server() else { unreachable!("it is on a server") };
    let mut store = Store::open(place(&address)).unwrap();
    store.patience(Duration::from_millis(100)).unwrap();
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
fn a_store_goes_on_after_its_connection_was_cut() {
    user("cut", "scram-sha-256");
    server().ask("GRANT CREATE ON DATABASE postgres TO cut");
    let mut store = Store::open(place(&server().address_as("cut", PASSWORD, "of_cut"))).unwrap();
    let run = store.begin(&facts()).unwrap();
    store.record(run, &batch(0, 3)).unwrap();
    let cut = || server().ask("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = 'cut'");
    assert_eq!(cut(), "t");
    store.record(run, &batch(3, 3)).unwrap();
    assert_eq!(store.attempts_in(run).unwrap().len(), 6);
    assert_eq!(cut(), "t");
    assert_eq!(store.attempts_in(run).unwrap().len(), 6, "what is read is asked again");
    // Who has gone for good is told as gone.
    server().ask("ALTER USER cut NOLOGIN");
    assert_eq!(cut(), "t");
    let error = store.attempts_in(run).unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }), "{error:?}");
    server().ask("ALTER USER cut LOGIN");
    assert_eq!(store.attempts_in(run).unwrap().len(), 6);
}

#[test]
fn a_database_that_does_not_keep_all_characters_is_refused() {
    server().ask("CREATE DATABASE western ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'");
    let told = refused(&server().address_of("x").replace("/postgres?", "/western?"));
    assert_eq!(
        told,
        "the history in postgres://unflake@/western?host=DIR&port=PORT&schema=x cannot be opened. The reason given is: its database \
         keeps texts as LATIN1, and tests print other characters. Make a database that keeps all characters (createdb -E UTF8 -T \
         template0 NAME)."
    );
}

#[test]
fn names_and_texts_of_any_length_are_kept() {
    let mut store = Home::server().open();
    let run = store.begin(&facts()).unwrap();
    // Does not shrink much when it is packed.
    let name: String =
        (0..40_000_u32).map(|n| char::from(b'a' + (n.wrapping_mul(2_654_435_761) >> 27) as u8 % 26)).collect();
    let attempt = common::failing(&name, 0, &"x".repeat(20 << 20));
    store.record(run, &common::attempted([attempt.clone(), attempt.clone()])).unwrap();
    assert!(store.attempts_in(run).unwrap() == [attempt.clone(), attempt]);
    assert_eq!(store.tests().unwrap().len(), 1);
}
