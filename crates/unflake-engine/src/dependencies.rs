//! Reads the dependencies of an attempt from the file of an agent (`agents/README.md`, 27 and 28).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use unflake_model::Dependencies;

/// The file format that this version reads.
const FORMAT: u32 = 1;

#[derive(Deserialize)]
struct DependencyFile {
    format: u32,
    #[serde(default)]
    root: PathBuf,
    #[serde(default)]
    after: u32,
    #[serde(default)]
    executed: ExecutedFiles,
    #[serde(default)]
    read: BTreeSet<String>,
    #[serde(default)]
    configured: BTreeSet<String>,
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
    programs: Vec<StartedProgram>,
    #[serde(default)]
    extensions: BTreeSet<String>,
    #[serde(default)]
    outside: BTreeMap<String, BTreeSet<String>>,
    #[serde(default)]
    via: BTreeMap<String, String>,
    installed: Option<String>,
    #[serde(default)]
    unknown: Vec<String>,
}

/// ExecutedFiles files, or the executed functions of each file.
#[derive(Deserialize)]
#[serde(untagged)]
enum ExecutedFiles {
    Files(BTreeSet<String>),
    Functions(BTreeMap<String, BTreeSet<String>>),
}

impl Default for ExecutedFiles {
    fn default() -> Self {
        Self::Files(BTreeSet::new())
    }
}

#[derive(Deserialize)]
struct StartedProgram {
    program: String,
}

/// Reads the file. If it cannot be read, everything is unknown.
pub(crate) fn read(path: &Path) -> Dependencies {
    parse(fs::read(path)).unwrap_or_else(|why| Dependencies {
        unknown: vec![format!("its dependencies could not be read: {why}")],
        ..Dependencies::default()
    })
}

fn parse(bytes: std::io::Result<Vec<u8>>) -> Result<Dependencies, String> {
    let bytes = bytes.map_err(|error| error.to_string())?;
    let file: DependencyFile = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
    if file.format != FORMAT {
        return Err(format!("it is of format {}, this unflake reads {FORMAT}", file.format));
    }
    let executed = match file.executed {
        ExecutedFiles::Files(files) => files.into_iter().map(|path| (path, None)).collect(),
        ExecutedFiles::Functions(files) => files.into_iter().map(|(path, functions)| (path, Some(functions))).collect(),
    };
    let mut read = file.read;
    read.extend(file.extensions);
    Ok(Dependencies {
        root: file.root,
        executed,
        read,
        configured: file.configured,
        written: file.written,
        listed: file.listed,
        looked: file.looked,
        missed: file.missed,
        searched: file.searched,
        variables: file.variables,
        programs: file.programs.into_iter().map(|one| one.program).collect(),
        written_outside: file.outside.get("written").cloned().unwrap_or_default(),
        outside: file.outside.into_values().flatten().collect(),
        via: file.via,
        after: file.after,
        installed: file.installed,
        unknown: file.unknown,
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
    fn an_unreadable_file_is_unknown() {
        assert!(of(r#"{"format":2}"#).unwrap_err().contains("format 2"));
        assert!(of("{").is_err());
        assert_eq!(read(Path::new("/nowhere/at/all")).unknown.len(), 1);
    }
}
