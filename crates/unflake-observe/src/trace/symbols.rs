//! Symbolises traces: maps addresses to files, lines and functions.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use addr2line::Loader;

use crate::trace::Error;
use crate::trace::attempt::{FileVersion, IdKind, Module, Process, TracedAttempt};
use crate::trace::binary::DebugInfo;
use crate::trace::files::{read_bounded, replace};
use crate::trace::lines::Project;
use crate::trace::places::{CallPath, Frame, InternedTexts, Places};

/// The highest bit of an entry in a table of addresses marks the beginning of a function.
const ADDRESS: u64 = !(1 << 63);

/// Maps addresses to files, lines and functions after a run. Each address of each binary is looked
/// up once and cached in memory and on disk, so fifty runs of a test cost as much as one.
#[derive(Default)]
pub struct Symboliser {
    cache: PathBuf,
    binaries: HashMap<(PathBuf, FileVersion), CachedBinary>,
    texts: InternedTexts,
}

/// What is known about one version of a binary.
struct CachedBinary {
    path: PathBuf,
    known: Places,
    cached: PathBuf,
    grown: bool,
    /// Why nothing can be looked up.
    closed: Option<String>,
    debug: DebugInfo,
    loader: Option<Loader>,
}

impl Symboliser {
    pub fn new(cache: &Path) -> Symboliser {
        Symboliser { cache: cache.to_owned(), ..Symboliser::default() }
    }

    /// Writes the missing tables of places of all processes. Unknown facts are notes in the table;
    /// an error means that a table could not be written.
    pub fn symbolise(&mut self, attempt: &TracedAttempt) -> Result<(), Error> {
        for process in &attempt.processes {
            let table = process.directory.join("places");
            if !table.exists() {
                self.process(process).write(&table)?;
            }
        }
        self.keep();
        Ok(())
    }

    /// Records which places of each program and library of an attempt belong to the project, so
    /// that later attempts trace only those ([`TraceRuntime::tracing`]). Places of unknown origin count
    /// as own. Code that gcc compiled has no table of places, and is traced completely.
    ///
    /// [`TraceRuntime::tracing`]: crate::trace::TraceRuntime::tracing
    pub fn own(&mut self, attempt: &TracedAttempt, project: &Project, directory: &Path) -> Result<(), Error> {
        fs::create_dir_all(directory).map_err(Error::at(directory))?;
        for module in attempt.processes.iter().flat_map(|process| &process.modules) {
            let FileVersion { size, seconds, nanoseconds } = module.version;
            let path = directory.join(format!("{size}-{seconds}-{nanoseconds}-{}", module.count));
            if module.kind != IdKind::Guards || path.exists() {
                continue;
            }
            let Ok(addresses) = addresses(module, module.first..module.first + module.count) else {
                continue;
            };
            let (binary, texts) = self.binary(module);
            let mut bits = vec![0u8; module.count.div_ceil(8) as usize];
            for (id, address) in addresses {
                let place = binary.place(address, texts);
                let own = place.iter().any(|frame| project.own(&frame.file).is_some());
                let at = (id - module.first) as usize;
                bits[at / 8] |= u8::from(own || !binary.debug.covers(address)) << (at % 8);
            }
            if binary.closed.is_none() && binary.debug.missing.is_empty() {
                replace(&path, &bits)?;
            }
        }
        self.keep();
        Ok(())
    }

    fn binary(&mut self, module: &Module) -> (&mut CachedBinary, &mut InternedTexts) {
        let key = (module.path.clone(), module.version);
        let open = || CachedBinary::open(&module.path, module.version, &self.cache);
        (self.binaries.entry(key).or_insert_with(open), &mut self.texts)
    }

    fn process(&mut self, process: &Process) -> Places {
        let mut places = Places::default();
        let (used, problems) = used(process);
        places.notes.extend(problems);
        for module in &process.modules {
            let ids = used.range(module.first..module.first + module.count);
            let addresses: Vec<(u32, u64)> = match addresses(module, ids.copied()) {
                Ok(addresses) => addresses,
                Err(error) => {
                    places.notes.push(error.to_string());
                    continue;
                }
            };
            if addresses.is_empty() {
                continue;
            }
            let notes = self.module(module, addresses, &mut places);
            places.notes.extend(notes);
        }
        let unknown = used.iter().filter(|id| places.get(**id).is_none()).count();
        if unknown > 0 {
            places.notes.push(format!("{unknown} of {} places are of unknown origin", used.len()));
        }
        places
    }

