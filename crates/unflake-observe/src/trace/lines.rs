//! Maps places to source lines of the project.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::trace::Error;
use crate::trace::depends::ToolHome;
use crate::trace::nondeterminism_calls::CallTable;
use crate::trace::places::{CallPath, Frame, Places};
use crate::trace::thread::{PlaceIds, RecordedThread};

/// Defines the project's own code: files below a root, without some excluded directories.
#[derive(Debug, Clone)]
pub struct Project {
    /// As given and canonicalized: compilers may record either.
    roots: Vec<PathBuf>,
    without: Vec<PathBuf>,
    pub(crate) calls: Vec<CallTable>,
    pub(crate) tool_homes: Vec<ToolHome>,
}

impl Project {
    /// Everything below `root` except `target`.
    pub fn new(root: &Path) -> Project {
        let given = normal(&std::path::absolute(root).unwrap_or_else(|_| root.to_owned()));
        let real = root.canonicalize().unwrap_or_else(|_| given.clone());
        let roots = if given == real { vec![given] } else { vec![given, real] };
        Project { roots, without: vec!["target".into()], calls: Vec::new(), tool_homes: Vec::new() }
    }

    /// Excludes another directory, relative to the root (`vendor`, `third_party`).
    #[must_use]
    pub fn without(mut self, directory: impl Into<PathBuf>) -> Project {
        self.without.push(directory.into());
        self
    }

    /// Sets the calls that vary from run to run, by language.
    #[must_use]
    pub fn calls(self, calls: Vec<CallTable>) -> Project {
        Project { calls, ..self }
    }

    /// Excludes files in the directories of tools.
    #[must_use]
    pub fn tool_homes(self, tool_homes: Vec<ToolHome>) -> Project {
        Project { tool_homes, ..self }
    }

    /// The lines of a file of the project, given its path below the root. Empty if it cannot be
    /// read.
    pub(crate) fn text(&self, file: &str) -> Vec<String> {
        let text = std::fs::read(self.roots[0].join(file)).unwrap_or_default();
        String::from_utf8_lossy(&text).lines().map(str::to_owned).collect()
    }

    /// The path below the root, if this is a file of the project.
    pub fn own(&self, file: &str) -> Option<PathBuf> {
        if file.is_empty() {
            return None;
        }
        let path = Path::new(file);
        let inside = if path.is_absolute() {
            let path = normal(path);
            self.roots.iter().find_map(|root| path.strip_prefix(root).ok().map(Path::to_owned))?
        } else {
            // A remapped path is relative to the root, or to a directory that does not exist here.
            let path = normal(path);
            self.roots[0].join(&path).is_file().then_some(path)?
        };
        self.keeps(&inside).then_some(inside)
    }

    /// Whether an absolute path, which need not exist, belongs to the project.
    pub(crate) fn side(&self, path: &Path) -> PathSide {
        let path = normal(path);
        match self.roots.iter().find_map(|root| path.strip_prefix(root).ok()) {
            Some(inside) if inside.as_os_str().is_empty() => PathSide::Inside(".".into()),
            Some(inside) if self.keeps(inside) => PathSide::Inside(inside.to_owned()),
            Some(_) => PathSide::LeftOut,
            None => PathSide::Outside(path),
        }
    }

    fn keeps(&self, inside: &Path) -> bool {
        !self.without.iter().any(|left_out| inside.starts_with(left_out))
    }
}

/// Whether a path belongs to the project.
#[derive(Debug, PartialEq)]
pub(crate) enum PathSide {
    /// Relative to the root.
    Inside(PathBuf),
    LeftOut,
    Outside(PathBuf),
}

/// A source line.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TracedLine {
    /// Relative to the root of the project.
    pub file: Arc<Path>,
    pub line: u32,
    pub function: Arc<str>,
}

/// The project's own lines among the places of a process.
///
/// A place stands for its innermost frame that belongs to the project: code of the standard library
/// or of a dependency that was inlined into a function of the project is shown as the calling line.
/// A place without such a frame is excluded.
#[derive(Debug)]
pub struct Lines {
    lines: Vec<TracedLine>,
    of_place: HashMap<u32, u32>,
}

impl Lines {
    pub fn new(places: &Places, project: &Project) -> Lines {
        let mut files: HashMap<Arc<str>, Option<Arc<Path>>> = HashMap::new();
        let mut numbers: HashMap<TracedLine, u32> = HashMap::new();
        let mut of_place = HashMap::new();
        let mut own = |frame: &Frame| {
            let file = files.entry(frame.file.clone()).or_insert_with(|| project.own(&frame.file).map(Into::into));
            file.clone().map(|file| TracedLine { file, line: frame.line, function: frame.function.clone() })
        };
        let mut line = |place: &CallPath| place.iter().rev().filter(|frame| frame.line > 0).find_map(&mut own);
        for (id, place) in places.iter() {
            if let Some(line) = line(place) {
                let next = numbers.len() as u32;
                of_place.insert(id, *numbers.entry(line).or_insert(next));
            }
        }
        let mut lines: Vec<_> = numbers.into_iter().collect();
        lines.sort_by_key(|(_, number)| *number);
        Lines { lines: lines.into_iter().map(|(line, _)| line).collect(), of_place }
    }

    /// The line of a place.
    pub fn get(&self, id: u32) -> Option<&TracedLine> {
        self.of_place.get(&id).map(|number| &self.lines[*number as usize])
    }

    /// Every line, once.
    pub(crate) fn all(&self) -> &[TracedLine] {
        &self.lines
    }

    /// The lines that a thread executed, as a person would read them: a line with several places
    /// occurs once for each visit.
    pub fn of(&self, thread: &RecordedThread) -> Result<LinesOf<'_>, Error> {
        Ok(LinesOf { lines: self, ids: thread.places()?, last: None })
    }
}

/// Iterates over the lines of one thread.
#[derive(Debug)]
pub struct LinesOf<'a> {
    lines: &'a Lines,
    ids: PlaceIds,
    last: Option<u32>,
}

impl<'a> Iterator for LinesOf<'a> {
    type Item = Result<&'a TracedLine, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let id = match self.ids.next()? {
                Ok(id) => id,
                Err(error) => return Some(Err(error)),
            };
            if let Some(number) = self.lines.of_place.get(&id)
                && self.last != Some(*number)
            {
                self.last = Some(*number);
                return Some(Ok(&self.lines.lines[*number as usize]));
            }
        }
    }
}

/// Removes `.` and `..` lexically.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if normal.file_name().is_some() => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}
