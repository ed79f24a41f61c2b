//! Chooses the revision to compare with. Each choice is an assumption about what a developer calls
//! "my change".

use unflake_model::{Base, BaseChoice};

use crate::{GitError, Repository};

/// Candidates for the default branch; the first one that exists is used.
const DEFAULT_BRANCHES: [(&str, &str); 5] = [
    ("refs/remotes/origin/HEAD", "origin/HEAD"),
    ("refs/remotes/origin/main", "origin/main"),
    ("refs/remotes/origin/master", "origin/master"),
    ("refs/heads/main", "main"),
    ("refs/heads/master", "master"),
];

impl Repository {
    /// The revision to compare with: the one `asked` for; else the merge base with the default
    /// branch; else, if HEAD is that merge base, HEAD for uncommitted changes, or the newest of
    /// `known_good` (newest first), or the parent commit.
    pub fn base(&self, asked: Option<&str>, known_good: &[String]) -> Result<Base, GitError> {
        if let Some(asked) = asked {
            let bad = || GitError::BadBase { asked: asked.to_owned(), shallow: self.shallow };
            let revision = self.resolve(asked, "commit")?.ok_or_else(bad)?;
            return Ok(Base { revision, chosen: BaseChoice::Asked(asked.to_owned()) });
        }
        let head = self.head()?.ok_or(GitError::NoCommits)?;
        let default = self.default_branch()?;
        if let Some((full, name)) = &default {
            match self.merge_base(&head, full)? {
                Some(revision) if revision != head => {
                    return Ok(Base { revision, chosen: BaseChoice::MergeBase(name.clone()) });
                }
                Some(_) => {}
                None => return self.known_good(&head, known_good)?.ok_or_else(|| self.no_base(name)),
            }
            if !self.equals(&head)? {
                return Ok(Base { revision: head, chosen: BaseChoice::Head });
            }
        }
        if let Some(base) = self.known_good(&head, known_good)? {
            return Ok(base);
        }
        if default.is_none() {
            let why = "the default branch is unknown, so the base must be given";
            return Err(GitError::NoBase(why.to_owned()));
        }
        // Nothing is changed or ahead, so the latest commit is the change.
        match self.resolve("HEAD^1", "commit")? {
            Some(revision) => Ok(Base { revision, chosen: BaseChoice::Parent }),
            None if self.shallow => Err(GitError::NoBase(
                "the parent of HEAD is not in this shallow clone; `git fetch --deepen 1` gets it".to_owned(),
            )),
            None => Err(GitError::NoBase("HEAD has no parent commit".to_owned())),
        }
    }

    /// The reference and the name of the default branch, or of its upstream if it is a local branch
    /// that has one.
    fn default_branch(&self) -> Result<Option<(String, String)>, GitError> {
        for (full, name) in DEFAULT_BRANCHES {
            if self.resolve(full, "commit")?.is_none() {
                continue;
            }
            let upstream = match full.strip_prefix("refs/heads/") {
                Some(branch) => self.upstream(branch)?,
                None => None,
            };
            let is_origin_head = full.ends_with("/HEAD");
            let behind =
                if is_origin_head { self.git.optional_line(&["symbolic-ref", "--quiet", full])? } else { None };
            let output = behind.and_then(|one| one.strip_prefix("refs/remotes/").map(str::to_owned));
            return Ok(Some(upstream.unwrap_or_else(|| (full.to_owned(), output.unwrap_or_else(|| name.to_owned())))));
        }
        // Uses the only branch of the repository.
        let args = ["for-each-ref", "--format=%(refname)", "refs/heads", "refs/remotes"];
        let all = String::from_utf8_lossy(&self.git.output(&args)?).into_owned();
        let [only] = all.lines().collect::<Vec<_>>()[..] else { return Ok(None) };
        let name = only.trim_start_matches("refs/heads/").trim_start_matches("refs/remotes/");
        Ok(Some((only.to_owned(), name.to_owned())))
    }

    fn upstream(&self, branch: &str) -> Result<Option<(String, String)>, GitError> {
        let full = self.git.optional_line(&[
            "rev-parse",
            "--verify",
            "--quiet",
            "--symbolic-full-name",
            &format!("{branch}@{{upstream}}"),
        ])?;
        let Some(full) = full.filter(|full| full.starts_with("refs/remotes/")) else { return Ok(None) };
        let name = full.trim_start_matches("refs/remotes/").to_owned();
        Ok(self.resolve(&full, "commit")?.map(|_| (full, name)))
    }

    fn merge_base(&self, head: &str, other: &str) -> Result<Option<String>, GitError> {
        let output = self.git.run(&["merge-base", head, other], Vec::new())?;
        match output.status.code() {
            Some(0) => Ok(String::from_utf8_lossy(&output.stdout).lines().next().map(str::to_owned)),
            Some(1) => Ok(None),
            _ => Err(GitError::Git { command: "merge-base".to_owned(), message: output.error }),
        }
    }

    fn known_good(&self, head: &str, known_good: &[String]) -> Result<Option<Base>, GitError> {
        for one in known_good {
            let hash = one.len() >= 40 && one.bytes().all(|byte| byte.is_ascii_hexdigit());
            let Some(revision) = (if hash { self.resolve(one, "commit")? } else { None }) else { continue };
            if self.git.run(&["merge-base", "--is-ancestor", &revision, head], Vec::new())?.status.success() {
                return Ok(Some(Base { revision, chosen: BaseChoice::KnownGood }));
            }
        }
        Ok(None)
    }

    fn no_base(&self, branch: &str) -> GitError {
        GitError::NoBase(if self.shallow {
            format!(
                "the merge base with {branch} is not in this shallow clone; `git fetch --unshallow` gets its history"
            )
        } else {
            format!("HEAD has no commit in common with {branch}")
        })
    }
}
