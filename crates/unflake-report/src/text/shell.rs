//! Quoting for POSIX shells.

use crate::one_line;

/// One shell word, quoted only where necessary.
pub fn quote(word: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "%+,-./:=@_^".contains(character);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else if one_line(word) != word {
        // Characters that a terminal interprets or hides become octal escapes, which every printf
        // supports.
        let mut spelled = String::new();
        for character in word.chars() {
            match character {
                '\n' => spelled.push_str("\\n"),
                '\'' => spelled.push_str("'\\''"),
                '\\' => spelled.push_str("\\\\"),
                '%' => spelled.push_str("%%"),
                shown if one_line(shown.encode_utf8(&mut [0; 4])) == shown.to_string() => spelled.push(shown),
                hidden => hidden.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| spelled += &format!("\\{byte:03o}")),
            }
        }
        format!("\"$(printf '{spelled}')\"")
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
