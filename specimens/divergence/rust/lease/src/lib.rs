//! Leases that are good for as long as a window of time.
mod clock;

#[derive(Debug, PartialEq)]
pub struct Expired;

#[derive(Debug)]
pub struct Lease {
    window: u64,
    pub renewals: u32,
}

pub fn grant() -> Lease {
    Lease { window: clock::window(), renewals: 0 }
}

pub fn renew(lease: Lease) -> Result<Lease, Expired> {
    if lease.window != clock::window() {
        return Err(Expired);
    }
    Ok(Lease { renewals: lease.renewals + 1, ..lease })
}
