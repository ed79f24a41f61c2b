//! A compiled class: its source file, and whether it has constants that compilers copy into other
//! classes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const PRIVATE: u16 = 0x0002;

#[derive(Debug, Default, PartialEq)]
pub(crate) struct ClassFile {
    /// The name of the file, without its directory.
    pub(crate) source: Option<String>,
    /// Whether a change of it can change other classes that never load it.
    pub(crate) has_constants: bool,
    /// Simple names of classes that it mentions: a new class of such a name nearby would replace
    /// them when it is compiled again.
    pub(crate) names: BTreeSet<String>,
}

impl ClassFile {
    pub(crate) fn read(path: &Path) -> Option<Self> {
        Self::parse(&std::fs::read(path).ok()?)
    }

    /// Whether other classes may contain parts of it. Compilers of other languages than Java copy
    /// functions.
    pub(crate) fn is_copied(&self) -> bool {
        self.has_constants || !self.source.as_deref().is_some_and(|source| source.ends_with(".java"))
    }

    /// None: this is no class file. The format is chapter 4 of the JVM specification.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut rest = ByteReader(bytes);
        if rest.u32()? != 0xcafe_babe {
            return None;
        }
        rest.skip(4)?;
        let constants = rest.constants()?;
        let text = |index: u16| constants.text(index);
        rest.skip(6)?;
        let interfaces = rest.u16()?;
        rest.skip(2 * usize::from(interfaces))?;
        let mut class = Self {
            names: constants.texts.iter().flatten().flat_map(|text| simple_names(text)).collect(),
            ..Self::default()
        };
        for is_field in [true, false] {
            for _ in 0..rest.u16()? {
                let flags = rest.u16()?;
                rest.skip(4)?;
                rest.attributes(|name, _| {
                    class.has_constants |= is_field && flags & PRIVATE == 0 && text(name) == Some(b"ConstantValue");
                })?;
            }
        }
        rest.attributes(|name, value| {
            if text(name) == Some(b"SourceFile") {
                let source = ByteReader(value).u16().and_then(text);
                class.source = source.map(|name| String::from_utf8_lossy(name).into_owned());
            }
        })?;
        Some(class)
    }
}

/// The part behind the last slash of each class name in a text or a type descriptor.
fn simple_names(text: &[u8]) -> BTreeSet<String> {
    let text = String::from_utf8_lossy(text);
    let names = text.split([';', '(', ')', '<', '>', ':', '[', '*', '+', '-']).filter_map(|part| part.rsplit_once('/'));
    let nested = names.flat_map(|(_, name)| name.split(['$', '.']));
    nested.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// The strings of a class and the names of classes that it mentions, by index.
pub(super) struct ConstantPool<'a> {
    texts: Vec<Option<&'a [u8]>>,
    classes: BTreeMap<usize, u16>,
}

impl<'a> ConstantPool<'a> {
    pub(super) fn text(&self, index: u16) -> Option<&'a [u8]> {
        self.texts.get(usize::from(index)).copied().flatten()
    }

    /// The name of a class, such as `java/lang/Object`.
    pub(super) fn class(&self, index: u16) -> Option<&'a [u8]> {
        self.classes.get(&usize::from(index)).and_then(|name| self.text(*name))
    }
}

/// The bytes that have not been read yet.
pub(super) struct ByteReader<'a>(pub(super) &'a [u8]);

impl<'a> ByteReader<'a> {
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn skip(&mut self, count: usize) -> Option<()> {
        self.take(count).map(|_| ())
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    pub(super) fn constants(&mut self) -> Option<ConstantPool<'a>> {
        let count = usize::from(self.u16()?);
        let (mut texts, mut classes) = (vec![None], BTreeMap::new());
        while texts.len() < count {
            let tag = self.take(1)?[0];
            if tag == 1 {
                let length = usize::from(self.u16()?);
                texts.push(Some(self.take(length)?));
                continue;
            }
            if tag == 7 {
                classes.insert(texts.len(), self.u16()?);
                texts.push(None);
                continue;
            }
            self.skip(match tag {
                8 | 16 | 19 | 20 => 2,
                15 => 3,
                3 | 4 | 9..=12 | 17 | 18 => 4,
                5 | 6 => 8,
                _ => return None,
            })?;
            // Eight-byte constants take two entries.
            texts.extend(std::iter::repeat_n(None, if tag == 5 || tag == 6 { 2 } else { 1 }));
        }
        Some(ConstantPool { texts, classes })
    }

    pub(super) fn attributes(&mut self, mut see: impl FnMut(u16, &'a [u8])) -> Option<()> {
        for _ in 0..self.u16()? {
            let (name, length) = (self.u16()?, self.u32()?);
            see(name, self.take(length as usize)?);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A class `A` from `A.java` with one field.
    fn class(flags: u16, attribute: &str) -> Vec<u8> {
        let mut bytes = vec![0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 52, 0, 8];
        for text in ["A", attribute, "SourceFile", "A.java"] {
            bytes.extend([1, 0, text.len() as u8]);
            bytes.extend(text.bytes());
        }
        bytes.extend([5, 0, 0, 0, 0, 0, 0, 0, 7, 7, 0, 1]);
        bytes.extend([0, 33, 0, 7, 0, 7, 0, 0, 0, 1]);
        bytes.extend(flags.to_be_bytes());
        bytes.extend([0, 1, 0, 1, 0, 1, 0, 2, 0, 0, 0, 2, 0, 5]);
        bytes.extend([0, 0, 0, 1, 0, 3, 0, 0, 0, 2, 0, 4]);
        bytes
    }

    #[test]
    fn its_source_and_its_constants_are_known() {
        let read = |flags, attribute| ClassFile::parse(&class(flags, attribute)).unwrap();
        let known = read(0x19, "ConstantValue");
        assert_eq!((known.source.as_deref(), known.has_constants), (Some("A.java"), true));
        assert!(!read(0x1a, "ConstantValue").has_constants, "a private one stays where it is");
        assert!(!read(0x19, "Deprecated").has_constants);
        let bytes = class(0x19, "ConstantValue");
        let names = simple_names(b"(ILjava/util/Map$Entry;[Lcom/acme/Till;)Ljava/util/List<Lcom/acme/Shop;>;");
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["Entry", "List", "Map", "Shop", "Till"]);
        for end in 0..bytes.len() {
            assert_eq!(ClassFile::parse(&bytes[..end]), None, "{end}");
        }
    }
}
