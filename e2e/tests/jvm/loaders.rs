//! Class loaders as a cheap kind of fresh: what they are enough for, and what they are not.

use std::collections::BTreeSet;

use e2e::{Ran, Story};

use super::{brief, cached, story, turn};

/// Each test says what it needs.
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

/// Tests that had an attempt in an environment of this kind.
pub(super) fn of_origin(ran: &Ran, origin: &str) -> BTreeSet<String> {
    let attempts = ran.list("attempts").iter().filter(|attempt| attempt["origin"] == origin);
    attempts.map(|attempt| attempt["test"].as_str().unwrap().rsplit(['#', '.']).next().unwrap().to_owned()).collect()
}

pub(super) fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn only_what_fails_in_a_class_loader_has_a_jvm_of_its_own_and_only_that_makes_a_finding() {
    let _turn = turn();
    let story = story().with("forms/src/test/java/com/acme/LoaderTest.java", LOADERS);
    let call = |story: &Story, fresh: &[&str]| {
        let call = story.unflake(["nio", "--no-state", "--json"]).arg(story.place().join("found.json")).args(fresh);
        cached(call.args("-- mvn -o -B test -pl forms -Dtest=LoaderTest".split(' '))).end().exits(1)
    };
    let ran = call(&story, &[]);
    let broken = ["ends", "property", "samePropertyOfAnother", "twice", "twiceInSystemLoader"];
    let expected: BTreeSet<String> = broken.iter().map(|test| format!("com.acme.LoaderTest#{test} nio")).collect();
    assert_eq!(brief(&ran), expected, "{}", ran.remarks());
    assert_eq!(ran.list("findings").iter().filter(|finding| finding["fresh"] == "process").count(), 5);
    assert_eq!(of_origin(&ran, "in-process").len(), 7);
    assert_eq!(of_origin(&ran, "process"), names(&[&broken[..], &["needsSystemLoader"]].concat()));
    assert!(ran.stdout.contains("1 test ran twice in class loaders only"), "{}", ran.stdout);

    let ran = call(&story, &["--fresh-by", "process"]);
    assert_eq!(brief(&ran), expected, "{}", ran.remarks());
    assert!(of_origin(&ran, "in-process").is_empty());
    assert_eq!(of_origin(&ran, "process").len(), 7);
}
