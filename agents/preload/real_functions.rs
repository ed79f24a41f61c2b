//! The functions that a call would reach without the shim.

use core::ptr::without_provenance_mut;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::system;

macro_rules! names {
    ($($early:ident)*; $($later:ident)*) => {
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy)]
        pub enum Call { $($early,)* $($later),* }
        const NAMES: &[&str] = &[$(concat!(stringify!($early), "\0"),)* $(concat!(stringify!($later), "\0")),*];
        const EARLY: usize = [$(stringify!($early)),*].len();
    };
}

names! {
    // These may be called in a signal handler, where symbols cannot be looked up.
    clock_gettime gettimeofday time times nanosleep clock_nanosleep sleep usleep setitimer getitimer alarm timer_settime
    timer_gettime poll ppoll select pselect epoll_wait getrandom getentropy open open64 openat openat64 sysconf connect send
    sendto sendmsg recv recvfrom recvmsg read write readv writev execve execv posix_spawn syscall
    setrlimit setrlimit64 prlimit prlimit64;

    timespec_get timerfd_create timerfd_settime timerfd_gettime timer_create __poll_chk __ppoll_chk epoll_pwait epoll_pwait2
    sigtimedwait sem_wait sem_timedwait sem_clockwait pthread_mutex_lock pthread_mutex_timedlock pthread_mutex_clocklock
    pthread_cond_wait pthread_cond_timedwait pthread_cond_clockwait pthread_rwlock_rdlock pthread_rwlock_wrlock
    pthread_rwlock_timedrdlock pthread_rwlock_timedwrlock pthread_rwlock_clockrdlock pthread_rwlock_clockwrlock pthread_join
    pthread_timedjoin_np pthread_clockjoin_np mtx_lock mtx_timedlock cnd_wait cnd_timedwait mq_timedsend mq_timedreceive
    arc4random arc4random_buf arc4random_uniform __open_2 __open64_2 fopen fopen64 fdopen get_nprocs get_nprocs_conf
    sched_getaffinity sendmmsg recvmmsg getaddrinfo gethostbyname readdir readdir64 rewinddir telldir seekdir closedir scandir
    scandir64 execvp execvpe posix_spawnp pthread_condattr_init pthread_condattr_setclock pthread_cond_init __register_atfork __libc_malloc
    pthread_create setenv unsetenv putenv chdir fchdir umask setlocale srand srandom srand48 _ZNSt13random_device9_M_getvalEv
}

static REAL: [AtomicUsize; NAMES.len()] = [const { AtomicUsize::new(0) }; NAMES.len()];
/// The C library has no such function.
const NONE: usize = 1;
const NEXT: usize = usize::MAX; // RTLD_NEXT

/// Looked up at the first use, or early by [`initialize`]. 0 if it does not exist.
#[inline(always)]
pub fn next(call: Call) -> usize {
    match REAL[call as usize].load(Ordering::Relaxed) {
        0 => resolve(call as usize),
        NONE => 0,
        address => address,
    }
}

#[cold]
fn resolve(call: usize) -> usize {
    // SAFETY: the name is NUL-terminated.
    let address = unsafe { system::dlsym(without_provenance_mut(NEXT), NAMES[call].as_ptr().cast()) } as usize;
    REAL[call].store(if address == 0 { NONE } else { address }, Ordering::Relaxed);
    address
}

pub fn initialize() {
    for call in 0..EARLY {
        resolve(call);
    }
    // SAFETY: the program must not see errors of these lookups.
    unsafe { system::dlerror() };
}

/// Defines functions in place of the libc functions with their names. If the C library lacks the
/// function, nothing can be linked against it, and a call fails.
///
/// The real function is declared as one that does not unwind, so that the compiler adds no landing
/// pads: a thread that is cancelled while it waits unwinds through here, by the tables that every
/// function has.
macro_rules! interpose {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $return_type:ty, or $none:expr => |$real:ident| $body:expr;)*) => {
        $(
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> $return_type {
                let address = $crate::real_functions::next($crate::real_functions::Call::$name);
                if address == 0 {
                    $crate::system::set_errno(38); // ENOSYS
                    return $none;
                }
                let $real = core::mem::transmute::<usize, unsafe extern "C" fn($($type),*) -> $return_type>(address);
                $body
            }
        )*
    };
}
pub(crate) use interpose;
