//! The order in which the names of a directory come. By name, not by what the file system would say: so a setting gives the same
//! order on every machine.

use core::ffi::{c_char, c_int, c_long, c_void};
use core::mem::transmute;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::chance::{hash, mix};
use crate::real::{Call, next, stand};
use crate::settings::{LISTING, ORDER, on};
use crate::system;

type Directory = *mut c_void;
type Read = unsafe extern "C" fn(Directory) -> *mut Entry;

/// `struct dirent`: the same as `struct dirent64` where pointers have 64 bits.
#[repr(C)]
pub struct Entry {
    number: u64,
    offset: i64,
    length: u16,
    kind: u8,
    name: [c_char; 256],
}

/// All entries of a directory that is being read, in the order in which they are given out.
struct Kept {
    entries: *mut *mut Entry,
    count: usize,
    next: usize,
}

/// Directories that are open, and what is kept of them. With more than these, the order is that of the file system.
static OPEN: [(AtomicUsize, AtomicUsize); 256] = [const { (AtomicUsize::new(0), AtomicUsize::new(0)) }; 256];

unsafe fn kept(directory: Directory) -> Option<&'static mut Kept> {
    let slot = OPEN.iter().find(|(of, _)| of.load(Relaxed) == directory as usize)?;
    (slot.1.load(Relaxed) as *mut Kept).as_mut()
}

/// Reads all of it, where that has not been done.
unsafe fn keep(directory: Directory, read: Read) -> Option<&'static mut Kept> {
    if let Some(kept) = kept(directory) {
        return Some(kept);
    }
    let slot = OPEN.iter().find(|(of, _)| of.compare_exchange(0, directory as usize, Relaxed, Relaxed).is_ok())?;
    let all = system::malloc(size_of::<Kept>()).cast::<Kept>();
    if all.is_null() {
        slot.0.store(0, Relaxed);
        return None;
    }
    all.write(Kept { entries: null_mut(), count: 0, next: 0 });
    loop {
        let entry = read(directory);
        if entry.is_null() {
            break;
        }
        add(&mut *all, entry);
    }
    if (*all).count > 0 {
        sort(core::slice::from_raw_parts_mut((*all).entries, (*all).count));
    }
    slot.1.store(all as usize, Relaxed);
    Some(&mut *all)
}

/// An entry that there is no memory for is lost, as it would be in `scandir`.
unsafe fn add(kept: &mut Kept, entry: *mut Entry) {
    let length = (*entry).length as usize;
    let copy = system::malloc(length).cast::<Entry>();
    let entries = if kept.count.is_power_of_two() || kept.count == 0 {
        system::realloc(kept.entries.cast(), (kept.count * 2).max(1) * size_of::<usize>()).cast()
    } else {
        kept.entries
    };
    if copy.is_null() || entries.is_null() {
        system::free(copy.cast());
        return;
    }
    copy.cast::<u8>().copy_from_nonoverlapping(entry.cast(), length);
    entries.add(kept.count).write(copy);
    kept.entries = entries;
    kept.count += 1;
}

unsafe fn forget(directory: Directory) {
    let slot = OPEN.iter().find(|(of, _)| of.load(Relaxed) == directory as usize);
    let Some((of, kept)) = slot else { return };
    let all = kept.swap(0, Relaxed) as *mut Kept;
    if let Some(all) = all.as_mut() {
        for index in 0..all.count {
            system::free((*all.entries.add(index)).cast());
        }
        system::free(all.entries.cast());
    }
    system::free(all.cast());
    of.store(0, Relaxed);
}

unsafe fn name<'a>(entry: *const Entry) -> &'a [u8] {
    system::text((&raw const (*entry).name).cast())
}

unsafe fn sort(entries: &mut [*mut Entry]) {
    let [how, seed] = ORDER.each_ref().map(|part| part.load(Relaxed));
    entries.sort_unstable_by(|one, other| {
        let (one, other) = (name(*one), name(*other));
        // The directory itself and the one above come first, as nearly everywhere.
        let special = |name: &[u8]| !matches!(name, b"." | b"..");
        special(one).cmp(&special(other)).then_with(|| match how {
            0 => one.cmp(other),
            1 => other.cmp(one),
            _ => drawn(one, seed).cmp(&drawn(other, seed)).then_with(|| one.cmp(other)),
        })
    });
}

fn drawn(name: &[u8], seed: u64) -> u64 {
    mix(hash(name) ^ mix(seed))
}

/// The next entry in our order; or as the file system has it.
unsafe fn read_next(directory: Directory, real: Read) -> *mut Entry {
    if on() & LISTING == 0 || directory.is_null() {
        return real(directory);
    }
    let Some(kept) = keep(directory, real) else { return real(directory) };
    if kept.next >= kept.count {
        return null_mut();
    }
    kept.next += 1;
    *kept.entries.add(kept.next - 1)
}

type Choose = Option<unsafe extern "C" fn(*const Entry) -> c_int>;
type Compare = Option<unsafe extern "C" fn(*const *const Entry, *const *const Entry) -> c_int>;

/// A caller who asks for an order has it.
unsafe fn scanned(count: c_int, into: *mut *mut *mut Entry, compare: Compare) -> c_int {
    if on() & LISTING != 0 && count > 0 && compare.is_none() {
        sort(core::slice::from_raw_parts_mut(*into, count as usize));
    }
    count
}

stand! {
    fn readdir(directory: Directory) -> *mut Entry, or null_mut() => |real| read_next(directory, real);
    fn readdir64(directory: Directory) -> *mut Entry, or null_mut() => |real| read_next(directory, real);
    fn rewinddir(directory: Directory) -> (), or () => |real| {
        if on() & LISTING != 0 {
            forget(directory);
        }
        real(directory)
    };
    fn telldir(directory: Directory) -> c_long, or -1 => |real| {
        if on() & LISTING == 0 {
            return real(directory);
        }
        kept(directory).map_or(0, |kept| kept.next as c_long)
    };
    fn seekdir(directory: Directory, place: c_long) -> (), or () => |real| {
        if on() & LISTING == 0 {
            return real(directory, place);
        }
        let read = transmute::<usize, Option<Read>>(next(Call::readdir64));
        if let Some(kept) = read.and_then(|read| keep(directory, read)) {
            kept.next = (place.max(0) as usize).min(kept.count);
        }
    };
    fn closedir(directory: Directory) -> c_int, or -1 => |real| {
        if on() & LISTING != 0 {
            forget(directory);
        }
        real(directory)
    };
    fn scandir(path: *const c_char, into: *mut *mut *mut Entry, choose: Choose, compare: Compare) -> c_int, or -1 => |real| {
        scanned(real(path, into, choose, compare), into, compare)
    };
    fn scandir64(path: *const c_char, into: *mut *mut *mut Entry, choose: Choose, compare: Compare) -> c_int, or -1 => |real| {
        scanned(real(path, into, choose, compare), into, compare)
    };
}
