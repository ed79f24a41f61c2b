//! Fresh class loaders as a cheap prefilter of `unflake nio`, and what needs a JVM of its own.

use std::collections::BTreeSet;

use e2e::{RunOutput, Sandbox};

use super::{maven_project, summaries, turn};

/// Tests that need another class loader, another JVM, or neither.
const LOADERS: &str = r#"package com.acme;
import static org.junit.jupiter.api.Assertions.*;
import java.io.File;
import java.net.URL;
import java.util.Collections;
import org.junit.jupiter.api.Test;

class LoaderTest {
    private static int times;
    private static boolean left;

    @Test void twice() {
        assertEquals(1, ++times);
    }

    @Test void twiceInSystemLoader() throws Exception {
        assertSame(LoaderTest.class, ClassLoader.getSystemClassLoader().loadClass("com.acme.LoaderTest"));
        assertEquals(1, ++times);
    }

    @Test void property() {
        assertNull(System.setProperty("acme.left", "x"));
    }

    @Test void samePropertyOfAnother() {
        assertNull(System.setProperty("acme.left", "x"));
    }

    @Test void needsSystemLoader() throws Exception {
        assertSame(LoaderTest.class, ClassLoader.getSystemClassLoader().loadClass("com.acme.LoaderTest"));
    }

    @Test void ends() {
        if (left) {
            System.exit(3);
        }
        left = true;
    }

    @Test void looksAround() throws Exception {
        ClassLoader own = LoaderTest.class.getClassLoader();
        assertSame(own, Thread.currentThread().getContextClassLoader());
        assertEquals("com.acme", LoaderTest.class.getPackage().getName());
        URL source = LoaderTest.class.getProtectionDomain().getCodeSource().getLocation();
        assertEquals(new File("target/test-classes").getAbsoluteFile().toURI().toURL(), source);
        URL resource = own.getResource("com/acme/LoaderTest.class");
        assertEquals(source + "com/acme/LoaderTest.class", resource.toString());
        assertEquals(Collections.singletonList(resource), Collections.list(own.getResources("com/acme/LoaderTest.class")));
        assertTrue(System.getProperty("java.class.path").contains("test-classes"));
        assertEquals("main", Thread.currentThread().getName());
        assertSame(Test.class, own.loadClass("org.junit.jupiter.api.Test"));
        assertThrows(ClassNotFoundException.class, () -> own.loadClass("com.acme.Nobody"));
    }
}
"#;

/// The tests with an attempt in an environment of this origin.
pub(super) fn of_origin(result: &RunOutput, origin: &str) -> BTreeSet<String> {
    let attempts = result.list("attempts").iter().filter(|attempt| attempt["origin"] == origin);
    attempts.map(|attempt| attempt["test"].as_str().unwrap().rsplit(['#', '.']).next().unwrap().to_owned()).collect()
}

pub(super) fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn only_tests_that_fail_in_a_class_loader_get_a_jvm_of_their_own() {
    let _turn = turn();
    let sandbox = maven_project().file("forms/src/test/java/com/acme/LoaderTest.java", LOADERS);
    let call = |sandbox: &Sandbox, fresh: &[&str]| {
        let call = sandbox.unflake(["nio", "--no-state", "--for", "0"]).json().args(fresh);
        call.args("-- mvn -o -B test -pl forms -Dtest=LoaderTest".split(' ')).finish().expect_exit(1)
    };
    let result = call(&sandbox, &[]);
    let broken = ["ends", "property", "samePropertyOfAnother", "twice", "twiceInSystemLoader"];
    let expected: BTreeSet<String> = broken.iter().map(|test| format!("com.acme.LoaderTest#{test} nio")).collect();
    assert_eq!(summaries(&result), expected, "{}", result.remarks());
    assert_eq!(result.list("findings").iter().filter(|finding| finding["fresh"] == "process").count(), 5);
    assert_eq!(of_origin(&result, "in-process").len(), 7);
    assert_eq!(of_origin(&result, "process"), names(&[&broken[..], &["needsSystemLoader"]].concat()));
    assert!(result.stdout.contains("1 test ran twice in class loaders only"), "{}", result.stdout);

    let result = call(&sandbox, &["--fresh-by", "process"]);
    assert_eq!(summaries(&result), expected, "{}", result.remarks());
    assert!(of_origin(&result, "in-process").is_empty());
    assert_eq!(of_origin(&result, "process").len(), 7);
}
