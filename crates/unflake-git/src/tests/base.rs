//! Tests of the default base revision.

use unflake_model::BaseChoice;

use super::{Lab, chosen, git_at};
use crate::{Error, Repository};

/// A clone of a test repository, in the same temporary directory.
fn clone(lab: &Lab, words: &[&str]) -> Lab {
    let room = tempfile::TempDir::new().unwrap();
    let root = room.path().canonicalize().unwrap().join("clone");
    let url = format!("file://{}", lab.root.display());
    git_at(room.path(), &[&["clone", "--quiet"], words, &[&url, root.to_str().unwrap()]].concat());
    Lab { root, room }
}

#[test]
fn asked_for() {
    let lab = Lab::new();
    let first = lab.git(&["rev-parse", "HEAD"]);
    lab.git(&["tag", "-a", "v1", "-m", "one"]);
    lab.commit("second");
    for name in ["v1", "HEAD^", "HEAD~1", &first[..10]] {
        let base = lab.find().base(Some(name), &[]);
        assert_eq!(chosen(&base), (first.as_str(), &BaseChoice::Asked(name.to_owned())));
    }
    for name in ["nowhere", "", "-h", "--all", "HEAD:a.py", "HEAD^{tree}", "a b", "v1..HEAD"] {
        let error = lab.find().base(Some(name), &[]).unwrap_err();
        assert_eq!(error.to_string(), format!("{name:?} is not a commit of this repository"));
    }
}

#[test]
fn a_branch_is_compared_with_where_it_parted() {
    let lab = Lab::new();
    let first = lab.git(&["rev-parse", "HEAD"]);
    lab.git(&["switch", "--quiet", "-c", "feature"]);
    lab.write("b.txt", "mine\n");
    lab.commit("mine");
    lab.git(&["switch", "--quiet", "main"]);
    lab.write("dir/c.txt", "theirs\n");
    lab.commit("theirs");
    lab.git(&["switch", "--quiet", "feature"]);
    let base = lab.base(&[]);
    assert_eq!(chosen(&base), (first.as_str(), &BaseChoice::MergeBase("main".to_owned())));
    let changes = lab.find().changes(&base.unwrap()).unwrap();
    assert_eq!(changes.files.iter().map(super::spell).collect::<Vec<_>>(), ["b.txt modified"]);

    lab.git(&["merge", "--quiet", "-m", "merge", "main"]);
    assert_eq!(chosen(&lab.base(&[])).0, lab.git(&["rev-parse", "main"]));
    lab.git(&["switch", "--quiet", "--detach", "HEAD"]);
    assert_eq!(chosen(&lab.base(&[])).1, &BaseChoice::MergeBase("main".to_owned()));
}

#[test]
fn on_the_default_branch_itself() {
    let lab = Lab::new();
    let first = lab.git(&["rev-parse", "HEAD"]);
    let error = lab.base(&[]).unwrap_err();
    assert_eq!(error.to_string(), "there is no commit before the one that is checked out");
    assert_eq!(chosen(&lab.base(std::slice::from_ref(&first))), (first.as_str(), &BaseChoice::KnownGood));

    lab.write("b.txt", "dirty\n");
    assert_eq!(chosen(&lab.base(&[])), (first.as_str(), &BaseChoice::Head));
    let second = lab.commit("second");
    assert_eq!(chosen(&lab.base(&[])), (first.as_str(), &BaseChoice::Parent));
    assert_eq!(chosen(&lab.base(&[second.clone(), first])), (second.as_str(), &BaseChoice::KnownGood));
    lab.write("new.txt", "untracked\n");
    assert_eq!(chosen(&lab.base(&[])), (second.as_str(), &BaseChoice::Head));
}

#[test]
fn ahead_of_the_upstream() {
    let lab = Lab::new();
    let first = lab.git(&["rev-parse", "HEAD"]);
    let copy = clone(&lab, &[]);
    copy.write("b.txt", "two\n");
    copy.commit("second");
    assert_eq!(chosen(&copy.base(&[])), (first.as_str(), &BaseChoice::MergeBase("origin/main".to_owned())));
    copy.git(&["remote", "set-head", "origin", "--delete"]);
    assert_eq!(chosen(&copy.base(&[])), (first.as_str(), &BaseChoice::MergeBase("origin/main".to_owned())));
    copy.git(&["remote", "rename", "origin", "upstream"]);
    assert_eq!(chosen(&copy.base(&[])), (first.as_str(), &BaseChoice::MergeBase("upstream/main".to_owned())));
}

