//! The flake filter on a shop in six versions, with bugs, changed features and assertions that come and go: what is true is in
//! `specimens/filter-shop/truth.toml`. No bug may ever be let go.

mod stories;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use e2e::{Ran, Story, repository};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Truth {
    version: Vec<Version>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Version {
    number: u32,
    what: String,
    /// Tests, each with the assertion.
    bugs: Vec<(String, String)>,
    updates: Vec<(String, String)>,
    flaky: Vec<String>,
    accumulated: usize,
    single: usize,
}

fn truth() -> Vec<Version> {
    let text = fs::read_to_string(repository().join("specimens/filter-shop/truth.toml")).unwrap();
    toml::from_str::<Truth>(&text).unwrap().version
}

/// The shop, which becomes one version after the other.
struct Shop(Story);

impl Shop {
    fn new() -> Self {
        let shop = Self(Story::new());
        shop.git(&["init", "-q"]);
        shop
    }

    fn git(&self, words: &[&str]) {
        let done = self
            .0
            .command("git")
            .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"])
            .args(words)
            .output();
        let done = done.unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    /// The files of a version, over those of the ones before.
    fn become_version(&self, number: u32) {
        fn lay(from: &Path, to: &Path) {
            fs::create_dir_all(to).unwrap();
            for entry in fs::read_dir(from).unwrap().flatten() {
                match entry.path() {
                    path if path.is_dir() => lay(&path, &to.join(entry.file_name())),
                    path => drop(fs::copy(path, to.join(entry.file_name())).unwrap()),
                }
            }
        }
        for before in 1..=number {
            lay(&repository().join("specimens/filter-shop").join(before.to_string()), &self.0.project());
        }
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "another version"]);
    }

    /// What comes by turns begins anew.
    fn call(&self, words: &[&str], later: bool) -> Ran {
        let turns = self.0.place().join("turns");
        let _ = fs::remove_dir_all(&turns);
        fs::create_dir(&turns).unwrap();
        let found = self.0.place().join("found.json");
        let mut call = self.0.unflake(words).arg("--json").arg(found).env("SHOP_TURNS", &turns);
        if later {
            call = call.env("SHOP_LATER", "yes");
        }
        call.args(["--", "pytest"]).end()
    }

    fn learn(&self) -> Ran {
        self.call(&["filter", "learn", "--fresh-by", "fork"], false).exits(0)
    }

    fn run(&self) -> Ran {
        self.call(&["run", "--filter", "--granularity", "off"], true)
    }
}

/// The assertions that the filter says this of.
fn of_kind(ran: &Ran, kinds: &[&str]) -> BTreeSet<String> {
    let is_it = |finding: &&serde_json::Value| {
        finding["technique"] == "filter" && kinds.iter().any(|kind| finding["kind"] == *kind)
    };
    let found = ran.list("findings").iter().filter(is_it);
    found.map(|finding| finding["assertion"]["expression"].as_str().unwrap().to_owned()).collect()
}

/// Tests that are told to fail for real.
fn real(ran: &Ran) -> BTreeSet<String> {
    let is_real = |finding: &&serde_json::Value| finding["technique"] == "verdict" && finding["kind"] == "real";
    let found = ran.list("findings").iter().filter(is_real);
    found.map(|finding| finding["test"].as_str().unwrap().to_owned()).collect()
}

fn must_be_seen(version: &Version) -> BTreeSet<String> {
    version.bugs.iter().chain(&version.updates).map(|(test, _)| test.clone()).collect()
}

#[test]
fn what_comes_and_goes_is_let_go_and_no_bug_is() {
    let (all, shop) = (truth(), Shop::new());
    assert!(all.len() >= 5 && all.iter().filter(|version| !version.bugs.is_empty()).count() >= 4);
    shop.become_version(1);
    shop.learn();
    for version in &all {
        shop.become_version(version.number);
        let ran = shop.run();
        let what = format!("version {}: {}\n{}", version.number, version.what, ran.stdout);
        assert_eq!(real(&ran), must_be_seen(version), "{what}");
        assert_eq!(ran.code, i32::from(!must_be_seen(version).is_empty()), "{what}");
        let let_go = of_kind(&ran, &["flaky"]);
        assert_eq!(let_go.len(), version.accumulated, "{what}");
        assert!(let_go.iter().all(|one| version.flaky.contains(one)), "{what}");
        // Everything that was let go can be read.
        assert!(let_go.iter().all(|one| ran.stdout.contains(one.as_str())), "{what}");
        assert_eq!(ran.list("left").len(), 0);
        // Of what counts, what is in the filter is told from what never varied.
        for (_, expression) in version.bugs.iter().chain(&version.updates) {
            let kinds = ["never-varied", "never-like-this", "every-time"];
            assert!(of_kind(&ran, &kinds).contains(expression), "{expression}\n{what}");
        }
        shop.learn();
    }
    tune(&shop, &all);
}

/// At the threshold that is recommended for the shop, no bug is let go either.
fn tune(shop: &Shop, all: &[Version]) {
    let mark = |label: &str, test: &str, expression: &str| {
        shop.0.unflake(["filter", "mark", label, test, expression]).end().exits(0);
    };
    for version in all {
        version.bugs.iter().for_each(|(test, expression)| mark("true", test, expression));
        version.updates.iter().for_each(|(test, expression)| mark("update", test, expression));
    }
    mark("flaky", "tests/test_window.py::test_cart", "cart.badge == '3'");
    let page = shop.0.place().join("tune.html");
    let tuned = shop.0.unflake(["filter", "tune", "--write", "--json", "-", "--html"]).arg(&page).end().exits(0);
    let told: serde_json::Value = serde_json::from_str(&tuned.stdout).unwrap();
    assert_eq!((&told["bugs"], &told["updates"], &told["kept"]), (&4.into(), &2.into(), &1.0.into()), "{told}");
    let threshold = told["threshold"].as_f64().unwrap();
    // The bugs of versions 4 and 5 were revealed by assertions that vary.
    assert!(threshold > 0.5, "{told}");
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("<svg") && page.contains("polyline"), "{page}");
    let filter = fs::read_to_string(shop.0.project().join("unflake-filter.toml")).unwrap();
    assert!(filter.contains(&format!("threshold = {threshold:.2}")), "{filter}");
    let last = all.last().unwrap();
    let ran = shop.run();
    assert!(must_be_seen(last).is_subset(&real(&ran)), "{}", ran.stdout);
}

#[test]
fn one_version_alone_lets_less_go_and_no_bug_either() {
    for version in truth().iter().filter(|version| version.single != version.accumulated) {
        let shop = Shop::new();
        shop.become_version(version.number - 1);
        shop.learn();
        shop.become_version(version.number);
        let ran = shop.run();
        let what = format!("version {}: {}\n{}", version.number, version.what, ran.stdout);
        assert_eq!(of_kind(&ran, &["flaky"]).len(), version.single, "{what}");
        assert!(must_be_seen(version).is_subset(&real(&ran)), "{what}");
    }
}
