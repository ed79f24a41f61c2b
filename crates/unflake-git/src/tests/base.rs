//! Tests of the default base revision.

use unflake_model::BaseChoice;

use super::{TestRepository, chosen, git_at};
use crate::{GitError, Repository};

/// A clone of a test repository, in the same temporary directory.
fn clone(repo: &TestRepository, args: &[&str]) -> TestRepository {
    let parent = tempfile::TempDir::new().unwrap();
    let root = parent.path().canonicalize().unwrap().join("clone");
    let url = format!("file://{}", repo.root.display());
    git_at(parent.path(), &[&["clone", "--quiet"], args, &[&url, root.to_str().unwrap()]].concat());
    TestRepository { root, parent }
}

#[test]
fn a_requested_base_is_used() {
    let repo = TestRepository::new();
    let first = repo.git(&["rev-parse", "HEAD"]);
    repo.git(&["tag", "-a", "v1", "-m", "one"]);
    repo.commit("second");
    for name in ["v1", "HEAD^", "HEAD~1", &first[..10]] {
        let base = repo.find().base(Some(name), &[]);
        assert_eq!(chosen(&base), (first.as_str(), &BaseChoice::Asked(name.to_owned())));
    }
    for name in ["nowhere", "", "-h", "--all", "HEAD:a.py", "HEAD^{tree}", "a b", "v1..HEAD"] {
        let error = repo.find().base(Some(name), &[]).unwrap_err();
        assert_eq!(error.to_string(), format!("{name:?} is not a commit of this repository"));
    }
}

#[test]
fn a_branch_is_compared_with_its_merge_base() {
    let repo = TestRepository::new();
    let first = repo.git(&["rev-parse", "HEAD"]);
    repo.git(&["switch", "--quiet", "-c", "feature"]);
    repo.write("b.txt", "mine\n");
    repo.commit("mine");
    repo.git(&["switch", "--quiet", "main"]);
    repo.write("dir/c.txt", "theirs\n");
    repo.commit("theirs");
    repo.git(&["switch", "--quiet", "feature"]);
    let base = repo.base(&[]);
    assert_eq!(chosen(&base), (first.as_str(), &BaseChoice::MergeBase("main".to_owned())));
    let changes = repo.find().changes(&base.unwrap(), &[], &[], &[]).unwrap();
    assert_eq!(changes.files.iter().map(super::change_line).collect::<Vec<_>>(), ["b.txt modified"]);

    repo.git(&["merge", "--quiet", "-m", "merge", "main"]);
    assert_eq!(chosen(&repo.base(&[])).0, repo.git(&["rev-parse", "main"]));
    repo.git(&["switch", "--quiet", "--detach", "HEAD"]);
    assert_eq!(chosen(&repo.base(&[])).1, &BaseChoice::MergeBase("main".to_owned()));
}

#[test]
fn the_default_branch_is_compared_with_head_or_its_parent() {
    let repo = TestRepository::new();
    let first = repo.git(&["rev-parse", "HEAD"]);
    let error = repo.base(&[]).unwrap_err();
    assert_eq!(error.to_string(), "HEAD has no parent commit");
    assert_eq!(chosen(&repo.base(std::slice::from_ref(&first))), (first.as_str(), &BaseChoice::KnownGood));

    repo.write("b.txt", "dirty\n");
    assert_eq!(chosen(&repo.base(&[])), (first.as_str(), &BaseChoice::Head));
    let second = repo.commit("second");
    assert_eq!(chosen(&repo.base(&[])), (first.as_str(), &BaseChoice::Parent));
    assert_eq!(chosen(&repo.base(&[second.clone(), first])), (second.as_str(), &BaseChoice::KnownGood));
    repo.write("new.txt", "untracked\n");
    assert_eq!(chosen(&repo.base(&[])), (second.as_str(), &BaseChoice::Head));
}