    /// Looks up the addresses of one module, and returns what is missing.
    fn module(&mut self, module: &Module, addresses: Vec<(u32, u64)>, places: &mut Places) -> Vec<String> {
        let (binary, texts) = self.binary(module);
        let name = module.path.display();
        let mut without = 0;
        for (id, address) in &addresses {
            let place = binary.place(*address, texts);
            without += usize::from(!binary.debug.covers(*address) && place.iter().all(|frame| frame.line == 0));
            places.insert(*id, place);
        }
        let mut notes = Vec::new();
        if let Some(why) = &binary.closed {
            notes.push(why.clone());
        } else if without > 0 {
            let of = addresses.len();
            notes.push(format!("{name}: {without} of {of} places have no debug information, only names of functions"));
        }
        if let [first, others @ ..] = &binary.debug.missing[..] {
            let others = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
            notes
                .push(format!("{name}: debug information was split off, and {}{others} is not there", first.display()));
        }
        notes
    }

    /// Writes the cache. Errors are ignored, because it is only an optimization.
    fn keep(&mut self) {
        for binary in self.binaries.values_mut().filter(|binary| binary.grown) {
            binary.grown = false;
            if fs::create_dir_all(&self.cache).is_ok() {
                let _ = binary.known.write(&binary.cached);
            }
        }
    }
}

impl CachedBinary {
    fn open(path: &Path, version: FileVersion, cache: &Path) -> CachedBinary {
        let mut binary = CachedBinary {
            path: path.to_owned(),
            known: Places::default(),
            cached: PathBuf::new(),
            grown: false,
            closed: None,
            debug: DebugInfo::default(),
            loader: None,
        };
        let now = fs::metadata(path).map(|found| FileVersion {
            size: found.size(),
            seconds: found.mtime() as u64,
            nanoseconds: found.mtime_nsec() as u64,
        });
        match now {
            Ok(now) if now == version => match DebugInfo::read(path) {
                Ok(debug) => binary.debug = debug,
                Err(error) => binary.closed = Some(error.to_string()),
            },
            Ok(_) => {
                binary.closed = Some(format!("{}: changed since the run, so its lines are unknown", path.display()));
            }
            Err(error) => binary.closed = Some(format!("{}: {error}", path.display())),
        }
        // The build id survives stripping of debug information; together with the size it
        // identifies the file.
        let FileVersion { size, seconds, nanoseconds } = version;
        let key = match &binary.debug.build_id {
            Some(id) => format!("{id}-{size}"),
            None => format!("{:016x}-{size}-{seconds}-{nanoseconds}", name(path)),
        };
        binary.cached = cache.join(format!("symbols-{key}"));
        if binary.closed.is_none() {
            binary.known = Places::read(&binary.cached).unwrap_or_default();
        }
        if binary.closed.is_none() && !binary.debug.missing.is_empty() {
            binary.known = Places::default(); // The split debug file may appear later.
        }
        binary
    }

    fn place(&mut self, address: u64, texts: &mut InternedTexts) -> CallPath {
        if let Some(place) = self.known.at(address) {
            return place.clone();
        }
        let place = self.look_up(address, texts).unwrap_or_else(|| nowhere("", texts));
        self.grown |= self.closed.is_none() && self.debug.missing.is_empty();
        self.known.put(address, place.clone());
        place
    }

