//! Errors of the agent in a JVM: they end the run as internal errors and never fail a test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use e2e::Sandbox;

use super::built_agent::{BuiltAgent, java_files, run, sources};
use super::turn;

const JUPITER_TEST: &str = "package com.acme;\n\
    import static org.junit.jupiter.api.Assertions.assertTrue;\n\
    import org.junit.jupiter.api.AfterEach;\n\
    import org.junit.jupiter.api.Test;\n\
    import org.junit.jupiter.params.ParameterizedTest;\n\
    import org.junit.jupiter.params.provider.ValueSource;\n\
    class NewTest {\n\
      @Test void passes() throws Exception { Thread one = new Thread(() -> { }); one.start(); one.join(); assertTrue(true); }\n\
      @ParameterizedTest @ValueSource(ints = {1, 2}) void isSmall(int number) { System.out.println(number); assertTrue(number < 3); }\n\
      @Test void catchesAll() {\n\
        boolean isCaught = false;\n\
        try { assertTrue(isSmall()); } catch (Throwable error) { isCaught = true; }\n\
        if (isCaught) throw new AssertionError();\n\
      }\n\
      boolean isSmall() { int number = 1; return number < 3; }\n\
      @Test void losesAll() throws Exception {\n\
        java.util.List<Boolean> found = new java.util.ArrayList<>();\n\
        Thread one = new Thread(() -> found.add(isSmall()));\n\
        one.start();\n\
        one.join();\n\
        assertTrue(found.size() == 1);\n\
      }\n\
      @AfterEach void tearDown() { }\n\
    }\n";
const JUNIT4_TEST: &str = "package com.acme;\n\
    import static org.junit.Assert.assertEquals;\n\
    public class ClassicTest {\n\
      static int count;\n\
      @org.junit.Test public void one() { count++; assertEquals(1, 1); }\n\
      @org.junit.Test public void two() { assertEquals(2, 2); }\n\
    }\n";
const OLD_TEST: &str = "package com.acme;\n\
    public class OldTest extends junit.framework.TestCase {\n\
      public void testOne() { assertEquals(1, 1); }\n\
    }\n";

#[test]
fn no_error_of_the_agent_fails_a_test() {
    let _turn = turn();
    let agent = BuiltAgent::with("unflake/jvm/FaultTest.java");
    let faults = injector(agent.place());
    let project = ["NewTest", "ClassicTest", "OldTest"].map(|name| agent.place().join(format!("{name}.java")));
    for (path, text) in project.iter().zip([JUPITER_TEST, JUNIT4_TEST, OLD_TEST]) {
        fs::write(path, text).unwrap();
    }
    let tests = agent.compiled(&project);
    let mut java = Command::new("java");
    java.arg("-cp").arg(agent.class_path(&[&agent.classes]));
    java.arg("unflake.jvm.FaultTest").arg(&agent.classes).arg(faults);
    // A JVM for each method takes minutes; some are enough to see that errors are caught.
    let skipped = if super::versions::all_wanted() { "0" } else { "9" };
    java.arg(agent.class_path(&[&tests])).args([
        skipped,
        "com.acme.NewTest",
        "com.acme.ClassicTest",
        "com.acme.OldTest",
    ]);
    println!("{}", run(&mut java));
}

#[test]
fn an_error_of_the_agent_is_an_internal_error() {
    let _turn = turn();
    let directory = tempfile::tempdir().unwrap();
    let faults = injector(directory.path());
    let sandbox = Sandbox::specimen("rerun/java/versions");
    let option = format!("-DargLine=-javaagent:{}=unflake.jvm.junit4.ChildOrder#apply", faults.display());
    let words = "-o -B test -Pjunit -Dsurefire=2.12.4 -Djunit=4.8.2 -Dtest=PlainTest";
    let call = sandbox.unflake(["run"]).args(["--", "mvn"]).args(words.split(' ')).arg(option);
    let result = call.finish().expect_exit(70);
    assert!(result.stdout.contains("unflake's agent in the JVM failed"), "{}", result.stdout);
    assert!(result.stdout.contains("unflake.jvm.junit4.ChildOrder.apply"), "{}", result.stdout);
    assert!(!result.stdout.contains("REAL"), "{}", result.stdout);
    assert!(!result.stdout.contains("UNDECIDED"), "{}", result.stdout);
}

/// A jar that makes a method of the agent throw.
fn injector(place: &Path) -> PathBuf {
    let mut files = vec![sources().join("tests/unflake/jvm/bytecode/FaultInjector.java")];
    java_files(&sources().join("agent/unflake/jvm/bytecode"), &mut files);
    let (classes, manifest, jar) = (place.join("injector"), place.join("faults"), place.join("faults.jar"));
    run(Command::new("javac").arg("-d").arg(&classes).args(files));
    fs::write(&manifest, "Premain-Class: unflake.jvm.bytecode.FaultInjector\n").unwrap();
    run(Command::new("jar").arg("cfm").args([&jar, &manifest]).arg("-C").arg(&classes).arg("."));
    jar
}