#[test]
fn unpushed_commits_are_compared_with_the_upstream() {
    let repo = TestRepository::new();
    let first = repo.git(&["rev-parse", "HEAD"]);
    let copy = clone(&repo, &[]);
    copy.write("b.txt", "two\n");
    copy.commit("second");
    assert_eq!(chosen(&copy.base(&[])), (first.as_str(), &BaseChoice::MergeBase("origin/main".to_owned())));
    copy.git(&["remote", "set-head", "origin", "--delete"]);
    assert_eq!(chosen(&copy.base(&[])), (first.as_str(), &BaseChoice::MergeBase("origin/main".to_owned())));
    copy.git(&["remote", "rename", "origin", "upstream"]);
    assert_eq!(chosen(&copy.base(&[])), (first.as_str(), &BaseChoice::MergeBase("upstream/main".to_owned())));
}

#[test]
fn the_default_branch_can_have_any_name() {
    let repo = TestRepository::new();
    repo.git(&["branch", "-m", "trunk"]);
    let first = repo.git(&["rev-parse", "HEAD"]);
    repo.commit("second");
    // The only branch of the repository.
    assert_eq!(chosen(&repo.base(&[])), (first.as_str(), &BaseChoice::Parent));
    let copy = clone(&repo, &[]);
    copy.git(&["switch", "--quiet", "-c", "feature"]);
    copy.commit("mine");
    assert_eq!(chosen(&copy.base(&[])).1, &BaseChoice::MergeBase("origin/trunk".to_owned()));

    repo.git(&["switch", "--quiet", "-c", "feature"]);
    let error = repo.base(&[]).unwrap_err();
    assert!(error.to_string().starts_with("the default branch is unknown"), "{error}");
    assert_eq!(chosen(&repo.base(std::slice::from_ref(&first))), (first.as_str(), &BaseChoice::KnownGood));
}

#[test]
fn known_good_must_be_an_ancestor() {
    let repo = TestRepository::new();
    let first = repo.git(&["rev-parse", "HEAD"]);
    repo.git(&["switch", "--quiet", "-c", "other"]);
    let other = repo.commit("other");
    repo.git(&["switch", "--quiet", "main"]);
    repo.commit("second");
    let known = [other, "f".repeat(40), "main".to_owned(), "--all".to_owned(), first.clone()];
    assert_eq!(chosen(&repo.base(&known)), (first.as_str(), &BaseChoice::KnownGood));
}

#[test]
fn unrelated_branches_have_no_base() {
    let repo = TestRepository::new();
    repo.git(&["switch", "--quiet", "--orphan", "apart"]);
    assert_eq!(repo.base(&[]).unwrap_err(), GitError::NoCommits);
    repo.write("x", "x");
    let own = repo.commit("apart");
    assert_eq!(repo.base(&[]).unwrap_err().to_string(), "HEAD has no commit in common with main");
    assert_eq!(chosen(&repo.base(std::slice::from_ref(&own))), (own.as_str(), &BaseChoice::KnownGood));
}

#[test]
fn a_shallow_clone_reports_missing_commits() {
    let repo = TestRepository::new();
    let first = repo.git(&["rev-parse", "HEAD"]);
    repo.write("b.txt", "two\n");
    repo.commit("second");
    repo.git(&["switch", "--quiet", "-c", "feature"]);
    repo.commit("third");
    repo.git(&["switch", "--quiet", "main"]);
    repo.commit("fourth");

    let copy = clone(&repo, &["--depth=1"]);
    let message = |result: Result<_, GitError>| result.map(|_: unflake_model::Base| ()).unwrap_err().to_string();
    assert!(message(copy.base(&[])).starts_with("the parent of HEAD is not in this shallow clone"));
    assert!(message(copy.find().base(Some(&first), &[])).contains("not a commit of this shallow clone"));
    assert!(message(copy.base(&[first])).contains("is not in this shallow clone"));

    let copy = clone(&repo, &["--depth=1", "--no-single-branch"]);
    copy.git(&["switch", "--quiet", "feature"]);
    assert!(message(copy.base(&[])).starts_with("the merge base with origin/main is not in this shallow clone"));
}

#[test]
fn a_repository_without_commits_has_no_base() {
    let repo = TestRepository::empty();
    repo.write("a", "x");
    let repository = Repository::find(&repo.root).unwrap().unwrap();
    assert_eq!(repository.base(None, &[]).unwrap_err(), GitError::NoCommits);
    assert!(matches!(repository.base(Some("HEAD"), &[]), Err(GitError::BadBase { .. })));
    assert_eq!((repository.head().unwrap(), repository.clean_tree().unwrap()), (None, None));
}
