//! The CI run that unflake is part of, from the environment variables of the CI system.

/// What a CI system says about the current run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CiRun {
    pub(crate) commit: Option<String>,
    pub(crate) branch: Option<String>,
    pub(crate) run: Option<String>,
    /// Counted from 1.
    pub(crate) attempt: Option<u32>,
    pub(crate) job: Option<String>,
}

/// The environment variables of one CI system.
struct CiVariables {
    /// Set on this system and no other.
    known_by: &'static str,
    commit: &'static str,
    /// The first that is set counts.
    branch: &'static [&'static str],
    run: &'static str,
    /// The variable, and the number of the first attempt.
    attempt: Option<(&'static str, u32)>,
    job: &'static str,
}

const KNOWN: [CiVariables; 8] = [
    CiVariables {
        known_by: "GITHUB_ACTIONS",
        commit: "GITHUB_SHA",
        branch: &["GITHUB_HEAD_REF", "GITHUB_REF_NAME"],
        run: "GITHUB_RUN_ID",
        attempt: Some(("GITHUB_RUN_ATTEMPT", 1)),
        job: "GITHUB_JOB",
    },
    CiVariables {
        known_by: "GITLAB_CI",
        commit: "CI_COMMIT_SHA",
        branch: &["CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "CI_COMMIT_REF_NAME"],
        run: "CI_PIPELINE_ID",
        attempt: None,
        job: "CI_JOB_NAME",
    },
    CiVariables {
        known_by: "JENKINS_URL",
        commit: "GIT_COMMIT",
        branch: &["CHANGE_BRANCH", "BRANCH_NAME", "GIT_BRANCH"],
        run: "BUILD_TAG",
        attempt: None,
        job: "JOB_NAME",
    },
    CiVariables {
        known_by: "BUILDKITE",
        commit: "BUILDKITE_COMMIT",
        branch: &["BUILDKITE_BRANCH"],
        run: "BUILDKITE_BUILD_ID",
        attempt: Some(("BUILDKITE_RETRY_COUNT", 0)),
        job: "BUILDKITE_LABEL",
    },
    CiVariables {
        known_by: "CIRCLECI",
        commit: "CIRCLE_SHA1",
        branch: &["CIRCLE_BRANCH"],
        run: "CIRCLE_WORKFLOW_ID",
        attempt: None,
        job: "CIRCLE_JOB",
    },
    CiVariables {
        known_by: "TF_BUILD",
        commit: "BUILD_SOURCEVERSION",
        branch: &["SYSTEM_PULLREQUEST_SOURCEBRANCH", "BUILD_SOURCEBRANCHNAME"],
        run: "BUILD_BUILDID",
        attempt: Some(("SYSTEM_JOBATTEMPT", 1)),
        job: "SYSTEM_JOBDISPLAYNAME",
    },
    CiVariables {
        known_by: "TRAVIS",
        commit: "TRAVIS_COMMIT",
        branch: &["TRAVIS_PULL_REQUEST_BRANCH", "TRAVIS_BRANCH"],
        run: "TRAVIS_BUILD_ID",
        attempt: None,
        job: "TRAVIS_JOB_NAME",
    },
    CiVariables {
        known_by: "BITBUCKET_BUILD_NUMBER",
        commit: "BITBUCKET_COMMIT",
        branch: &["BITBUCKET_BRANCH"],
        run: "BITBUCKET_BUILD_NUMBER",
        attempt: None,
        job: "BITBUCKET_STEP_UUID",
    },
];

/// Empty outside of a CI system.
pub(crate) fn detect(variable: &dyn Fn(&str) -> Option<String>) -> CiRun {
    let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
    let Some(names) = KNOWN.iter().find(|names| variable(names.known_by).is_some()) else { return CiRun::default() };
    let attempt = names.attempt.and_then(|(name, first)| {
        let number: u32 = variable(name)?.parse().ok()?;
        Some(number + 1 - first)
    });
    CiRun {
        commit: variable(names.commit),
        branch: names.branch.iter().find_map(|name| variable(name)),
        run: variable(names.run),
        attempt,
        job: variable(names.job),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> CiRun {
        detect(&|name| variables.iter().find(|(one, _)| *one == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn a_ci_system_is_detected_by_its_variables() {
        let github = of(&[
            ("GITHUB_ACTIONS", "true"),
            ("GITHUB_SHA", "c0ffee"),
            ("GITHUB_HEAD_REF", ""),
            ("GITHUB_REF_NAME", "main"),
            ("GITHUB_RUN_ID", "77"),
            ("GITHUB_RUN_ATTEMPT", "2"),
            ("GITHUB_JOB", "linux"),
        ]);
        let expected = CiRun {
            commit: Some("c0ffee".into()),
            branch: Some("main".into()),
            run: Some("77".into()),
            attempt: Some(2),
            job: Some("linux".into()),
        };
        assert_eq!(github, expected);
        assert_eq!(of(&[("BUILDKITE", "true"), ("BUILDKITE_RETRY_COUNT", "0")]).attempt, Some(1));
        assert_eq!(of(&[("GITHUB_SHA", "c0ffee")]), CiRun::default());
    }
}
