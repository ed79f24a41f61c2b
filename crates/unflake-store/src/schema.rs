//! The database schema and its migrations.

use rusqlite::{Connection, Result, TransactionBehavior};

/// Migration n brings a database of version n to version n + 1. A released migration is never
/// edited. `postgres/dialect.rs` translates them for PostgreSQL.
///
/// 1: the first. 2: dependencies and uncommitted changes. 3: imported reports. 4: assertion
/// samples. 5: CI jobs. 6: findings and feedback. 7: body hashes and renames. 8: hashes of test
/// files. 9: tables and stored findings get the names that the rest of unflake uses. 10: load. 11: worlds.
/// 12: shards. 13: access tokens and the audit log.
pub(crate) const MIGRATIONS: &[&str] = &[
    VERSION_1, VERSION_2, VERSION_3, VERSION_4, VERSION_5, VERSION_6, VERSION_7, VERSION_8, VERSION_9, VERSION_10,
    VERSION_11, VERSION_12, VERSION_13,
];

/// The version that this unflake writes. `PRAGMA user_version` contains it, on a server the table
/// `history`; 0 is a database without tables.
pub(crate) const CURRENT_VERSION: i32 = MIGRATIONS.len() as i32;

const VERSION_1: &str = "
-- Times are microseconds since the Unix epoch. Enums have the serde names of the model.

-- One invocation of unflake.
CREATE TABLE run (
    id          INTEGER PRIMARY KEY,
    command     TEXT    NOT NULL,  -- a JSON array of strings
    cwd         TEXT    NOT NULL,
    started     INTEGER NOT NULL,
    ended       INTEGER,           -- NULL: still going on, or killed
    exit        INTEGER,
    version     TEXT    NOT NULL,  -- of unflake
    host        TEXT    NOT NULL,
    os          TEXT    NOT NULL,
    arch        TEXT    NOT NULL,
    cpus        INTEGER NOT NULL,
    commit_hash TEXT,              -- these three: NULL when not known
    tree_hash   TEXT,
    dirty       INTEGER,
    listed      INTEGER,           -- tests that the runner listed, and those it left out
    deselected  INTEGER,
    attempts    INTEGER NOT NULL DEFAULT 0
) STRICT;

-- A test that was ever listed or run, with its latest location.
CREATE TABLE test (
    id   INTEGER PRIMARY KEY,
    name TEXT    NOT NULL UNIQUE,
    file TEXT,
    line INTEGER
) STRICT;

-- Long texts, each stored once. Looked up by hash and compared in full.
CREATE TABLE text (
    id   INTEGER PRIMARY KEY,
    hash INTEGER NOT NULL,
    body TEXT    NOT NULL
) STRICT;
CREATE INDEX text_by_hash ON text (hash);

-- The shared columns of all attempts of one session in one environment.
CREATE TABLE circumstance (
    id          INTEGER PRIMARY KEY,
    run         INTEGER NOT NULL REFERENCES run,
    session     INTEGER NOT NULL,
    environment INTEGER NOT NULL,
    purpose     TEXT    NOT NULL,
    origin      TEXT    NOT NULL,
    UNIQUE (run, session, environment, purpose, origin)
) STRICT;

-- One execution of one test.
CREATE TABLE attempt (
    id           INTEGER PRIMARY KEY,
    test         INTEGER NOT NULL REFERENCES test,
    circumstance INTEGER NOT NULL REFERENCES circumstance,
    position     INTEGER NOT NULL,  -- attempts that its environment had made before
    again        INTEGER NOT NULL,  -- 0: the first time within its session
    outcome      TEXT    NOT NULL,
    started      INTEGER NOT NULL,
    seconds      REAL,              -- NULL: not a number
    stdout       INTEGER REFERENCES text,  -- NULL: empty
    stderr       INTEGER REFERENCES text
) STRICT;
CREATE INDEX attempt_by_test ON attempt (test);
CREATE INDEX attempt_by_circumstance ON attempt (circumstance);

-- The failure of an attempt.
CREATE TABLE failure (
    attempt INTEGER PRIMARY KEY REFERENCES attempt,
    phase   TEXT    NOT NULL,
    kind    INTEGER NOT NULL REFERENCES text,
    message INTEGER NOT NULL REFERENCES text,
    trace   INTEGER NOT NULL REFERENCES text,
    file    INTEGER REFERENCES text,
    line    INTEGER
) STRICT;

