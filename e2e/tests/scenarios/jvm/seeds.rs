//! Seeds of Java tests: a seed draws the same in `factors` and under `under`, alone and after others.

use super::turn;
use e2e::Sandbox;

const MAVEN: [&str; 5] = ["mvn", "-o", "-q", "-B", "test"];

/// What the failing test drew.
fn drawn(text: &str) -> Option<&str> {
    let start = text.find("drew ")?;
    text[start..].split(" ==>").next()
}

#[test]
fn a_seed_draws_the_same_wherever_the_test_runs() {
    let _turn = turn();
    let sandbox = Sandbox::specimen("environment/java/random_seed");
    let search = sandbox.unflake(["factors", "draw", "--factor", "random-seed", "--for", "0"]).json();
    let result = search.arg("--").args(MAVEN).finish();
    let worlds = result.list("worlds");
    let seed_of = |attempt: &serde_json::Value| {
        let world = worlds.iter().find(|world| world["id"] == attempt["world"])?;
        let options = world["options"].as_array()?.iter().filter_map(|option| option.as_str());
        options.filter_map(|option| option.strip_prefix("--random-seed=")).next()
    };
    let failed = |seed: &str| -> Vec<&str> {
        let attempts = result.list("attempts").iter().filter(|attempt| seed_of(attempt) == Some(seed));
        attempts.map(|attempt| drawn(attempt["failure"]["message"].as_str().unwrap_or("")).unwrap_or("")).collect()
    };
    // The seed decides, so the sample has one that fails and one that passes.
    let (fails, passes) = (failed("3"), failed("1"));
    assert!(!fails.is_empty() && fails.iter().all(|text| *text == fails[0] && !text.is_empty()), "{fails:?}");
    assert!(!passes.is_empty() && passes.iter().all(|text| text.is_empty()), "{passes:?}");
    for (seed, selected, expected) in
        [("3", "-Dtest=DrawTest", Some(fails[0])), ("3", "-Dtest=DrawTest#draw", Some(fails[0])), ("1", "-q", None)]
    {
        let under = sandbox.unflake(["under", "--quiet", "--random-seed", seed, "--"]).args(MAVEN).arg(selected);
        let printed = under.finish();
        assert_eq!(drawn(&printed.stdout), expected, "{seed} {selected}: {}", printed.stderr);
        assert_eq!(printed.code != 0, expected.is_some(), "{seed} {selected}");
    }
}
