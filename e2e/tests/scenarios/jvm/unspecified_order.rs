//! Orders that the JDK leaves open: found by `factors`, reproduced by the printed command.

use super::turn;
use e2e::Sandbox;

const MAVEN: [&str; 5] = ["mvn", "-o", "-q", "-B", "test"];

#[test]
fn the_order_of_hash_collections_or_reflection_decides() {
    let _turn = turn();
    let sandbox = Sandbox::specimen("environment/java/unspecified_order");
    for (test, expected) in [
        ("printsPrices", Some("collection-order")),
        ("listsFields", Some("reflection-order")),
        ("keepsInsertion", None),
    ] {
        let search = sandbox.unflake(["factors", test, "--for", "0"]);
        let search = search.args(["--factor", "collection-order", "--factor", "reflection-order"]).json();
        let result = search.arg("--").args(MAVEN).finish();
        let [finding] = result.list("findings") else { panic!("{test}: {}", result.stderr) };
        let (kind, fails) = (finding["kind"].as_str().unwrap(), expected.is_some());
        assert_eq!((kind, result.code), (expected.unwrap_or("none"), i32::from(fails)), "{finding}");
    }
}

#[test]
fn plain_maven_follows_the_orders() {
    let _turn = turn();
    let sandbox = Sandbox::specimen("environment/java/unspecified_order");
    for (option, selected, passes) in [
        ("--collection-order=reversed", "-Dtest=CatalogueTest#printsPrices", false),
        ("--reflection-order=reversed", "-Dtest=CatalogueTest#listsFields", false),
        ("--collection-order=reversed", "-Dtest=CatalogueTest#listsFields+keepsInsertionOrder", true),
    ] {
        let under = sandbox.unflake(["under", "--quiet", option, "--"]).args(MAVEN).arg(selected);
        let printed = under.finish();
        assert_eq!(printed.code == 0, passes, "{option} {selected}: {}", printed.stdout);
    }
}