-- All other observations of a run, in order. Few, and always read together.
CREATE TABLE told (
    id   INTEGER PRIMARY KEY,
    run  INTEGER NOT NULL REFERENCES run,
    body TEXT    NOT NULL  -- JSON; tests in it are ids
) STRICT;
CREATE INDEX told_by_run ON told (run);
";

const VERSION_2: &str = "
ALTER TABLE run ADD COLUMN changed TEXT;  -- a JSON array of paths; NULL: not known

-- The latest recorded dependencies of a test.
CREATE TABLE dependency (
    test     INTEGER PRIMARY KEY REFERENCES test,
    run      INTEGER NOT NULL REFERENCES run,
    own      INTEGER NOT NULL REFERENCES text,  -- JSON, without
    searched INTEGER NOT NULL REFERENCES text   -- its largest part, which most tests of a run share
) STRICT;
";

const VERSION_3: &str = "
-- An imported file of test results.
CREATE TABLE report (
    id          INTEGER PRIMARY KEY,
    key         TEXT    NOT NULL UNIQUE,  -- made of its contents: the same file comes in once
    format      TEXT    NOT NULL,
    path        TEXT    NOT NULL,         -- as it was given
    size        INTEGER NOT NULL,
    started     INTEGER NOT NULL,         -- when its tests ran
    imported    INTEGER NOT NULL,
    commit_hash TEXT,                     -- these four: NULL when not known
    branch      TEXT,
    ci_run      TEXT,
    ci_attempt  INTEGER,
    executions  INTEGER NOT NULL DEFAULT 0,  -- so many of it are here: where an import that was cut short goes on
    ended       TEXT                      -- NULL: not all is here; empty: all is; else why it breaks off
) STRICT;

-- Executions, many per row: reports have tens of thousands, and scores read millions. packed.rs
-- describes the encoding. The executions of a report are numbered from 0 in its own order.
CREATE TABLE packed (
    report INTEGER NOT NULL REFERENCES report,
    first  INTEGER NOT NULL,
    body   BLOB    NOT NULL,
    PRIMARY KEY (report, first)
) STRICT, WITHOUT ROWID;

-- The failure of an imported execution.
CREATE TABLE reported_failure (
    report  INTEGER NOT NULL REFERENCES report,
    number  INTEGER NOT NULL,
    kind    INTEGER NOT NULL REFERENCES text,
    message INTEGER NOT NULL REFERENCES text,
    trace   INTEGER NOT NULL REFERENCES text,
    PRIMARY KEY (report, number)
) STRICT, WITHOUT ROWID;
";

const VERSION_4: &str = "
-- An assertion in the sources, evaluated in a test.
CREATE TABLE assertion (
    id         INTEGER PRIMARY KEY,
    test       INTEGER NOT NULL REFERENCES test,
    file       TEXT    NOT NULL,
    function   TEXT    NOT NULL,
    expression TEXT    NOT NULL,
    ordinal    INTEGER NOT NULL,
    UNIQUE (test, file, function, expression, ordinal)
) STRICT;

-- The values of an assertion in a run that executed its test several times.
CREATE TABLE sample (
    run       INTEGER NOT NULL REFERENCES run,
    assertion INTEGER NOT NULL REFERENCES assertion,
    body      TEXT    NOT NULL,                  -- a hash of the function around it
    groups    INTEGER NOT NULL REFERENCES text,  -- JSON: what it saw, how often
    PRIMARY KEY (run, assertion)
) STRICT, WITHOUT ROWID;
";

const VERSION_5: &str = "
ALTER TABLE report ADD COLUMN job TEXT;  -- what the CI calls the part of the run that it comes from; NULL: not known
";

const VERSION_6: &str = "
-- The findings of a run. Rows of these three tables are only added; the latest one counts.
CREATE TABLE said (
    id      INTEGER PRIMARY KEY,
    run     INTEGER NOT NULL REFERENCES run,
    test    INTEGER NOT NULL REFERENCES test,
    finding TEXT    NOT NULL,  -- the same for the same test, technique, kind and place
    body    TEXT    NOT NULL   -- JSON
) STRICT;
CREATE INDEX said_by_finding ON said (finding);
CREATE INDEX said_by_test ON said (test);

