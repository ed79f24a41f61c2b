//! What tests need for themselves, by JUnit's `@ResourceLock` and `@Isolated`, from compiled classes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use unflake_protocol::TestNeeds;

use crate::jvm::class_file::ByteReader;

const PARALLEL: &str = "Lorg/junit/jupiter/api/parallel/";

/// So many readers of a resource may run at once.
const READERS: u32 = u32::MAX;
/// How many superclasses are followed.
const MOST_SUPERCLASSES: usize = 20;

/// The needs of a class and of its methods.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ClassNeeds {
    /// The name of its superclass, such as `java/lang/Object`.
    parent: String,
    class: TestNeeds,
    methods: BTreeMap<String, TestNeeds>,
}

impl ClassNeeds {
    /// What is declared at a class, at its superclasses, and at those that enclose it, `a.B$C` in `a.B`.
    pub(super) fn of(class: &str, class_path: &[String]) -> Self {
        let ends = class.match_indices('$').map(|(at, _)| at).chain([class.len()]);
        let mut found = Self::default();
        for end in ends {
            let read = Self::with_inherited(class[..end].replace('.', "/"), class_path);
            found.class.add(&read.class);
            found.methods = read.methods;
        }
        found
    }

    fn with_inherited(mut name: String, class_path: &[String]) -> Self {
        let mut found = Self::default();
        for _ in 0..MOST_SUPERCLASSES {
            let file = format!("{name}.class");
            let bytes = class_path.iter().find_map(|place| fs::read(Path::new(place).join(&file)).ok());
            let Some(read) = bytes.and_then(|bytes| Self::parse(&bytes)) else { break };
            found.class.add(&read.class);
            // An overridden method counts, too: its needs make tests wait, no more.
            read.methods.into_iter().for_each(|(method, needs)| found.methods.entry(method).or_default().add(&needs));
            name = read.parent;
        }
        found
    }

    /// The needs of a test: `method`, `method(int)[3]`.
    pub(super) fn of_test(&self, test: &str) -> TestNeeds {
        let name = test.split(['(', '[']).next().unwrap_or(test);
        let mut needs = self.class.clone();
        self.methods.get(name).into_iter().for_each(|of_method| needs.add(of_method));
        needs
    }

    /// The format is chapter 4 of the JVM specification.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut rest = ByteReader(bytes);
        if rest.u32()? != 0xcafe_babe {
            return None;
        }
        rest.skip(4)?;
        let constants = rest.constants()?;
        let name_of = |text: Option<&[u8]>| String::from_utf8_lossy(text.unwrap_or_default()).into_owned();
        let text = |index: u16| name_of(constants.text(index));
        rest.skip(4)?;
        let mut found = Self { parent: name_of(constants.class(rest.u16()?)), ..Self::default() };
        let interfaces = rest.u16()?;
        rest.skip(2 * usize::from(interfaces))?;
        for is_field in [true, false] {
            for _ in 0..rest.u16()? {
                rest.skip(2)?;
                let name = text(rest.u16()?);
                rest.skip(2)?;
                let needs = needs_of(&mut rest, &text)?;
                if !is_field && !needs.is_nothing() {
                    found.methods.insert(name, needs);
                }
            }
        }
        found.class = needs_of(&mut rest, &text)?;
        Some(found)
    }
}

/// Reads the attributes of a class, a field or a method.
fn needs_of(rest: &mut ByteReader<'_>, text: &impl Fn(u16) -> String) -> Option<TestNeeds> {
    let mut needs = TestNeeds::default();
    rest.attributes(|name, value| {
        if text(name) == "RuntimeVisibleAnnotations" {
            let mut value = ByteReader(value);
            let count = value.u16().unwrap_or_default();
            // What follows a value of an unknown kind cannot be read.
            let _ = (0..count).try_for_each(|_| annotation(&mut value, text, &mut needs));
        }
    })?;
    Some(needs)
}

fn annotation(rest: &mut ByteReader<'_>, text: &impl Fn(u16) -> String, needs: &mut TestNeeds) -> Option<()> {
    let kind = text(rest.u16()?);
    let (mut lock, mut is_shared) = (None, false);
    for _ in 0..rest.u16()? {
        let name = text(rest.u16()?);
        let value = element(rest, text, needs)?;
        match name.as_str() {
            "value" => lock = value,
            "mode" => is_shared = value.as_deref() == Some("READ"),
            _ => {}
        }
    }
    match (kind.strip_prefix(PARALLEL), lock) {
        (Some("Isolated;"), _) => needs.alone = true,
        (Some("ResourceLock;"), Some(name)) => {
            let most = if is_shared { READERS } else { 1 };
            needs.add(&TestNeeds { resources: [(name, most)].into(), ..TestNeeds::default() });
        }
        _ => {}
    }
    Some(())
}

