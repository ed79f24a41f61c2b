//! Tests of access tokens, of the audit log, and of what a run in progress has added.

mod common;

use common::{TestLocation, batch, facts};
use unflake_model::{Feedback, Fingerprint, Timestamp};
use unflake_store::{AuditEntry, NewToken, Role, Store, StoreError};

fn entry(action: &str, at: i64) -> AuditEntry {
    AuditEntry {
        at: Timestamp(at),
        who: "token ci".to_owned(),
        action: action.to_owned(),
        what: "test_a".to_owned(),
        detail: "because\nof <it>".to_owned(),
    }
}

fn token<'a>(name: &'a str, secret: &'a str, created: i64) -> NewToken<'a> {
    NewToken { name, secret, role: Role::Write, created: Timestamp(created), expires: Timestamp(created + 100) }
}

fn actions(store: &Store) -> Vec<String> {
    store.audit_log(0, 99).unwrap().into_iter().map(|entry| entry.action).collect()
}

fn tokens_are_valid_until_they_expire_or_are_revoked(location: &TestLocation) {
    let mut store = location.open();
    let role = |store: &Store, secret: &str, now: i64| {
        store.token_of(secret, Timestamp(now)).unwrap().map(|token| (token.name, token.role))
    };
    assert!(store.create_token(&token("ci", "s3cret", 10), &entry("token-create", 10)).unwrap());
    assert!(!store.create_token(&token("ci", "other", 11), &entry("token-create", 11)).unwrap(), "the name is in use");
    assert_eq!(role(&store, "s3cret", 50), Some(("ci".to_owned(), Role::Write)));
    assert_eq!((role(&store, "s3cret", 110), role(&store, "other", 50), role(&store, "", 50)), (None, None, None));

    assert!(!store.revoke_token("none", &entry("token-revoke", 20)).unwrap());
    assert!(store.revoke_token("ci", &entry("token-revoke", 20)).unwrap());
    assert!(!store.revoke_token("ci", &entry("token-revoke", 21)).unwrap());
    assert_eq!(role(&store, "s3cret", 50), None);
    assert!(store.create_token(&token("ci", "third", 30), &entry("token-create", 30)).unwrap());
    assert_eq!(actions(&store), ["token-create", "token-revoke", "token-create"]);
    let all = store.tokens().unwrap();
    assert_eq!((all[0].revoked, all[1].revoked, all.len()), (Some(Timestamp(20)), None, 2));
}

fn a_change_and_its_entry_go_together(location: &TestLocation) {
    let mut store = location.open();
    let done: Result<u8, StoreError> = store.audited(&entry("first", 1), || Ok(7));
    assert_eq!(done.unwrap(), 7);
    #[derive(Debug)]
    struct Refused;
    impl From<StoreError> for Refused {
        fn from(error: StoreError) -> Self {
            panic!("{error}")
        }
    }
    let refused: Result<(), Refused> = store.audited(&entry("second", 2), || Err(Refused));
    refused.unwrap_err();
    let feedback = Feedback { finding: Fingerprint("f".to_owned()), useful: true, at: Timestamp(3), why: None };
    store.record_feedback_of(&feedback, &entry("third", 3)).unwrap();
    assert_eq!(actions(&store), ["third", "first"]);
    assert_eq!((store.audit_count().unwrap(), store.audit_log(1, 1).unwrap()), (2, vec![entry("first", 1)]));
    assert_eq!(store.feedback().unwrap(), [feedback]);
}

fn new_attempts_of_a_run_are_read_in_order(location: &TestLocation) {
    let mut store = location.open();
    let (run, other) = (store.begin(&facts()).unwrap(), store.begin(&facts()).unwrap());
    store.record(run, &batch(0, 3)).unwrap();
    store.record(other, &batch(0, 1)).unwrap();
    store.record(run, &batch(3, 2)).unwrap();
    let all = store.attempts_after(run, 0, 99).unwrap();
    assert_eq!((all.len(), all[0].test.as_str()), (5, "tests/test_cart.py::TestCart::test_total[0]"));
    assert!(all.windows(2).all(|two| two[0].id < two[1].id));
    assert_eq!(store.attempts_after(run, all[2].id, 1).unwrap(), all[3..4]);
    assert_eq!(store.attempts_after(run, all[4].id, 9).unwrap(), []);
}

with_files_and_server!(
    tokens_are_valid_until_they_expire_or_are_revoked,
    a_change_and_its_entry_go_together,
    new_attempts_of_a_run_are_read_in_order,
);