-- Reports that were prepared in advance.
CREATE TABLE prepared (
    id   INTEGER PRIMARY KEY,
    run  INTEGER NOT NULL REFERENCES run,
    test INTEGER NOT NULL REFERENCES test,
    tree TEXT    NOT NULL,  -- a hash of the files as they were
    body TEXT    NOT NULL   -- JSON
) STRICT;
CREATE INDEX prepared_by_test ON prepared (test, tree);

-- Feedback: whether people found a finding useful.
CREATE TABLE answer (
    id      INTEGER PRIMARY KEY,
    finding TEXT    NOT NULL,
    useful  INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    why     TEXT
) STRICT;
CREATE INDEX answer_by_finding ON answer (finding);
";

const VERSION_7: &str = "
-- A hash of the body of a test when it was last listed, independent of its name and location.
CREATE TABLE body (
    test INTEGER PRIMARY KEY REFERENCES test,
    hash TEXT    NOT NULL
) STRICT;

-- A test that disappeared when another one with the same body appeared.
CREATE TABLE renamed (
    test INTEGER PRIMARY KEY REFERENCES test,
    now  INTEGER NOT NULL REFERENCES test,
    run  INTEGER NOT NULL REFERENCES run,
    back INTEGER REFERENCES run  -- the run in which the old one was there again; NULL: none, or it has gone once more
) STRICT;
";

const VERSION_8: &str = "
-- The content of a test file when the bodies of its tests were last hashed.
CREATE TABLE test_file (
    id   INTEGER PRIMARY KEY,
    path TEXT    NOT NULL UNIQUE,
    hash TEXT    NOT NULL
) STRICT;
";

const VERSION_9: &str = "
DROP INDEX told_by_run;
ALTER TABLE told RENAME TO event;
CREATE INDEX event_by_run ON event (run);

DROP INDEX said_by_finding;
DROP INDEX said_by_test;
ALTER TABLE said RENAME TO finding;
ALTER TABLE finding RENAME COLUMN finding TO fingerprint;
CREATE INDEX finding_by_fingerprint ON finding (fingerprint);
CREATE INDEX finding_by_test ON finding (test);

DROP INDEX answer_by_finding;
ALTER TABLE answer RENAME TO feedback;
ALTER TABLE feedback RENAME COLUMN finding TO fingerprint;
CREATE INDEX feedback_by_fingerprint ON feedback (fingerprint);

-- A quote inside a JSON string is escaped, so only keys and whole values match.
UPDATE finding SET body = replace(
    replace(body, '\"partings\":', '\"points\":'),
    '\"kind\":\"suspected\"', '\"kind\":\"possible\"');
UPDATE prepared SET body = replace(body, '\"partings\":', '\"points\":');
";

const VERSION_10: &str = "
ALTER TABLE attempt ADD COLUMN load REAL;  -- load average per core; NULL: unknown
";

const VERSION_11: &str = "
-- The worlds in which attempts were made.
CREATE TABLE world (
    hash INTEGER PRIMARY KEY,  -- of its content
    body TEXT    NOT NULL      -- JSON
) STRICT;
ALTER TABLE circumstance ADD COLUMN world INTEGER;  -- its hash; NULL: not recorded
";

const VERSION_12: &str = "
-- Of a run that was taken over from another history: what it is recognized by.
ALTER TABLE run ADD COLUMN origin TEXT;

-- How the tests of a suite were split. The latest row of a suite counts.
CREATE TABLE split (
    id     INTEGER PRIMARY KEY,
    suite  TEXT    NOT NULL,  -- what its shards have in common; empty: nothing
    shards INTEGER NOT NULL,
    body   INTEGER NOT NULL REFERENCES text  -- JSON: the tests of each shard, by id
) STRICT;

-- A run that was one shard of a suite.
CREATE TABLE shard (
    run     INTEGER PRIMARY KEY REFERENCES run,
    number  INTEGER NOT NULL,  -- from 1
    shards  INTEGER NOT NULL,
    suite   TEXT    NOT NULL,
    listed  INTEGER NOT NULL,  -- tests that the runner listed, for all shards together
    listing TEXT    NOT NULL,  -- a hash of their names
    planned INTEGER NOT NULL REFERENCES text  -- JSON: the tests of this shard, by id
) STRICT;
";

