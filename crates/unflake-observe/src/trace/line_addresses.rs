//! Where the code of source lines is in a program: the reverse of symbolisation.

use std::collections::HashMap;
use std::fs;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use addr2line::Loader;

use crate::trace::Error;
use crate::trace::files::replace;

/// The code of all lines of one program or library.
#[derive(Debug)]
pub struct LineAddresses {
    /// Bytes of the file.
    pub size: u64,
    lines: Vec<(Range<u64>, u32, usize)>,
    files: Vec<String>,
}

impl LineAddresses {
    /// Of one version of a binary. `cache` keeps what was read, because that takes long.
    pub fn read(binary: &Path, cache: &Path) -> Result<LineAddresses, Error> {
        let found = fs::metadata(binary).map_err(Error::at(binary))?;
        let name = binary.as_os_str().as_encoded_bytes();
        let hash = name
            .iter()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
        let version = format!("{}-{}-{}", found.size(), found.mtime(), found.mtime_nsec());
        let kept = cache.join(format!("lines-{hash:016x}-{version}"));
        if let Some(lines) = fs::read_to_string(&kept).ok().and_then(|text| Self::parse(found.size(), &text)) {
            return Ok(lines);
        }
        let lines = Self::look_up(found.size(), binary)?;
        let _ = fs::create_dir_all(cache);
        // It is only an optimization.
        let _ = replace(&kept, lines.text().as_bytes());
        Ok(lines)
    }

    fn look_up(size: u64, binary: &Path) -> Result<LineAddresses, Error> {
        let wrong = |error: &dyn std::fmt::Display| Error::new(format!("{}: {error}", binary.display()));
        let loader = Loader::new(binary).map_err(|error| wrong(&error))?;
        let mut found = LineAddresses { size, lines: Vec::new(), files: Vec::new() };
        let ranges = loader.find_location_range(0, u64::MAX / 2).map_err(|error| wrong(&error))?;
        let mut known: HashMap<String, Option<usize>> = HashMap::new();
        for (from, length, location) in ranges {
            let (Some(file), Some(line)) = (location.file, location.line.filter(|line| *line > 0)) else { continue };
            let number = known.get(file).copied().unwrap_or_else(|| {
                let number = (!is_foreign(Path::new(file), binary)).then(|| {
                    found.files.push(file.to_owned());
                    found.files.len() - 1
                });
                known.insert(file.to_owned(), number);
                number
            });
            let Some(at) = number else { continue };
            match found.lines.last_mut() {
                Some((range, other, file)) if range.end == from && *other == line && *file == at => {
                    range.end = from + length;
                }
                _ => found.lines.push((from..from + length, line, at)),
            }
        }
        Ok(found)
    }

    /// The addresses of a line. A file matches by its end.
    pub fn of(&self, file: &str, line: u32) -> Vec<Range<u64>> {
        let end = format!("/{}", file.trim_start_matches('/'));
        let fits = |known: &String| format!("/{known}").ends_with(&end);
        let files: Vec<bool> = self.files.iter().map(fits).collect();
        let own = self.lines.iter().filter(|(_, other, file)| *other == line && files[*file]);
        own.map(|(range, ..)| range.clone()).collect()
    }

    /// The number of files, a line for each, and a line for each range.
    fn text(&self) -> String {
        let mut text = format!("{}\n", self.files.len());
        for file in &self.files {
            text.push_str(&file.replace('\n', " "));
            text.push('\n');
        }
        for (range, line, file) in &self.lines {
            text.push_str(&format!("{} {} {line} {file}\n", range.start, range.end));
        }
        text
    }

    fn parse(size: u64, text: &str) -> Option<LineAddresses> {
        let mut rows = text.lines();
        let count: usize = rows.next()?.parse().ok()?;
        let files: Vec<String> = rows.by_ref().take(count).map(str::to_owned).collect();
        let mut lines = Vec::new();
        for row in rows {
            let numbers: Vec<u64> = row.split(' ').map(|number| number.parse().ok()).collect::<Option<_>>()?;
            let [from, to, line, file] = numbers[..] else { return None };
            lines.push((from..to, line as u32, usize::try_from(file).ok().filter(|file| *file < files.len())?));
        }
        (files.len() == count).then_some(LineAddresses { size, lines, files })
    }
}

/// Whether a file is one of the system, of a toolchain or of a package: they have most lines, and nobody
/// names them. Toolchains name files that do not exist here, and packages are in hidden directories.
fn is_foreign(file: &Path, binary: &Path) -> bool {
    let is_hidden = |directory: &Path| {
        directory.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
            && !binary.starts_with(directory)
    };
    file.starts_with("/usr") || !file.exists() || file.ancestors().skip(1).any(is_hidden)
}

/// The programs and libraries with places of an attempt.
pub fn traced_binaries(attempt: &crate::trace::TracedAttempt) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        attempt.processes.iter().flat_map(|process| &process.modules).map(|module| module.path.clone()).collect();
    paths.sort();
    paths.dedup();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses() -> LineAddresses {
        LineAddresses {
            size: 7,
            lines: vec![(16..24, 3, 0), (24..32, 4, 0), (32..40, 3, 1), (48..50, 3, 0)],
            files: vec!["/p/src/a.rs".to_owned(), "/p/src/b/a.rs".to_owned()],
        }
    }

    #[test]
    fn a_line_has_all_ranges_of_the_file_whose_path_ends_so() {
        assert_eq!(addresses().of("src/a.rs", 3), [16..24, 48..50]);
        assert_eq!(addresses().of("b/a.rs", 3), vec![32..40]);
        assert_eq!(addresses().of("a.rs", 3), [16..24, 32..40, 48..50]);
        assert_eq!(addresses().of("src/a.rs", 5), []);
    }

    #[test]
    fn files_of_packages_are_left_out_unless_the_program_is_among_them() {
        let place = tempfile::tempdir().unwrap();
        let package = place.path().join(".packages/a.rs");
        let own = place.path().join("own.rs");
        fs::create_dir(place.path().join(".packages")).unwrap();
        for file in [&package, &own] {
            fs::write(file, "").unwrap();
        }
        let program = place.path().join("target/program");
        assert!(is_foreign(&package, &program));
        assert!(!is_foreign(&package, &place.path().join(".packages/target/program")));
        assert!(!is_foreign(&own, &program));
        assert!(is_foreign(&place.path().join("gone.rs"), &program));
    }

    #[test]
    fn what_is_kept_is_read_back_and_damage_is_noticed() {
        let text = addresses().text();
        let again = LineAddresses::parse(7, &text).unwrap();
        assert_eq!((again.lines, again.files), (addresses().lines, addresses().files));
        assert!(LineAddresses::parse(7, &text.replace("16 24 3 0", "16 24 3 9")).is_none());
        assert!(LineAddresses::parse(7, &text.replace("16 24", "16 x")).is_none());
    }
}