/// The value of an element where it is a string or a constant of an enumeration. Annotations inside of
/// it count, too.
fn element(rest: &mut ByteReader<'_>, text: &impl Fn(u16) -> String, needs: &mut TestNeeds) -> Option<Option<String>> {
    match rest.take(1)?[0] {
        b's' => return Some(Some(text(rest.u16()?))),
        b'e' => {
            rest.skip(2)?;
            return Some(Some(text(rest.u16()?)));
        }
        b'@' => annotation(rest, text, needs)?,
        b'[' => {
            for _ in 0..rest.u16()? {
                element(rest, text, needs)?;
            }
        }
        b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z' | b'c' => rest.skip(2)?,
        _ => return None,
    }
    Some(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A class with one method `a`. `of_class` and `of_method` are annotations, by constants:
    /// 1 `a`, 2 `RuntimeVisibleAnnotations`, 3 `ResourceLock`, 4 `Isolated`, 5 `value`, 6 `db`, 7 `mode`,
    /// 8 `READ`, 9 `ResourceLocks`. Its superclass is `a` (10).
    fn class(of_class: &[u8], of_method: &[u8]) -> Vec<u8> {
        let parallel = |name: &str| format!("{PARALLEL}{name};");
        let texts = [
            "a".to_owned(),
            "RuntimeVisibleAnnotations".to_owned(),
            parallel("ResourceLock"),
            parallel("Isolated"),
            "value".to_owned(),
            "db".to_owned(),
            "mode".to_owned(),
            "READ".to_owned(),
            parallel("ResourceLocks"),
        ];
        let mut bytes = vec![0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 52, 0, texts.len() as u8 + 2];
        for text in texts {
            bytes.extend([1, 0, text.len() as u8]);
            bytes.extend(text.bytes());
        }
        bytes.extend([7, 0, 1]);
        bytes.extend([0, 33, 0, 1, 0, 10, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1]);
        let annotations = |one: &[u8]| [&[0, 1, 0, 2, 0, 0, 0, one.len() as u8 + 2, 0, 1], one].concat();
        bytes.extend(annotations(of_method));
        bytes.extend(annotations(of_class));
        bytes
    }

    const ISOLATED: [u8; 4] = [0, 4, 0, 0];
    const LOCK: [u8; 9] = [0, 3, 0, 1, 0, 5, b's', 0, 6];

    #[test]
    fn locks_are_read_from_classes() {
        let db: BTreeMap<String, u32> = [("db".to_owned(), 1)].into();
        let read = |of_class: &[u8], of_method: &[u8]| {
            let needs = ClassNeeds::parse(&class(of_class, of_method)).unwrap();
            ["a(int)[2]", "b"].map(|test| needs.of_test(test))
        };
        let lock = TestNeeds { resources: db.clone(), ..TestNeeds::default() };
        let alone = TestNeeds { alone: true, ..TestNeeds::default() };
        assert_eq!(read(&ISOLATED, &LOCK), [TestNeeds { alone: true, ..lock.clone() }, alone]);
        let shared = [&LOCK[..3], &[2], &LOCK[4..], &[0, 7, b'e', 0, 1, 0, 8]].concat();
        assert_eq!(read(&LOCK, &shared), [lock.clone(), lock.clone()]);
        let of_readers = TestNeeds { resources: [("db".to_owned(), READERS)].into(), ..TestNeeds::default() };
        assert_eq!(read(&shared, &ISOLATED)[1], of_readers);
        let several = [&[0, 9, 0, 1, 0, 5, b'[', 0, 1, b'@'], &LOCK[..]].concat();
        assert_eq!(read(&several, &shared), [lock.clone(), lock]);
        let bytes = class(&LOCK, &LOCK);
        for end in 0..bytes.len() {
            assert_eq!(ClassNeeds::parse(&bytes[..end]), None, "{end}");
        }
    }

    #[test]
    fn locks_of_superclasses_count() {
        let place = tempfile::tempdir().unwrap();
        let other = [0, 1, 0, 0];
        fs::write(place.path().join("a.class"), class(&LOCK, &ISOLATED)).unwrap();
        fs::write(place.path().join("b.class"), class(&other, &other)).unwrap();
        let needs = ClassNeeds::of("b", &[place.path().to_str().unwrap().to_owned()]);
        let lock = TestNeeds { resources: [("db".to_owned(), 1)].into(), ..TestNeeds::default() };
        assert_eq!(needs.of_test("c"), lock);
        assert_eq!(needs.of_test("a()"), TestNeeds { alone: true, ..lock });
    }
}