const VERSION_13: &str = "
-- Tokens with which programs and people use `unflake serve` from other machines.
CREATE TABLE token (
    id      INTEGER PRIMARY KEY,
    name    TEXT    NOT NULL,
    secret  TEXT    NOT NULL,  -- its SHA-256
    role    TEXT    NOT NULL,
    created INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    revoked INTEGER            -- NULL: it is valid until it expires
) STRICT;
CREATE INDEX token_by_secret ON token (secret);

-- What was changed through the pages, and who changed it. Rows are only added.
CREATE TABLE audit (
    id     INTEGER PRIMARY KEY,
    at     INTEGER NOT NULL,
    who    TEXT    NOT NULL,
    action TEXT    NOT NULL,
    what   TEXT    NOT NULL,  -- such as the name of a test
    detail TEXT    NOT NULL
) STRICT;
";

pub(crate) fn version(connection: &Connection) -> Result<i32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Whether the database has tables, and not those that every version of the schema has.
pub(crate) fn is_foreign(connection: &Connection) -> Result<bool> {
    let count = |condition: &str| -> Result<i64> {
        connection.query_row(&format!("SELECT count(*) FROM sqlite_schema WHERE {condition}"), [], |row| row.get(0))
    };
    Ok(count("true")? > 0 && count("type = 'table' AND name IN ('run', 'test', 'attempt')")? < 3)
}

/// Migrates the database to the current version in one transaction; the caller has checked that it
/// is not newer.
pub(crate) fn migrate(connection: &mut Connection) -> Result<()> {
    if version(connection)? == CURRENT_VERSION {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Checked again under the write lock: another process may have migrated the tables.
    let done = version(&transaction)? as usize;
    for migration in MIGRATIONS.iter().skip(done) {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "user_version", CURRENT_VERSION)?;
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_11_keeps_attempts_without_a_world() {
        let mut connection = Connection::open_in_memory().unwrap();
        for migration in &MIGRATIONS[..10] {
            connection.execute_batch(migration).unwrap();
        }
        connection.pragma_update(None, "user_version", 10).unwrap();
        let rows = "
            INSERT INTO run (id, command, cwd, started, version, host, os, arch, cpus)
                VALUES (1, '[]', '', 0, '', '', '', '', 1);
            INSERT INTO circumstance (run, session, environment, purpose, origin) VALUES (1, 1, 1, 'fresh', 'fork');
        ";
        connection.execute_batch(rows).unwrap();

        migrate(&mut connection).unwrap();

        let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(count("SELECT count(*) FROM circumstance WHERE world IS NULL"), 1);
        assert_eq!(count("SELECT count(*) FROM world"), 0);
    }

    #[test]
    fn version_9_renames_tables_and_the_words_in_stored_findings() {
        let mut connection = Connection::open_in_memory().unwrap();
        for migration in &MIGRATIONS[..8] {
            connection.execute_batch(migration).unwrap();
        }
        connection.pragma_update(None, "user_version", 8).unwrap();
        let rows = r#"
            INSERT INTO run (id, command, cwd, started, version, host, os, arch, cpus)
                VALUES (1, '[]', '', 0, '', '', '', '', 1);
            INSERT INTO test (id, name) VALUES (1, 't');
            INSERT INTO told (run, body) VALUES (1, 'e');
            INSERT INTO answer (finding, useful, at) VALUES ('f', 0, 1);
            INSERT INTO said (run, test, finding, body)
                VALUES (1, 1, 'f', '{"kind":"suspected","partings":[],"text":"\"partings\":"}');
        "#;
        connection.execute_batch(rows).unwrap();

        migrate(&mut connection).unwrap();

        let text = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap();
        assert_eq!(text("SELECT body FROM event"), "e");
        assert_eq!(text("SELECT fingerprint FROM feedback"), "f");
        assert_eq!(
            text("SELECT body FROM finding WHERE fingerprint = 'f'"),
            r#"{"kind":"possible","points":[],"text":"\"partings\":"}"#
        );
    }
}
