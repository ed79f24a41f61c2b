//! The way of a test through Java code.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use e2e::{Ran, Story, repository};

use crate::{cached, turn};

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

fn story() -> Story {
    let story = Story::copy_of(&repository().join("specimens/locate-java-retry-jitter"));
    story.with("src/test/java/com/acme/WaysTest.java", WAYS)
}

fn trace(story: &Story, test: &str) -> Ran {
    cached(story.unflake(["trace", test])).args(["--", "mvn", "-o", "-q", "-B", "test"]).end()
}

fn lines(ran: &Ran) -> Vec<u32> {
    let number = |line: &str| line.split_once("WaysTest.java:")?.1.split(' ').next()?.parse().ok();
    ran.stdout.lines().filter_map(number).collect()
}

#[test]
fn a_thread_that_is_interrupted_is_followed_and_stays_interrupted() {
    let _turn = turn();
    let ran = trace(&story(), "WaysTest#meets").exits(0);
    let told = lines(&ran);
    assert_eq!(told[..6], [8, 11, 12, 13, 14, 15], "{}", ran.stdout);
    assert!(ran.stdout.contains("these 2 lines 3000 times in all"), "{}", ran.stdout);
    assert!(told.ends_with(&[11, 24, 28]), "the other thread took the other way\n{}", ran.stdout);
    assert!(told.contains(&26) && ran.stdout.contains("in 2 threads"), "{}", ran.stdout);
}

#[test]
fn a_jvm_that_is_gone_has_told_its_way() {
    let _turn = turn();
    let ran = trace(&story(), "WaysTest#halts").exits(1);
    assert_eq!(lines(&ran), [8, 34, 24, 28, 35], "{}", ran.stdout);
}

/// Every class of what is at hand, with probes in it, is one that the JVM's verifier takes.
#[test]
fn probes_leave_classes_that_can_be_verified() {
    let _turn = turn();
    let place = tempfile::tempdir().unwrap();
    let agent = repository().join("agents/jvm");
    let folders = ["agent/unflake/jvm/bytecode", "agent/unflake/jvm/trace", "agent/unflake/jvm/util"]
        .into_iter()
        .chain(["tests/unflake/jvm/bytecode", "tests/unflake/jvm/trace"]);
    let sources: Vec<PathBuf> = folders
        .flat_map(|folder| fs::read_dir(agent.join(folder)).unwrap().flatten().map(|entry| entry.path()))
        .collect();
    let run = |command: &mut Command| {
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success(), "{said}");
        said
    };
    run(Command::new("javac").args(["-nowarn", "-d"]).arg(place.path()).args(sources));
    let home = std::env::var_os("HOME").unwrap();
    let jars =
        ["junit/junit", "org/junit", "org/opentest4j", "org/apache/commons", "commons-io", "org/apache/maven/surefire"];
    let mut found = Vec::new();
    jars.iter().for_each(|folder| jars_below(&Path::new(&home).join(".m2/repository").join(folder), &mut found));
    assert!(!found.is_empty(), "there are no jars to look at");
    let mut java = Command::new("java");
    run(java.args(["-Xverify:all", "-cp"]).arg(place.path()).arg("unflake.jvm.trace.EveryClassTest").args(found));
    // What a method does with an exception is read from the same bytes.
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
