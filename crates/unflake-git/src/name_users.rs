//! Finds who uses the names that a changed file binds to something else, in the whole repository.

use std::cell::OnceCell;
use std::fs;

use unflake_model::{ChangedFunctions, NameUsers};
use unflake_source::python::{ChangedNames, NameUses, PythonChange};

use crate::git::Git;
use crate::git_status;
use crate::repository::path;

/// With more names than these the users of a file's names count as unknown.
const MAX_NAMES: usize = 200;
/// Longer files that are not Python count as users of every name.
const MAX_TEXT: u64 = 1 << 20;

/// Every file of a repository that may use a name, read when it is first needed.
pub(crate) struct NameIndex<'a> {
    git: &'a Git,
    root: &'a std::path::Path,
    files: OnceCell<Vec<SourceFile>>,
}

struct SourceFile {
    path: String,
    /// Of a Python source. None inside: it is not understood.
    python: Option<OnceCell<Option<NameUses>>>,
    /// None: it is too long.
    text: Option<Vec<u8>>,
}

impl<'a> NameIndex<'a> {
    pub(crate) fn new(git: &'a Git, root: &'a std::path::Path) -> Self {
        Self { git, root, files: OnceCell::new() }
    }

    /// The changed functions of a file, with the users of its changed names.
    pub(crate) fn complete(&self, at: &[u8], change: PythonChange) -> ChangedFunctions {
        let PythonChange { mut functions, names, taken } = change;
        if names.is_empty() && taken.is_empty() {
            return functions;
        }
        let files = self.files.get_or_init(|| self.read_files().unwrap_or_default());
        let is_module = |name: &String| files.iter().any(|file| is_part(&file.path, name));
        if files.is_empty() || taken.iter().any(is_module) {
            // Another module is loaded now, or is no longer.
            functions.bodies.insert(ChangedFunctions::MODULE.to_owned());
            functions.after.insert(ChangedFunctions::MODULE.to_owned());
            return functions;
        }
        functions.users = users(files, names, &String::from_utf8_lossy(at));
        functions
    }

    /// None where they cannot be listed.
    fn read_files(&self) -> Option<Vec<SourceFile>> {
        let tracked = git_status::tracked(self.git).ok()?.into_iter().map(|entry| entry.path);
        let untracked = git_status::untracked(self.git).ok()?;
        let paths = tracked.chain(untracked);
        let read = |name: Vec<u8>| {
            let full = self.root.join(path(name.clone()));
            let found = fs::metadata(&full).ok().filter(fs::Metadata::is_file)?;
            let name = String::from_utf8_lossy(&name).into_owned();
            let is_python = name.ends_with(".py") || name.ends_with(".pyw");
            let text = if is_python || found.len() <= MAX_TEXT { fs::read(&full).ok() } else { None };
            Some(SourceFile { path: name, python: is_python.then(OnceCell::new), text })
        };
        Some(paths.filter_map(read).collect())
    }
}

/// None: they are too many.
fn users(files: &[SourceFile], mut names: ChangedNames, path: &str) -> Option<NameUsers> {
    let module = &module_name(path);
    loop {
        let (count, mut found) = (names.len(), NameUsers::default());
        for file in files {
            let Some(parsed) = &file.python else {
                if file.contains_any(&names) {
                    found.texts.insert(file.path.clone());
                }
                continue;
            };
            if !file.contains_any(&names) && !file.mentions(module) && !file.reaches_more() {
                continue;
            }
            let parsed = parsed.get_or_init(|| NameUses::read(file.text.as_deref()?));
            let scopes = match parsed {
                Some(uses) if file.path == path => uses.users(&mut names, module),
                Some(uses) => {
                    let mut seen = names.seen_from(uses, module);
                    let scopes = uses.users(&mut seen, module);
                    names.names.extend(seen.names);
                    names.attributes.extend(seen.attributes);
                    scopes
                }
                None => [ChangedFunctions::MODULE.to_owned()].into(),
            };
            if !scopes.is_empty() {
                found.functions.insert(file.path.clone(), scopes);
            }
            if names.len() > MAX_NAMES {
                return None;
            }
        }
        if names.len() == count {
            return Some(found);
        }
    }
}

impl SourceFile {
    fn contains_any(&self, names: &ChangedNames) -> bool {
        let Some(text) = &self.text else { return true };
        names.names.iter().chain(&names.attributes).any(|name| contains_word(text, name.as_bytes()))
    }

    fn mentions(&self, module: &str) -> bool {
        self.text.as_ref().is_none_or(|text| contains_word(text, module.as_bytes()))
    }

    /// Whether its code may reach names that are not written in it.
    fn reaches_more(&self) -> bool {
        let Some(text) = &self.text else { return true };
        NameUses::REACHING_WORDS.iter().any(|word| contains_word(text, word.as_bytes()))
    }
}

fn contains_word(text: &[u8], word: &[u8]) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
    let Some((first, _)) = word.split_first() else { return false };
    let mut at = 0;
    while let Some(found) = text[at..].iter().position(|byte| byte == first) {
        let (start, end) = (at + found, at + found + word.len());
        if text[start..].starts_with(word)
            && !start.checked_sub(1).is_some_and(|before| is_word(text[before]))
            && !text.get(end).is_some_and(|after| is_word(*after))
        {
            return true;
        }
        at = start + 1;
    }
    false
}

/// The name by which a file is imported last.
fn module_name(path: &str) -> String {
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.split('.').next().unwrap_or(name);
    match stem {
        "__init__" => above.rsplit('/').next().unwrap_or(above).to_owned(),
        stem => stem.to_owned(),
    }
}

/// Whether a part of a path goes by this name.
fn is_part(path: &str, name: &str) -> bool {
    path.split('/').any(|part| part == name || part.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_whole() {
        let check =
            |text: &str, expected: bool| assert_eq!(contains_word(text.as_bytes(), b"rate"), expected, "{text}");
        check("rate", true);
        check("x.rate()", true);
        check("'shop.rate'", true);
        check("rates rate", true);
        check("rates", false);
        check("my_rate", false);
        check("ratë", false);
        check("", false);
    }

    #[test]
    fn modules_go_by_their_last_name() {
        assert_eq!(module_name("src/shop/price.py"), "price");
        assert_eq!(module_name("src/shop/__init__.py"), "shop");
        assert!(is_part("src/shop/price.py", "shop") && is_part("src/shop/price.py", "price"));
        assert!(!is_part("src/shop/prices.py", "price"));
    }
}
