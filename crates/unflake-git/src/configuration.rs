//! Compares two versions of a configuration file by their keys: what only describes a project
//! changes no test.

use std::collections::BTreeMap;

/// Whether all keys with another value begin with one of these, as far as a `.` or their whole length.
/// False where one version cannot be read.
pub(crate) fn only_describes(path: &str, before: &str, after: &str, keys: &[&str]) -> bool {
    let read = if path.ends_with(".toml") { toml_values } else { ini_values };
    let (Some(before), Some(after)) = (read(before), read(after)) else { return false };
    let is_same = |key: &String| before.get(key) == after.get(key);
    let describes = |key: &String| keys.iter().any(|start| key.starts_with(start));
    before.keys().chain(after.keys()).all(|key| is_same(key) || describes(key))
}

/// Values by their full keys, such as `project.version`.
fn toml_values(text: &str) -> Option<BTreeMap<String, String>> {
    fn add(key: String, value: &toml::Value, values: &mut BTreeMap<String, String>) {
        match value {
            toml::Value::Table(table) if !table.is_empty() => {
                table.iter().for_each(|(name, value)| add(format!("{key}.{name}"), value, values));
            }
            value => {
                values.insert(key, value.to_string());
            }
        }
    }
    let mut values = BTreeMap::new();
    let table: toml::Table = text.parse().ok()?;
    table.iter().for_each(|(name, value)| add(name.clone(), value, &mut values));
    Some(values)
}

/// Values by section and key, such as `metadata.version`. A line that continues a value is a part of
/// it.
fn ini_values(text: &str) -> Option<BTreeMap<String, String>> {
    let (mut values, mut section, mut key) = (BTreeMap::<String, String>::new(), String::new(), None);
    for line in text.lines() {
        let content = line.trim();
        if content.is_empty() || content.starts_with(['#', ';']) {
            continue;
        }
        if line.starts_with([' ', '\t']) {
            let value: &String = key.as_ref()?;
            let value = values.get_mut(value)?;
            value.push('\n');
            value.push_str(content);
        } else if let Some(name) = content.strip_prefix('[') {
            (section, key) = (name.strip_suffix(']')?.to_owned(), None);
        } else {
            let (name, value) = content.split_at(content.find(['=', ':'])?);
            let full = format!("{section}.{}", name.trim());
            values.insert(full.clone(), value[1..].trim().to_owned());
            key = Some(full);
        }
    }
    Some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_keys_describe() {
        let base = "[project]\nname = 'shop'\nversion = '1'\n[tool.ruff]\nline = 1\n[tool.pytest.ini_options]\na = 1\n";
        let check = |from: &str, to: &str, expected: bool| {
            assert!(base.contains(from));
            let after = base.replace(from, to);
            let found = only_describes("pyproject.toml", base, &after, &["project.version", "tool.ruff"]);
            assert_eq!(found, expected, "{after}");
        };
        check("'1'", "'2'", true);
        check("line = 1", "line = 2\nwidth = 3", true);
        check("a = 1", "a = 2", false);
        check("name = 'shop'", "name = 'till'", false);
        check("[tool.ruff]\nline = 1\n", "", true);
        check("'1'", "'1", false);
        check("[project]", "# new\n\n[project]", true);
    }

    #[test]
    fn sections_are_read_with_values_of_many_lines() {
        let base = "[flake8]\nignore =\n    E1\n    # why\n    E2\n[tool:pytest]\naddopts = -q\n";
        let check = |from: &str, to: &str, expected: bool| {
            assert!(base.contains(from));
            assert_eq!(only_describes("setup.cfg", base, &base.replace(from, to), &["flake8"]), expected, "{to}");
        };
        check("E2", "E3", true);
        check("-q", "-v", false);
        check("[tool:pytest]\n", "[tool:pytest]\n  odd\n", false);
        check("addopts = -q", "addopts", false);
    }
}
