//! The order of directory entries. It depends on the names and not on the file system, so that a
//! setting gives the same order on every machine.

use core::ffi::{c_char, c_int, c_long, c_void};
use core::mem::transmute;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::random_seed::{hash, mix};
use crate::real_functions::{Call, interpose, next};
use crate::settings::{DIRECTORY_ORDER, SORT_ORDER, active};
use crate::system;

type Directory = *mut c_void;
type Read = unsafe extern "C" fn(Directory) -> *mut Entry;

/// `struct dirent`: the same as `struct dirent64` on 64-bit systems.
#[repr(C)]
pub struct Entry {
    number: u64,
    offset: i64,
    length: u16,
    kind: u8,
    name: [c_char; 256],
}

/// All entries of an open directory, in the order in which they are returned.
struct DirectoryListing {
    entries: *mut *mut Entry,
    count: usize,
    next: usize,
}

/// Open directories and their listings. With more than these, the order is that of the file system.
static LISTINGS: [(AtomicUsize, AtomicUsize); 256] = [const { (AtomicUsize::new(0), AtomicUsize::new(0)) }; 256];

unsafe fn listing(directory: Directory) -> Option<&'static mut DirectoryListing> {
    let slot = LISTINGS.iter().find(|(owner, _)| owner.load(Relaxed) == directory as usize)?;
    (slot.1.load(Relaxed) as *mut DirectoryListing).as_mut()
}

/// Reads the whole directory at the first call.
unsafe fn read_all(directory: Directory, read: Read) -> Option<&'static mut DirectoryListing> {
    if let Some(listing) = listing(directory) {
        return Some(listing);
    }
    let slot =
        LISTINGS.iter().find(|(owner, _)| owner.compare_exchange(0, directory as usize, Relaxed, Relaxed).is_ok())?;
    let listing = system::malloc(size_of::<DirectoryListing>()).cast::<DirectoryListing>();
    if listing.is_null() {
        slot.0.store(0, Relaxed);
        return None;
    }
    listing.write(DirectoryListing { entries: null_mut(), count: 0, next: 0 });
    loop {
        let entry = read(directory);
        if entry.is_null() {
            break;
        }
        add(&mut *listing, entry);
    }
    if (*listing).count > 0 {
        sort(core::slice::from_raw_parts_mut((*listing).entries, (*listing).count));
    }
    slot.1.store(listing as usize, Relaxed);
    Some(&mut *listing)
}

/// An entry without memory is lost, as in `scandir`.
unsafe fn add(listing: &mut DirectoryListing, entry: *mut Entry) {
    let length = (*entry).length as usize;
    let copy = system::malloc(length).cast::<Entry>();
    let entries = if listing.count.is_power_of_two() || listing.count == 0 {
        system::realloc(listing.entries.cast(), (listing.count * 2).max(1) * size_of::<usize>()).cast()
    } else {
        listing.entries
    };
    if copy.is_null() || entries.is_null() {
        system::free(copy.cast());
        return;
    }
    copy.cast::<u8>().copy_from_nonoverlapping(entry.cast(), length);
    entries.add(listing.count).write(copy);
    listing.entries = entries;
    listing.count += 1;
}

unsafe fn discard(directory: Directory) {
    let slot = LISTINGS.iter().find(|(owner, _)| owner.load(Relaxed) == directory as usize);
    let Some((owner, pointer)) = slot else { return };
    let listing = pointer.swap(0, Relaxed) as *mut DirectoryListing;
    if let Some(listing) = listing.as_mut() {
        for index in 0..listing.count {
            system::free((*listing.entries.add(index)).cast());
        }
        system::free(listing.entries.cast());
    }
    system::free(listing.cast());
    owner.store(0, Relaxed);
}

unsafe fn name<'a>(entry: *const Entry) -> &'a [u8] {
    system::c_bytes((&raw const (*entry).name).cast())
}

unsafe fn sort(entries: &mut [*mut Entry]) {
    let [kind, seed] = SORT_ORDER.each_ref().map(|part| part.load(Relaxed));
    entries.sort_unstable_by(|first, second| {
        let (first, second) = (name(*first), name(*second));
        // `.` and `..` come first, as on nearly all file systems.
        let special = |name: &[u8]| !matches!(name, b"." | b"..");
        special(first).cmp(&special(second)).then_with(|| match kind {
            0 => first.cmp(second),
            1 => second.cmp(first),
            _ => shuffle_key(first, seed).cmp(&shuffle_key(second, seed)).then_with(|| first.cmp(second)),
        })
    });
}

fn shuffle_key(name: &[u8], seed: u64) -> u64 {
    mix(hash(name) ^ mix(seed))
}

/// The next entry in the configured order, or as the file system has it.
unsafe fn read_next(directory: Directory, real: Read) -> *mut Entry {
    if active() & DIRECTORY_ORDER == 0 || directory.is_null() {
        return real(directory);
    }
    let Some(listing) = read_all(directory, real) else { return real(directory) };
    if listing.next >= listing.count {
        return null_mut();
    }
    listing.next += 1;
    *listing.entries.add(listing.next - 1)
}

type Choose = Option<unsafe extern "C" fn(*const Entry) -> c_int>;
type Compare = Option<unsafe extern "C" fn(*const *const Entry, *const *const Entry) -> c_int>;

/// Callers that ask for an order get it.
unsafe fn sort_scanned(count: c_int, into: *mut *mut *mut Entry, compare: Compare) -> c_int {
    if active() & DIRECTORY_ORDER != 0 && count > 0 && compare.is_none() {
        sort(core::slice::from_raw_parts_mut(*into, count as usize));
    }
    count
}

interpose! {
    fn readdir(directory: Directory) -> *mut Entry, or null_mut() => |real| read_next(directory, real);
    fn readdir64(directory: Directory) -> *mut Entry, or null_mut() => |real| read_next(directory, real);
    fn rewinddir(directory: Directory) -> (), or () => |real| {
        if active() & DIRECTORY_ORDER != 0 {
            discard(directory);
        }
        real(directory)
    };
    fn telldir(directory: Directory) -> c_long, or -1 => |real| {
        if active() & DIRECTORY_ORDER == 0 {
            return real(directory);
        }
        listing(directory).map_or(0, |listing| listing.next as c_long)
    };
    fn seekdir(directory: Directory, position: c_long) -> (), or () => |real| {
        if active() & DIRECTORY_ORDER == 0 {
            return real(directory, position);
        }
        let read = transmute::<usize, Option<Read>>(next(Call::readdir64));
        if let Some(listing) = read.and_then(|read| read_all(directory, read)) {
            listing.next = (position.max(0) as usize).min(listing.count);
        }
    };
    fn closedir(directory: Directory) -> c_int, or -1 => |real| {
        if active() & DIRECTORY_ORDER != 0 {
            discard(directory);
        }
        real(directory)
    };
    fn scandir(path: *const c_char, into: *mut *mut *mut Entry, choose: Choose, compare: Compare) -> c_int, or -1 => |real| {
        sort_scanned(real(path, into, choose, compare), into, compare)
    };
    fn scandir64(path: *const c_char, into: *mut *mut *mut Entry, choose: Choose, compare: Compare) -> c_int, or -1 => |real| {
        sort_scanned(real(path, into, choose, compare), into, compare)
    };
}
