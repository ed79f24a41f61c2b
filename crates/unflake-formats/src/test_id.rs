//! Maps the names in a report to the test id of the runner, so that imported results and our own
//! share one id.

use crate::junit::reader::Reported;

/// The id of a test, and its file where the id contains it.
pub(crate) fn of(test: &Reported) -> (String, Option<String>) {
    let group = without_stress_suffix(if test.classname.is_empty() { &test.suite } else { &test.classname });
    if test.suite == "pytest" {
        return pytest(&test.classname, test);
    }
    let id = match (group, test.name.as_str()) {
        ("", "") => "(no name)".to_owned(),
        ("", name) => name.to_owned(),
        (group, "") => group.to_owned(),
        (group, name) if test.has_result => format!("{group}.{name}"),
        (group, name) => format!("{group} {name}"),
    };
    (id, test.file.clone())
}

/// Strips the suffix of nextest's stress runs: `name@stress-0`, `name@stress-1` and so on.
pub(crate) fn without_stress_suffix(group: &str) -> &str {
    match group.rsplit_once("@stress-") {
        Some((name, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => group,
    }
}

/// pytest writes `tests/test_cart.py::TestCart::test_total` as class `tests.test_cart.TestCart` and
/// name `test_total`. Its xunit1 dialect has the file too; without it, parts that begin with a
/// capital letter are classes.
fn pytest(group: &str, test: &Reported) -> (String, Option<String>) {
    let name = &test.name;
    if group.is_empty() {
        // A file with an import error.
        return (name.clone(), test.file.clone());
    }
    let module_of = |file: &str| file.trim_end_matches(".py").replace(['/', '\\'], ".");
    let (file, classes) = match &test.file {
        Some(file) if group.starts_with(&module_of(file)) => (file.clone(), group[module_of(file).len()..].to_owned()),
        _ => {
            let is_class = |part: &str| part.starts_with(|c: char| c.is_uppercase());
            let parts: Vec<&str> = group.split('.').collect();
            let classes = parts.iter().rev().take_while(|part| is_class(part)).count().min(parts.len() - 1);
            let (modules, classes) = parts.split_at(parts.len() - classes);
            (format!("{}.py", modules.join("/")), classes.join("."))
        }
    };
    let classes: String =
        classes.split('.').filter(|part| !part.is_empty()).map(|class| format!("::{class}")).collect();
    (format!("{file}{classes}::{name}"), Some(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(suite: &str, classname: &str, name: &str, file: Option<&str>) -> String {
        let test = Reported {
            suite: suite.into(),
            classname: classname.into(),
            name: name.into(),
            file: file.map(str::to_owned),
            ..Reported::default()
        };
        of(&test).0
    }

    #[test]
    fn pytest_ids_are_restored() {
        assert_eq!(id("pytest", "tests.test_cart", "test_total[a.b]", None), "tests/test_cart.py::test_total[a.b]");
        assert_eq!(
            id("pytest", "tests.test_cart.TestCart.TestSum", "test_a", None),
            "tests/test_cart.py::TestCart::TestSum::test_a"
        );
        assert_eq!(id("pytest", "a.Odd.TestCart", "test_a", Some("a/Odd.py")), "a/Odd.py::TestCart::test_a");
        assert_eq!(id("pytest", "", "tests.test_broken", None), "tests.test_broken");
        assert_eq!(id("pytest", "Test", "test_a", None), "Test.py::test_a");
    }

    #[test]
    fn others_are_named_by_class_or_suite() {
        assert_eq!(id("shop::it@stress-12", "shop::it@stress-12", "cart::sums", None), "shop::it cart::sums");
        assert_eq!(id("suite", "", "a", None), "suite a");
        assert_eq!(id("", "", "", None), "(no name)");
    }
}
