//! Reads the password file of libpq: `host:port:database:user:password` per line.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The password of the first line that fits `[host, port, database, user]`. Like libpq, ignores a
/// file that other users can read.
pub(super) fn password(path: &Path, wanted: [&str; 4]) -> Option<String> {
    if fs::metadata(path).ok()?.permissions().mode() & 0o077 != 0 {
        return None;
    }
    fs::read_to_string(path).ok()?.lines().find_map(|line| {
        let fields = fields(line);
        let fits = |(field, wanted): (&String, &&str)| field == "*" || field == wanted;
        (fields.len() == 5 && fields.iter().zip(&wanted).all(fits)).then(|| fields[4].clone())
    })
}

/// Splits at colons; a backslash escapes the next character.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = if line.starts_with('#') { "" } else { line }.chars();
    while let Some(c) = characters.next() {
        match c {
            ':' if fields.len() < 5 => fields.push(String::new()),
            _ => {
                let kept = if c == '\\' { characters.next().unwrap_or(c) } else { c };
                fields.last_mut().expect("there is one from the beginning").push(kept);
            }
        }
    }
    fields
}
