//! The scanner against Python itself, on the sources of its standard library.

use std::fs;
use std::path::Path;
use std::process::Command;

use unflake_git::python::{changed, scopes};

/// How many files of the standard library are looked at, if it has as many.
const FILES: &str = "400";
/// Of a hundred files, so many may be too odd to tell.
const UNTOLD: usize = 3;

#[test]
fn scopes_are_those_of_the_language_and_a_changed_token_is_told_of_its_scope() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support.py");
    let output = match Command::new("python3").arg(script).arg(FILES).output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("not compared: python3 cannot be started ({error})");
            return;
        }
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (mut files, mut untold, mut places, mut wrong) = (0, Vec::new(), 0, Vec::new());
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let told: serde_json::Value = serde_json::from_str(line).unwrap();
        let name = told["file"].as_str().unwrap();
        let source = fs::read(name).unwrap();
        files += 1;
        let Some(mut found) = scopes(&source) else {
            untold.push(name.to_owned());
            continue;
        };
        found.sort_by(|one, other| (one.line, &one.name).cmp(&(other.line, &other.name)));
        let found: Vec<_> = found
            .iter()
            .map(|one| serde_json::json!([one.name, one.is_class, one.first_line, one.line, one.last_line]))
            .collect();
        if found != *told["scopes"].as_array().unwrap() {
            let expected = told["scopes"].as_array().unwrap();
            let differs = found.iter().zip(expected).find(|(one, other)| one != other);
            wrong.push(format!("{name}: {} and {} scopes, {differs:?}", found.len(), expected.len()));
        }
        assert!(changed(&source, &source).unwrap().is_empty(), "{name}");
        for place in told["places"].as_array().unwrap() {
            let at = usize::try_from(place[0].as_u64().unwrap()).unwrap();
            let scope = place[1].as_str().unwrap();
            let edited = [&source[..at], b"q7", &source[at..]].concat();
            places += 1;
            let Some(functions) = changed(&source, &edited) else { continue };
            if !(functions.before.contains(scope) && functions.after.contains(scope)) {
                wrong.push(format!("{name}: a change at {at}, in {scope}, is told as {functions:?}"));
            }
        }
    }
    println!("{files} files, {} of them not told, {places} edits", untold.len());
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(untold.len() * 100 <= files * UNTOLD, "{} of {files} are not told:\n{}", untold.len(), untold.join("\n"));
}
