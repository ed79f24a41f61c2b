//! The assertion filter on a shop in six versions (`specimens/assertion_filter/python/shop`) with
//! bugs, intended changes and varying assertions. No bug may be filtered.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use e2e::{RunOutput, Sandbox, repository};
use serde::Deserialize;

#[derive(Deserialize)]
struct ShopVersions {
    version: Vec<Version>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Version {
    number: u32,
    what: String,
    /// Test and assertion.
    bugs: Vec<(String, String)>,
    updates: Vec<(String, String)>,
    flaky: Vec<String>,
    accumulated: usize,
    single: usize,
}

fn shop_directory() -> PathBuf {
    repository().join("specimens/assertion_filter/python/shop")
}

fn versions() -> Vec<Version> {
    let text = fs::read_to_string(shop_directory().join("specimen.toml")).unwrap();
    toml::from_str::<ShopVersions>(&text).unwrap().version
}

/// A sandbox with the shop, which is updated from version to version.
struct Shop(Sandbox);

impl Shop {
    fn new() -> Self {
        Self(Sandbox::new())
    }

    /// Overlays the files of all versions up to this one, and commits.
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
            lay(&shop_directory().join(before.to_string()), &self.0.project());
        }
        self.0.commit("another version");
    }

    /// Runs unflake with the turns of varying assertions reset.
    fn call(&self, words: &[&str], later: bool) -> RunOutput {
        let turns = self.0.root().join("turns");
        let _ = fs::remove_dir_all(&turns);
        fs::create_dir(&turns).unwrap();
        let mut call = self.0.unflake(words).json().env("SHOP_TURNS", &turns);
        if later {
            call = call.env("SHOP_LATER", "yes");
        }
        call.args(["--", "pytest"]).finish()
    }

    fn learn(&self) -> RunOutput {
        self.call(&["filter", "learn", "--fresh-by", "fork"], false).expect_exit(0)
    }

    fn run(&self) -> RunOutput {
        self.call(&["run", "--filter", "--granularity", "off"], true)
    }
}

/// The assertions with filter findings of these kinds.
fn of_kind(result: &RunOutput, kinds: &[&str]) -> BTreeSet<String> {
    let is_it = |finding: &&serde_json::Value| {
        finding["technique"] == "filter" && kinds.iter().any(|kind| finding["kind"] == *kind)
    };
    let found = result.list("findings").iter().filter(is_it);
    found.map(|finding| finding["assertion"]["expression"].as_str().unwrap().to_owned()).collect()
}

/// Tests with the verdict real.
fn real(result: &RunOutput) -> BTreeSet<String> {
    let is_real = |finding: &&serde_json::Value| finding["technique"] == "verdict" && finding["kind"] == "real";
    let found = result.list("findings").iter().filter(is_real);
    found.map(|finding| finding["test"].as_str().unwrap().to_owned()).collect()
}

fn must_be_seen(version: &Version) -> BTreeSet<String> {
    version.bugs.iter().chain(&version.updates).map(|(test, _)| test.clone()).collect()
}

#[test]
fn varying_assertions_are_filtered_and_no_bug_is() {
    let (all, shop) = (versions(), Shop::new());
    assert!(all.len() >= 5 && all.iter().filter(|version| !version.bugs.is_empty()).count() >= 4);
    shop.become_version(1);
    shop.learn();
    for version in &all {
        shop.become_version(version.number);
        let result = shop.run();
        let what = format!("version {}: {}\n{}", version.number, version.what, result.stdout);
        assert_eq!(real(&result), must_be_seen(version), "{what}");
        assert_eq!(result.code, i32::from(!must_be_seen(version).is_empty()), "{what}");
        let filtered = of_kind(&result, &["flaky"]);
        assert_eq!(filtered.len(), version.accumulated, "{what}");
        assert!(filtered.iter().all(|one| version.flaky.contains(one)), "{what}");
        // Every filtered assertion is printed.
        assert!(filtered.iter().all(|one| result.stdout.contains(one.as_str())), "{what}");
        assert_eq!(result.list("left").len(), 0);
        // Of the failures that count, those in the filter are distinguished from those that never
        // varied.
        for (_, expression) in version.bugs.iter().chain(&version.updates) {
            let kinds = ["never-varied", "never-like-this", "every-time"];
            assert!(of_kind(&result, &kinds).contains(expression), "{expression}\n{what}");
        }
        shop.learn();
    }
    tune(&shop, &all);
}

/// At the recommended threshold no bug is filtered either.
fn tune(shop: &Shop, all: &[Version]) {
    let mark = |label: &str, test: &str, expression: &str| {
        shop.0.unflake(["filter", "label", label, test, expression]).finish().expect_exit(0);
    };
    for version in all {
        version.bugs.iter().for_each(|(test, expression)| mark("true", test, expression));
        version.updates.iter().for_each(|(test, expression)| mark("update", test, expression));
    }
    mark("flaky", "tests/test_window.py::test_cart", "cart.badge == '3'");
    let page = shop.0.root().join("tune.html");
    let tuned =
        shop.0.unflake(["filter", "tune", "--write", "--json", "-", "--html"]).arg(&page).finish().expect_exit(0);
    let reported: serde_json::Value = serde_json::from_str(&tuned.stdout).unwrap();
    assert_eq!(
        (&reported["bugs"], &reported["updates"], &reported["kept"]),
        (&4.into(), &2.into(), &1.0.into()),
        "{reported}"
    );
    let threshold = reported["threshold"].as_f64().unwrap();
    // Varying assertions revealed the bugs of versions 4 and 5.
    assert!(threshold > 0.5, "{reported}");
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("<svg") && page.contains("polyline"), "{page}");
    let filter = fs::read_to_string(shop.0.project().join("unflake-filter.toml")).unwrap();
    assert!(filter.contains(&format!("threshold = {threshold:.2}")), "{filter}");
    let last = all.last().unwrap();
    let result = shop.run();
    assert!(must_be_seen(last).is_subset(&real(&result)), "{}", result.stdout);
}

fn filters_less(version: &Version) {
    let shop = Shop::new();
    shop.become_version(version.number - 1);
    shop.learn();
    shop.become_version(version.number);
    let result = shop.run();
    let what = format!("version {}: {}\n{}", version.number, version.what, result.stdout);
    assert_eq!(of_kind(&result, &["flaky"]).len(), version.single, "{what}");
    assert!(must_be_seen(version).is_subset(&real(&result)), "{what}");
}

#[test]
fn a_single_version_filters_less_and_no_bug() {
    filters_less(versions().iter().max_by_key(|version| version.accumulated - version.single).unwrap());
}

#[test]
#[ignore = "the same with every version"]
fn every_single_version_filters_less_and_no_bug() {
    versions().iter().filter(|version| version.single != version.accumulated).for_each(filters_less);
}
