//! The commented settings file that `unflake config --init` writes.

use std::fmt::Write;

use crate::config::keys::KEYS;

const HEAD: &str = "\
# Settings of unflake. Options and UNFLAKE_ variables come before this file.
# Each line shows the default, or an example where there is none. `unflake config` prints what is
# in effect.
";

/// Every setting with an explanation, its default commented out.
pub(crate) fn settings_file() -> String {
    let mut text = HEAD.to_owned();
    for key in &KEYS {
        let _ = writeln!(text, "\n# {}{}", key.help(), key.default_note());
        let _ = writeln!(text, "# {} = {}", key.name, key.file_value());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_can_be_uncommented() {
        let text = settings_file();
        assert!(text.parse::<toml::Table>().unwrap().is_empty());
        let is_setting = |line: &&str| line.split_once(" = ").is_some_and(|(name, _)| !name.contains(' '));
        let lines: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# ")).filter(is_setting).collect();
        let table: toml::Table = lines.join("\n").parse().unwrap();
        assert_eq!(table.len(), KEYS.len());
        assert!(KEYS.iter().all(|key| table.contains_key(key.name)));
    }
}
