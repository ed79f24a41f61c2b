//! The reported number of CPUs. The CPUs that the command may use are set from outside.

use core::ffi::{c_int, c_long};
use core::sync::atomic::Ordering::Relaxed;

use crate::real_functions::interpose;
use crate::settings::{CPU_COUNT, REPORTED_CPUS, active};

const CONFIGURED: c_int = 83; // _SC_NPROCESSORS_CONF
const ONLINE: c_int = 84; // _SC_NPROCESSORS_ONLN

fn reported() -> c_int {
    REPORTED_CPUS.load(Relaxed) as c_int
}

interpose! {
    fn sysconf(what: c_int) -> c_long, or -1 => |real| {
        if active() & CPU_COUNT != 0 && matches!(what, CONFIGURED | ONLINE) { c_long::from(reported()) } else { real(what) }
    };
    fn get_nprocs() -> c_int, or 1 => |real| if active() & CPU_COUNT != 0 { reported() } else { real() };
    fn get_nprocs_conf() -> c_int, or 1 => |real| if active() & CPU_COUNT != 0 { reported() } else { real() };
    // Fewer CPUs are enforced by the affinity mask. More than exist can only be reported.
    fn sched_getaffinity(process: c_int, size: usize, into: *mut u8) -> c_int, or -1 => |real| {
        let result = real(process, size, into);
        if active() & CPU_COUNT == 0 || result < 0 {
            return result;
        }
        let mask = core::slice::from_raw_parts_mut(into, size);
        let present: u32 = mask.iter().map(|byte| byte.count_ones()).sum();
        let mut missing = (reported() as u32).saturating_sub(present);
        for bit in 0..size * 8 {
            let (byte, bit) = (&mut mask[bit / 8], 1 << (bit % 8));
            if missing > 0 && *byte & bit == 0 {
                *byte |= bit;
                missing -= 1;
            }
        }
        result
    };
}
