//! The tables, and how they came to be what they are.

use rusqlite::{Connection, Result, TransactionBehavior};

/// One step per version: step n brings a database of version n to version n + 1. A released step is never edited. How PostgreSQL
/// spells them is told in `postgres/dialect.rs`.
///
/// 1: the first. 2: what tests depend on, and which files no commit has. 3: results that other programs wrote. 4: what
/// assertions saw. 5: which job a report comes from. 6: what was said of tests, and what people answered.
/// 7: what the code of tests was, and new names of old ones.
pub(crate) const STEPS: &[&str] = &[VERSION_1, VERSION_2, VERSION_3, VERSION_4, VERSION_5, VERSION_6, VERSION_7];

/// The version that this unflake writes. It is kept in `PRAGMA user_version`, on a server in the table `history`; 0 is a database
/// without tables.
pub(crate) const KNOWN: i32 = STEPS.len() as i32;

const VERSION_1: &str = "
-- Times are microseconds since the Unix epoch. Words are spelt as the model spells them.

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

-- A test that was ever listed or run, with the place at which it was listed last.
CREATE TABLE test (
    id   INTEGER PRIMARY KEY,
    name TEXT    NOT NULL UNIQUE,
    file TEXT,
    line INTEGER
) STRICT;

-- Long texts, each stored once however many attempts have it. Looked up by hash and compared in full.
CREATE TABLE text (
    id   INTEGER PRIMARY KEY,
    hash INTEGER NOT NULL,
    body TEXT    NOT NULL
) STRICT;
CREATE INDEX text_by_hash ON text (hash);

-- What the attempts of one session in one environment have in common, so that an attempt need not repeat it.
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

-- What an attempt that did not pass said of itself.
CREATE TABLE failure (
    attempt INTEGER PRIMARY KEY REFERENCES attempt,
    phase   TEXT    NOT NULL,
    kind    INTEGER NOT NULL REFERENCES text,
    message INTEGER NOT NULL REFERENCES text,
    trace   INTEGER NOT NULL REFERENCES text,
    file    INTEGER REFERENCES text,
    line    INTEGER
) STRICT;

-- Everything else that was observed in a run, in the order in which it was. Few, and always read together.
CREATE TABLE told (
    id   INTEGER PRIMARY KEY,
    run  INTEGER NOT NULL REFERENCES run,
    body TEXT    NOT NULL  -- JSON; tests in it are ids
) STRICT;
CREATE INDEX told_by_run ON told (run);
";

const VERSION_2: &str = "
ALTER TABLE run ADD COLUMN changed TEXT;  -- a JSON array of paths; NULL: not known

-- What a test depended on when that was last looked at.
CREATE TABLE dependency (
    test     INTEGER PRIMARY KEY REFERENCES test,
    run      INTEGER NOT NULL REFERENCES run,
    own      INTEGER NOT NULL REFERENCES text,  -- JSON, without
    searched INTEGER NOT NULL REFERENCES text   -- its largest part, which most tests of a run share
) STRICT;
";

const VERSION_3: &str = "
-- A file of results that another program wrote.
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

-- Executions, many to a row: they come by the ten thousand and are read by the million. How they are packed is told in
-- columns.rs. Those of a report are numbered from 0 in its own order.
CREATE TABLE packed (
    report INTEGER NOT NULL REFERENCES report,
    first  INTEGER NOT NULL,
    body   BLOB    NOT NULL,
    PRIMARY KEY (report, first)
) STRICT, WITHOUT ROWID;

-- What an execution that did not pass said of itself.
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
-- An assertion of the sources, evaluated in a test.
CREATE TABLE assertion (
    id         INTEGER PRIMARY KEY,
    test       INTEGER NOT NULL REFERENCES test,
    file       TEXT    NOT NULL,
    function   TEXT    NOT NULL,
    expression TEXT    NOT NULL,
    ordinal    INTEGER NOT NULL,
    UNIQUE (test, file, function, expression, ordinal)
) STRICT;

-- What an assertion saw when a run executed its test several times.
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
-- What unflake concluded of a test at the end of a run, as it was told. Rows of these three tables are only added; the last one holds.
CREATE TABLE said (
    id      INTEGER PRIMARY KEY,
    run     INTEGER NOT NULL REFERENCES run,
    test    INTEGER NOT NULL REFERENCES test,
    finding TEXT    NOT NULL,  -- the same for the same test, technique, kind and place
    body    TEXT    NOT NULL   -- JSON
) STRICT;
CREATE INDEX said_by_finding ON said (finding);
CREATE INDEX said_by_test ON said (test);

-- Reports that are ready before anyone asks.
CREATE TABLE prepared (
    id   INTEGER PRIMARY KEY,
    run  INTEGER NOT NULL REFERENCES run,
    test INTEGER NOT NULL REFERENCES test,
    tree TEXT    NOT NULL,  -- a hash of the files as they were
    body TEXT    NOT NULL   -- JSON
) STRICT;
CREATE INDEX prepared_by_test ON prepared (test, tree);

-- Whether people found a finding useful.
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
-- What the code of a test was when it was last listed: a hash that its name and its place do not change.
CREATE TABLE body (
    test INTEGER PRIMARY KEY REFERENCES test,
    hash TEXT    NOT NULL
) STRICT;

-- A test that was gone when another came that has its code.
CREATE TABLE renamed (
    test INTEGER PRIMARY KEY REFERENCES test,
    now  INTEGER NOT NULL REFERENCES test,
    run  INTEGER NOT NULL REFERENCES run,
    back INTEGER REFERENCES run  -- the run in which the old one was there again; NULL: none, or it has gone once more
) STRICT;
";

pub(crate) fn version(connection: &Connection) -> Result<i32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Brings the database to the version that this unflake writes. All or nothing; the caller has made sure that it is
/// not newer.
pub(crate) fn migrate(connection: &mut Connection) -> Result<()> {
    if version(connection)? == KNOWN {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Asked again, now that nobody else can write: another process may have been quicker.
    let done = version(&transaction)? as usize;
    for step in STEPS.iter().skip(done) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "user_version", KNOWN)?;
    transaction.commit()
}
