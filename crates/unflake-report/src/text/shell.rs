//! Words as they are typed into a shell.

use crate::one_line;

/// One word of a POSIX shell, quoted only where it has to be.
pub fn quote(word: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "%+,-./:=@_^".contains(character);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else if one_line(word) != word {
        // What a terminal would obey or hide is spelled in octal, which printf of every shell understands.
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
