use std::io::Write;
use std::process::{Command, Output, Stdio};

fn ledger(input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ledger"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn prints_the_balance() {
    let output = ledger("wages 250000\nrent -90050\n");

    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "1599.50\n");
}

#[test]
fn complains_about_mistakes() {
    let output = ledger("rent\n");

    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "not a booking: rent\n");
}
