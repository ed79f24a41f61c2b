//! `unflake trace` on Java tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use e2e::{RunOutput, Sandbox, repository};

use super::turn;

const WAYS: &str = r#"package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class WaysTest {
    @Test
    void meets() throws Exception {
        Thread other = new Thread(() -> assertEquals(5, count("other")));
        Thread.currentThread().interrupt();
        int sum = 0;
        for (int turn = 0; turn < 3000; turn++) {
            sum += turn % 2;
        }
        assertTrue(Thread.interrupted());
        other.start();
        other.join();
        assertEquals(1506, sum + count("mine"));
    }

    static int count(String word) {
        switch (word) {
            case "mine":
                return 6;
            default:
                return word.length();
        }
    }

    @Test
    void halts() {
        int code = count("abc");
        Runtime.getRuntime().halt(code);
    }
}
"#;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::specimen("divergence/java/retry_jitter");
    sandbox.file("src/test/java/com/acme/WaysTest.java", WAYS)
}

fn trace(sandbox: &Sandbox, test: &str) -> RunOutput {
    sandbox.unflake(["trace", test]).args(["--", "mvn", "-o", "-q", "-B", "test"]).finish()
}

fn lines(result: &RunOutput) -> Vec<u32> {
    let number = |line: &str| line.split_once("WaysTest.java:")?.1.split(' ').next()?.parse().ok();
    result.stdout.lines().filter_map(number).collect()
}

#[test]
fn an_interrupted_thread_is_traced_and_stays_interrupted() {
    let _turn = turn();
    let result = trace(&sandbox(), "WaysTest#meets").expect_exit(0);
    let reported = lines(&result);
    assert_eq!(reported[..6], [8, 11, 12, 13, 14, 15], "{}", result.stdout);
    assert!(result.stdout.contains("these 2 lines 3000 times in total"), "{}", result.stdout);
    assert!(reported.ends_with(&[11, 24, 28]), "the other thread takes the other branch\n{}", result.stdout);
    assert!(reported.contains(&26) && result.stdout.contains("in 2 threads"), "{}", result.stdout);
}

#[test]
fn the_trace_of_a_halted_jvm_is_complete() {
    let _turn = turn();
    let result = trace(&sandbox(), "WaysTest#halts").expect_exit(1);
    assert_eq!(lines(&result), [8, 34, 24, 28, 35], "{}", result.stdout);
}

/// Instruments every class of the jars in the local Maven repository.
#[test]
fn instrumented_classes_pass_the_verifier() {
    let _turn = turn();
    let place = tempfile::tempdir().unwrap();
    let agent = repository().join("agents/jvm");
    let folders = ["bytecode", "layers", "protocol", "trace", "util"]
        .map(|package| format!("agent/unflake/jvm/{package}"))
        .into_iter()
        .chain(["bytecode", "layers", "trace"].map(|package| format!("tests/unflake/jvm/{package}")));
    let sources: Vec<PathBuf> = folders
        .flat_map(|folder| fs::read_dir(agent.join(folder)).unwrap().flatten().map(|entry| entry.path()))
        .collect();
    let run = |command: &mut Command| {
        let output = command.output().unwrap();
        let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success(), "{printed}");
        printed
    };
    run(Command::new("javac").args(["-nowarn", "-d"]).arg(place.path()).args(sources));
    let home = std::env::var_os("HOME").unwrap();
    let jars =
        ["junit/junit", "org/junit", "org/opentest4j", "org/apache/commons", "commons-io", "org/apache/maven/surefire"];
    let mut found = Vec::new();
    jars.iter().for_each(|folder| jars_below(&Path::new(&home).join(".m2/repository").join(folder), &mut found));
    assert!(!found.is_empty(), "there are no jars");
    let mut java = Command::new("java");
    run(java.args(["-Xverify:all", "-cp"]).arg(place.path()).arg("unflake.jvm.trace.EveryClassTest").args(found));
    // The analysis of exception handlers reads the same class files.
    run(Command::new("java").arg("-cp").arg(place.path()).arg("unflake.jvm.bytecode.ExceptionHandlersTest"));
}

fn jars_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            jars_below(&path, found);
        } else if name.ends_with(".jar") && !name.contains("sources") {
            found.push(path);
        }
    }
}
