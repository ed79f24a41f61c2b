//! A client that takes its proxy from an environment variable, of which the process has only one.

use std::env;

pub fn proxy() -> Option<String> {
    env::var("SHOP_PROXY").ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread::sleep;
    use std::time::Duration;

    static IS_SET: AtomicBool = AtomicBool::new(false);

    /// Opens connections, which takes a while; longer where nobody else is at work.
    fn connect() {
        for _ in 0..100 {
            if IS_SET.load(Ordering::SeqCst) {
                return;
            }
            sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn connects_directly() {
        // SAFETY: it is not, which is the flaw.
        unsafe { env::remove_var("SHOP_PROXY") };
        connect();
        assert_eq!(proxy(), None);
    }

    #[test]
    fn connects_through_the_proxy() {
        // SAFETY: as above.
        unsafe { env::set_var("SHOP_PROXY", "localhost:3128") };
        IS_SET.store(true, Ordering::SeqCst);
        assert_eq!(proxy().as_deref(), Some("localhost:3128"));
    }

    #[test]
    fn has_no_proxy_in_its_name() {
        assert!(!module_path!().contains("other"));
    }
}