#[test]
fn a_default_branch_of_another_name() {
    let lab = Lab::new();
    lab.git(&["branch", "-m", "trunk"]);
    let first = lab.git(&["rev-parse", "HEAD"]);
    lab.commit("second");
    // The only branch of the repository.
    assert_eq!(chosen(&lab.base(&[])), (first.as_str(), &BaseChoice::Parent));
    let copy = clone(&lab, &[]);
    copy.git(&["switch", "--quiet", "-c", "feature"]);
    copy.commit("mine");
    assert_eq!(chosen(&copy.base(&[])).1, &BaseChoice::MergeBase("origin/trunk".to_owned()));

    lab.git(&["switch", "--quiet", "-c", "feature"]);
    let error = lab.base(&[]).unwrap_err();
    assert!(error.to_string().starts_with("which branch is the default one cannot be told"), "{error}");
    assert_eq!(chosen(&lab.base(std::slice::from_ref(&first))), (first.as_str(), &BaseChoice::KnownGood));
}

#[test]
fn known_good_must_be_an_ancestor() {
    let lab = Lab::new();
    let first = lab.git(&["rev-parse", "HEAD"]);
    lab.git(&["switch", "--quiet", "-c", "other"]);
    let other = lab.commit("other");
    lab.git(&["switch", "--quiet", "main"]);
    lab.commit("second");
    let known = [other, "f".repeat(40), "main".to_owned(), "--all".to_owned(), first.clone()];
    assert_eq!(chosen(&lab.base(&known)), (first.as_str(), &BaseChoice::KnownGood));
}

#[test]
fn nothing_in_common() {
    let lab = Lab::new();
    lab.git(&["switch", "--quiet", "--orphan", "apart"]);
    assert_eq!(lab.base(&[]).unwrap_err(), Error::NoCommits);
    lab.write("x", "x");
    let own = lab.commit("apart");
    assert_eq!(lab.base(&[]).unwrap_err().to_string(), "what is checked out has no commit in common with main");
    assert_eq!(chosen(&lab.base(std::slice::from_ref(&own))), (own.as_str(), &BaseChoice::KnownGood));
}

#[test]
fn a_shallow_clone_says_what_it_lacks() {
    let lab = Lab::new();
    let first = lab.git(&["rev-parse", "HEAD"]);
    lab.write("b.txt", "two\n");
    lab.commit("second");
    lab.git(&["switch", "--quiet", "-c", "feature"]);
    lab.commit("third");
    lab.git(&["switch", "--quiet", "main"]);
    lab.commit("fourth");

    let copy = clone(&lab, &["--depth=1"]);
    let said = |result: Result<_, Error>| result.map(|_: unflake_model::Base| ()).unwrap_err().to_string();
    assert!(said(copy.base(&[])).starts_with("the commit before the one that is checked out is not in this clone"));
    assert!(said(copy.find().base(Some(&first), &[])).contains("not a commit of this clone, which is shallow"));
    assert!(said(copy.base(&[first])).contains("is not in this clone, which is shallow"));

    let copy = clone(&lab, &["--depth=1", "--no-single-branch"]);
    copy.git(&["switch", "--quiet", "feature"]);
    assert!(said(copy.base(&[])).starts_with("where this parted from origin/main is not in this clone"));
}

#[test]
fn no_commits_yet() {
    let lab = Lab::empty();
    lab.write("a", "x");
    let repository = Repository::find(&lab.root).unwrap().unwrap();
    assert_eq!(repository.base(None, &[]).unwrap_err(), Error::NoCommits);
    assert!(matches!(repository.base(Some("HEAD"), &[]), Err(Error::BadBase { .. })));
    assert_eq!((repository.head().unwrap(), repository.clean_tree().unwrap()), (None, None));
}