    fn look_up(&mut self, address: u64, texts: &mut InternedTexts) -> Option<CallPath> {
        if self.closed.is_some() {
            return None;
        }
        if self.loader.is_none() {
            match Loader::new(&self.path) {
                Ok(loader) => self.loader = Some(loader),
                Err(error) => {
                    self.closed = Some(format!("{}: {error}", self.path.display()));
                    return None;
                }
            }
        }
        let loader = self.loader.as_ref()?;
        let mut place = Vec::new();
        let mut frames = loader.find_frames(address).ok()?;
        while let Ok(Some(frame)) = frames.next() {
            let function = frame.function.as_ref().and_then(|function| function.demangle().ok());
            let function = function.as_deref().map(plain).unwrap_or_default();
            let location = frame.location.as_ref();
            let file = location.and_then(|location| location.file).unwrap_or_default();
            let line = location.and_then(|location| location.line).unwrap_or(0);
            // A file without a line number is useless.
            let file = if line == 0 { "" } else { file };
            place.push(Frame { file: texts.get(file), line, function: texts.get(function) });
        }
        place.reverse();
        let symbol = loader.find_symbol(address).map(|symbol| addr2line::demangle_auto(symbol.into(), None));
        let symbol = symbol.as_deref().map(plain).unwrap_or_default();
        match place.first_mut() {
            None => return Some(nowhere(symbol, texts)),
            Some(outermost) if outermost.function.is_empty() => outermost.function = texts.get(symbol),
            Some(_) => {}
        }
        Some(place.into())
    }
}

fn nowhere(function: &str, texts: &mut InternedTexts) -> CallPath {
    [Frame { file: texts.get(""), line: 0, function: texts.get(function) }].into()
}

/// Removes the hash suffix of legacy Rust symbols, which differs between builds.
fn plain(function: &str) -> &str {
    match function.rsplit_once("::h") {
        Some((name, hash)) if hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => name,
        _ => function,
    }
}

/// FNV-1a of a path, used as a file name.
fn name(path: &Path) -> u64 {
    let bytes = path.as_os_str().as_encoded_bytes();
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The ids that occur in the threads of a process.
fn used(process: &Process) -> (BTreeSet<u32>, Vec<String>) {
    const MOST: usize = 8 << 20;
    let mut seen: HashMap<u32, Box<[u64; 1024]>> = HashMap::new();
    let mut problems = Vec::new();
    let end = process.modules.iter().map(|module| module.first + module.count).max().unwrap_or(0);
    for thread in &process.threads {
        let mut page = (u32::MAX, Box::new([0; 1024]));
        let ids = match thread.places() {
            Ok(ids) => ids,
            Err(error) => {
                problems.push(error.to_string());
                continue;
            }
        };
        for id in ids {
            match id {
                Ok(id) if id < end => {
                    // Events have locality, so the last page is cached.
                    if page.0 != id >> 16 {
                        let next = seen.remove(&(id >> 16)).unwrap_or_else(|| Box::new([0; 1024]));
                        let last = std::mem::replace(&mut page, (id >> 16, next));
                        seen.insert(last.0, last.1);
                    }
                    page.1[(id >> 6) as usize & 1023] |= 1 << (id & 63);
                }
                Ok(_) => {
                    problems.push(format!("{}: has places that no program or library has", thread.key));
                    break;
                }
                Err(error) => problems.push(error.to_string()),
            }
        }
        seen.insert(page.0, page.1);
    }
    let mut used = BTreeSet::new();
    for (page, bits) in seen {
        for (at, word) in bits.iter().enumerate().filter(|(_, word)| **word != 0) {
            let ids = (0..64).filter(|bit| word >> bit & 1 == 1).map(|bit| page << 16 | (at as u32) << 6 | bit);
            used.extend(ids);
        }
        if used.len() > MOST {
            problems.push(format!("more than {MOST} places: the rest is missing"));
            break;
        }
    }
    (used, problems)
}

/// The addresses of ids of a module, as in its file.
fn addresses(module: &Module, ids: impl Iterator<Item = u32>) -> Result<Vec<(u32, u64)>, Error> {
    match module.kind {
        // The address is the return address; the previous byte belongs to the call instruction.
        IdKind::Addresses(from) => {
            Ok(ids.map(|id| (id, from.saturating_add(u64::from(id - module.first)).saturating_sub(1))).collect())
        }
        IdKind::Guards => {
            let mut ids = ids.peekable();
            if ids.peek().is_none() {
                return Ok(Vec::new());
            }
            let path = module.part.join(format!("places-{}", module.first));
            let most = u64::from(module.count) * 8;
            let table = read_bounded(&path, most)
                .map_err(|error| Error::new(format!("{}: has no table of places: {error}", module.path.display())))?;
            let at = |id: u32| table.as_chunks::<8>().0.get((id - module.first) as usize);
            Ok(ids.filter_map(|id| Some((id, u64::from_le_bytes(*at(id)?) & ADDRESS))).collect())
        }
    }
}
