//! How many cores there are, for those who ask. On how many it runs is set from outside.

use core::ffi::{c_int, c_long};
use core::sync::atomic::Ordering::Relaxed;

use crate::real::stand;
use crate::settings::{CORES, CORES_SEEN, on};

const CONFIGURED: c_int = 83; // _SC_NPROCESSORS_CONF
const ONLINE: c_int = 84; // _SC_NPROCESSORS_ONLN

fn seen() -> c_int {
    CORES_SEEN.load(Relaxed) as c_int
}

stand! {
    fn sysconf(what: c_int) -> c_long, or -1 => |real| {
        if on() & CORES != 0 && matches!(what, CONFIGURED | ONLINE) { c_long::from(seen()) } else { real(what) }
    };
    fn get_nprocs() -> c_int, or 1 => |real| if on() & CORES != 0 { seen() } else { real() };
    fn get_nprocs_conf() -> c_int, or 1 => |real| if on() & CORES != 0 { seen() } else { real() };
    // Fewer are a fact. More than there are can only be said.
    fn sched_getaffinity(process: c_int, size: usize, into: *mut u8) -> c_int, or -1 => |real| {
        let back = real(process, size, into);
        if on() & CORES == 0 || back < 0 {
            return back;
        }
        let mask = core::slice::from_raw_parts_mut(into, size);
        let there: u32 = mask.iter().map(|byte| byte.count_ones()).sum();
        let mut more = (seen() as u32).saturating_sub(there);
        for bit in 0..size * 8 {
            let (byte, bit) = (&mut mask[bit / 8], 1 << (bit % 8));
            if more > 0 && *byte & bit == 0 {
                *byte |= bit;
                more -= 1;
            }
        }
        back
    };
}
