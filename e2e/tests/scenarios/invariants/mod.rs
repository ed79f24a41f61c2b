//! Invariants of ten small functions, in Python and Java, against those that a person derives.
//!
//! Each function is called forty times in the first run and never in the second, so that every
//! invariant of it differs between the runs.

use std::collections::BTreeSet;

use e2e::{RunOutput, Sandbox};

/// What holds at the beginning and at the end of each function, in both languages. `LIST`, `ACCOUNT`
/// and `SELF` have other names in each.
const DERIVED: [(&str, &[&str], &[&str]); 10] = [
    ("sign", &["n is of type int"], &["n is of type int", "return is one of -1, 0, 1"]),
    (
        "twice",
        &["n is of type int", "n >= 0"],
        &["n is of type int", "n >= 0", "return is of type int", "return > 0", "return == 2 * n + 1"],
    ),
    (
        "clamp",
        &["n is of type int", "low == 0", "high == 5"],
        &["n is of type int", "low == 0", "high == 5", "return is of type int", "return >= 0", "return <= 5"],
    ),
    ("constant", &[r#"text is one of "a", "b""#], &[r#"text is one of "a", "b""#, r#"return == "fixed""#]),
    ("find", &["n is of type int", "n >= 0"], &["n is of type int", "n >= 0"]),
    ("nothing", &["n is one of 0, 1"], &["n is one of 0, 1", "return is null"]),
    (
        "span",
        &["low is of type int", "low >= 0", "high is of type int", "high > 0", "low < high"],
        &[
            "low is of type int",
            "low >= 0",
            "high is of type int",
            "high > 0",
            "low < high",
            "return is one of 1, 2, 3",
            "high >= return",
        ],
    ),
    (
        "size",
        &["items is of type LIST", "size of items >= 0", "size of items <= 3"],
        &[
            "items is of type LIST",
            "size of items >= 0",
            "size of items <= 3",
            "return is of type int",
            "return >= 0",
            "return <= 3",
            "size of items == return",
        ],
    ),
    (
        "average",
        &["a is of type float", "a >= 0", "b is of type float", "b > 0", "b == 2 * a + 1"],
        &[
            "a is of type float",
            "a >= 0",
            "b is of type float",
            "b > 0",
            "return is of type float",
            "return > 0",
            "b == 2 * a + 1",
            "return == 1.5 * a + 0.5",
            "return == 0.75 * b - 0.25",
        ],
    ),
    (
        "deposit",
        &[
            "SELF is of type ACCOUNT",
            "SELF.balance is of type int",
            "SELF.balance >= 0",
            "amount is of type int",
            "amount >= 1",
            "amount <= 5",
        ],
        &[
            "SELF is of type ACCOUNT",
            "SELF.balance is of type int",
            "SELF.balance > 0",
            "amount is of type int",
            "amount >= 1",
            "amount <= 5",
            "SELF.balance >= amount",
            "return is of type int",
            "return > 0",
            "SELF.balance == return",
        ],
    ),
];

/// `test`: the id of the test of a function; `function`: its qualified name.
fn check(result: &RunOutput, test: impl Fn(&str) -> String, function: impl Fn(&str) -> String, names: [&str; 3]) {
    for (name, begins, ends) in DERIVED {
        let finding = result.list("findings").iter().find(|one| one["test"] == *test(name)).unwrap_or_else(|| {
            panic!("{name} has no finding\n{}{}", result.stdout, result.stderr);
        });
        let units = finding["units"].as_array().unwrap();
        let found: BTreeSet<String> = units.iter().map(|unit| unit["what"].as_str().unwrap().to_owned()).collect();
        let texts = |when: &'static str, of: &'static [&str]| {
            let [list, account, own] = names;
            let text = move |one: &&str| one.replace("LIST", list).replace("ACCOUNT", account).replace("SELF", own);
            let function = function(name);
            of.iter().map(move |one| format!("{function}, {when}: {}", text(one)))
        };
        let derived: BTreeSet<String> = texts("beginning", begins).chain(texts("end", ends)).collect();
        assert_eq!(found, derived, "{name}");
        assert!(units.iter().all(|unit| unit["support"].as_u64().is_some_and(|rows| (7..=40).contains(&rows))));
    }
}

#[test]
fn invariants_of_python_functions_are_those_that_a_person_derives() {
    let sandbox =
        Sandbox::new().file("shop.py", include_str!("shop.py")).file("test_shop.py", include_str!("test_shop.py"));
    let call = sandbox.unflake(["measure", "--runs", "2", "--layer", "behaviour"]).json();
    let result = call.args(["--", "python", "-m", "pytest", "-p", "no:cacheprovider"]).finish().expect_exit(0);
    let function = |name: &str| if name == "deposit" { "Account.deposit".to_owned() } else { name.to_owned() };
    check(&result, |name| format!("test_shop.py::test_{name}"), function, ["list", "shop.Account", "self"]);
}

#[test]
fn invariants_of_java_methods_are_those_that_a_person_derives() {
    let _turn = crate::jvm::turn();
    let sandbox = Sandbox::specimen("variance/java/assertions");
    let sources = sandbox.project().join("src");
    std::fs::remove_dir_all(sources).unwrap();
    let sandbox = sandbox
        .file("src/main/java/com/acme/Shop.java", include_str!("Shop.java"))
        .file("src/test/java/com/acme/ShopTest.java", include_str!("ShopTest.java"));
    let call = sandbox.unflake(["measure", "--runs", "2", "--layer", "behaviour"]).json();
    let result = call.args(["--", "mvn", "-o", "-B", "test"]).finish().expect_exit(0);
    let function = |name: &str| match name {
        "deposit" => "Shop.Account.deposit".to_owned(),
        name => format!("Shop.{name}"),
    };
    check(&result, |name| format!("com.acme.ShopTest#{name}"), function, ["ArrayList", "Account", "this"]);
}
