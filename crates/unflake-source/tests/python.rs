//! Outlines and changes against Python's own `ast`, on the sources of its standard library.

use std::fs;
use std::path::Path;
use std::process::Command;

use unflake_source::python::{changed_functions, scopes};

/// How many files of the standard library are compared, if it has as many.
const FILES: &str = "400";
/// How many of a hundred files may be unknown.
const MAX_UNKNOWN: usize = 3;

#[test]
fn scopes_are_those_of_python_and_an_edited_token_changes_its_scope() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support.py");
    let output = match Command::new("python3").arg(script).arg(FILES).output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("not compared: python3 cannot be started ({error})");
            return;
        }
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (mut files, mut unknown, mut edits, mut wrong) = (0, Vec::new(), 0, Vec::new());
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let expected: serde_json::Value = serde_json::from_str(line).unwrap();
        let name = expected["file"].as_str().unwrap();
        let source = fs::read(name).unwrap();
        files += 1;
        let Some(mut found) = scopes(&source) else {
            unknown.push(name.to_owned());
            continue;
        };
        found.sort_by(|one, other| (one.line, &one.name).cmp(&(other.line, &other.name)));
        let found: Vec<_> = found
            .iter()
            .map(|one| serde_json::json!([one.name, one.is_class, one.first_line, one.line, one.last_line]))
            .collect();
        if found != *expected["scopes"].as_array().unwrap() {
            let expected = expected["scopes"].as_array().unwrap();
            let differs = found.iter().zip(expected).find(|(one, other)| one != other);
            wrong.push(format!("{name}: {} and {} scopes, {differs:?}", found.len(), expected.len()));
        }
        assert!(changed_functions(&source, &source).unwrap().functions.is_empty(), "{name}");
        for edit in expected["edits"].as_array().unwrap() {
            let at = usize::try_from(edit[0].as_u64().unwrap()).unwrap();
            let scope = edit[1].as_str().unwrap();
            let edited = [&source[..at], b"q7", &source[at..]].concat();
            edits += 1;
            let Some(functions) = changed_functions(&source, &edited).map(|change| change.functions) else { continue };
            let is_found = functions.before.contains(scope) && functions.after.contains(scope);
            if !is_found && functions.bodies.is_empty() && functions.names.is_empty() {
                wrong.push(format!("{name}: an edit at {at}, in {scope}, is {functions:?}"));
            }
        }
    }
    println!("{files} files, {} of them unknown, {edits} edits", unknown.len());
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(
        unknown.len() * 100 <= files * MAX_UNKNOWN,
        "{} of {files} are unknown:\n{}",
        unknown.len(),
        unknown.join("\n")
    );
}
