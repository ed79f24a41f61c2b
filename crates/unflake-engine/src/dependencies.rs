//! What an attempt depended on, as an agent wrote it down (`agents/README.md`, 27 and 28).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use unflake_model::Dependencies;

/// The format that this unflake reads.
const FORMAT: u32 = 1;

#[derive(Deserialize)]
struct Written {
    format: u32,
    #[serde(default)]
    root: PathBuf,
    #[serde(default)]
    after: u32,
    #[serde(default)]
    executed: Executed,
    #[serde(default)]
    read: BTreeSet<String>,
    #[serde(default)]
    written: BTreeSet<String>,
    #[serde(default)]
    listed: BTreeSet<String>,
    #[serde(default)]
    looked: BTreeSet<String>,
    #[serde(default)]
    missed: BTreeSet<String>,
    #[serde(default)]
    searched: BTreeMap<String, BTreeSet<String>>,
    #[serde(default)]
    variables: BTreeSet<String>,
    #[serde(default)]
    programs: Vec<Program>,
    #[serde(default)]
    extensions: BTreeSet<String>,
    #[serde(default)]
    outside: BTreeMap<String, BTreeSet<String>>,
    #[serde(default)]
    via: BTreeMap<String, String>,
    #[serde(default)]
    unknown: Vec<String>,
}

/// By file, or by the functions of each.
#[derive(Deserialize)]
#[serde(untagged)]
enum Executed {
    Files(BTreeSet<String>),
    Functions(BTreeMap<String, BTreeSet<String>>),
}

impl Default for Executed {
    fn default() -> Self {
        Self::Files(BTreeSet::new())
    }
}

#[derive(Deserialize)]
struct Program {
    program: String,
}

/// Reads it. What cannot be read is unknown, in words.
pub(crate) fn read(path: &Path) -> Dependencies {
    parse(fs::read(path)).unwrap_or_else(|why| Dependencies {
        unknown: vec![format!("what it depended on could not be read: {why}")],
        ..Dependencies::default()
    })
}

fn parse(bytes: std::io::Result<Vec<u8>>) -> Result<Dependencies, String> {
    let bytes = bytes.map_err(|error| error.to_string())?;
    let written: Written = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
    if written.format != FORMAT {
        return Err(format!("it is of format {}, and this unflake reads {FORMAT}", written.format));
    }
    let executed = match written.executed {
        Executed::Files(files) => files.into_iter().map(|file| (file, None)).collect(),
        Executed::Functions(files) => files.into_iter().map(|(file, functions)| (file, Some(functions))).collect(),
    };
    let mut read = written.read;
    read.extend(written.extensions);
    Ok(Dependencies {
        root: written.root,
        executed,
        read,
        written: written.written,
        listed: written.listed,
        looked: written.looked,
        missed: written.missed,
        searched: written.searched,
        variables: written.variables,
        programs: written.programs.into_iter().map(|one| one.program).collect(),
        outside: written.outside.into_values().flatten().collect(),
        via: written.via,
        after: written.after,
        unknown: written.unknown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Dependencies, String> {
        parse(Ok(text.as_bytes().to_vec()))
    }

    #[test]
    fn files_and_functions_are_read() {
        let files =
            of(r#"{"format":1,"root":"/p","executed":["a.py"],"read":["x.txt"],"extensions":["b.so"]}"#).unwrap();
        assert_eq!(files.executed, BTreeMap::from([("a.py".to_owned(), None)]));
        assert_eq!((files.read.len(), files.files()), (2, 3));
        let functions = of(r#"{"format":1,"root":"/p","executed":{"a.py":["f"]}}"#).unwrap();
        assert_eq!(functions.executed["a.py"], Some(BTreeSet::from(["f".to_owned()])));
    }

    #[test]
    fn what_cannot_be_read_is_unknown() {
        assert!(of(r#"{"format":2}"#).unwrap_err().contains("format 2"));
        assert!(of("{").is_err());
        assert_eq!(read(Path::new("/nowhere/at/all")).unknown.len(), 1);
    }
}
