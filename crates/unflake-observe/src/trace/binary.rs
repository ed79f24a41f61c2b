//! Inspects built programs and libraries: instrumentation and debug information.

use std::borrow::Cow;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

use addr2line::gimli;
use object::read::ReadCache;
use object::{Object, ObjectSection, ObjectSymbol};

use crate::trace::Error;

/// Whether a program or library is instrumented for tracing, and by which compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instrumented {
    /// With a guard for each place, and linked with our runtime.
    Guards,
    /// With addresses alone, and linked with our runtime.
    Addresses,
    /// Instrumented, but linked with another runtime that would write no trace.
    OtherRuntime,
    No,
}

/// Inspects the symbols of a built program or library.
pub fn instrumented(path: &Path) -> Result<Instrumented, Error> {
    with_object(path, |object| {
        let mut found = Instrumented::No;
        for symbol in object.symbols().chain(object.dynamic_symbols()) {
            let how = match symbol.name() {
                Ok("__sanitizer_cov_trace_pc_guard") => Instrumented::Guards,
                Ok("__sanitizer_cov_trace_pc") => Instrumented::Addresses,
                _ => continue,
            };
            if symbol.is_definition() {
                return Ok(Instrumented::OtherRuntime);
            }
            found = how;
        }
        Ok(found)
    })
}

/// The debug information of a file that is needed before any address is looked up.
#[derive(Debug, Default)]
pub(crate) struct DebugInfo {
    pub(crate) build_id: Option<String>,
    /// The address ranges that have debug information, sorted.
    pub(crate) covered: Vec<Range<u64>>,
    /// Split debug files that cannot be found.
    pub(crate) missing: Vec<PathBuf>,
}

impl DebugInfo {
    pub(crate) fn covers(&self, address: u64) -> bool {
        let after = self.covered.partition_point(|range| range.start <= address);
        after > 0 && self.covered[after - 1].end > address
    }

    pub(crate) fn read(path: &Path) -> Result<DebugInfo, Error> {
        with_object(path, |object| {
            let build_id = object.build_id().ok().flatten();
            let build_id = build_id.map(|id| id.iter().take(20).map(|byte| format!("{byte:02x}")).collect());
            let mut debug = DebugInfo { build_id, ..DebugInfo::default() };
            let wrong = |error: gimli::Error| Error::new(format!("{}: debug information: {error}", path.display()));
            debug.read_units(object, path).map_err(wrong)?;
            debug.covered.extend(generated_functions(object));
            debug.covered.sort_by_key(|range| range.start);
            debug.merge();
            Ok(debug)
        })
    }

    fn read_units<'a>(&mut self, object: &impl Object<'a>, path: &Path) -> Result<(), gimli::Error> {
        let endian = if object.is_little_endian() { gimli::RunTimeEndian::Little } else { gimli::RunTimeEndian::Big };
        let sections = gimli::DwarfSections::load(|id| {
            let data = object.section_by_name(id.name()).and_then(|section| section.uncompressed_data().ok());
            Ok::<_, gimli::Error>(data.unwrap_or(Cow::Borrowed(&[])).into_owned())
        })?;
        let dwarf = sections.borrow(|section| gimli::EndianSlice::new(section, endian));
        let mut package = path.as_os_str().to_owned();
        package.push(".dwp");
        let package = Path::new(&package).exists();
        let mut units = dwarf.units();
        while let Some(header) = units.next()? {
            let unit = dwarf.unit(header)?;
            let mut ranges = dwarf.unit_ranges(&unit)?;
            while let Some(range) = ranges.next()? {
                if range.begin < range.end && range.begin != 0 {
                    self.covered.push(range.begin..range.end);
                }
            }
            let Some(split) = unit.dwo_name()? else { continue };
            let split = dwarf.attr_string(&unit, split)?;
            let directory = unit.comp_dir.map(|directory| directory.to_string_lossy().into_owned()).unwrap_or_default();
            let split = Path::new(&directory).join(&*split.to_string_lossy());
            if !package && !split.exists() {
                self.missing.push(split);
            }
        }
        Ok(())
    }

    /// Merges overlapping ranges.
    fn merge(&mut self) {
        let mut merged: Vec<Range<u64>> = Vec::new();
        for range in self.covered.drain(..) {
            match merged.last_mut() {
                Some(last) if last.end >= range.start => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        self.covered = merged;
    }
}

/// Functions that a compiler generates and that have no source line.
fn generated_functions<'a>(object: &impl Object<'a>) -> Vec<Range<u64>> {
    let name = |symbol: &_| ObjectSymbol::name(symbol).unwrap_or_default();
    if !object.symbols().any(|symbol| name(&symbol).contains("3std2rt10lang_start")) {
        return Vec::new();
    }
    let generated_functions = object.symbols().filter(|symbol| ["main", "__rust_try"].contains(&name(symbol)));
    generated_functions
        .filter_map(|symbol| Some(symbol.address()..symbol.address().checked_add(symbol.size())?))
        .collect()
}

fn with_object<T>(
    path: &Path,
    work: impl FnOnce(&object::File<&ReadCache<File>>) -> Result<T, Error>,
) -> Result<T, Error> {
    let cache = ReadCache::new(File::open(path).map_err(Error::at(path))?);
    let object = object::File::parse(&cache)
        .map_err(|error| Error::new(format!("{}: neither a program nor a library: {error}", path.display())))?;
    work(&object)
}
