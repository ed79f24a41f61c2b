//! Files that make a language runtime draw from the seed of a world, follow its schedule and force a
//! value: runners declare them, and a command finds them through variables.

use std::borrow::Cow;
use std::path::Path;
use std::{fs, io};

/// What a runtime loads in a world with a seed, a schedule or a forced value.
#[derive(Clone, Debug)]
pub struct RuntimeSupport {
    /// Relative path and content of each file.
    pub files: &'static [(&'static str, &'static [u8])],
    pub variables: Cow<'static, [SupportVariable]>,
}

/// A value that goes in front of what a variable already has.
#[derive(Clone, Debug)]
pub struct SupportVariable {
    pub name: &'static str,
    /// `{files}` stands for the directory of the files.
    pub value: Cow<'static, str>,
    /// Separates the value from an older one.
    pub separator: &'static str,
}

impl RuntimeSupport {
    pub(crate) fn write(&self, directory: &Path) -> io::Result<()> {
        for (name, content) in self.files {
            let path = directory.join(name);
            fs::create_dir_all(path.parent().unwrap_or(directory))?;
            fs::write(path, content)?;
        }
        Ok(())
    }
}

impl SupportVariable {
    pub(crate) fn prepended(&self, directory: &Path) -> (String, Option<String>) {
        let value = self.value.replace("{files}", &directory.to_string_lossy());
        let old = std::env::var(self.name).ok().filter(|old| !old.is_empty());
        let value = old.map_or_else(|| value.clone(), |old| format!("{value}{}{old}", self.separator));
        (self.name.to_owned(), Some(value))
    }
}
