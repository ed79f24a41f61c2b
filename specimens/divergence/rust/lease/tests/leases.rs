use std::thread;
use std::time::Duration;

#[test]
fn a_lease_is_renewed() {
    let lease = leases::grant();
    thread::sleep(Duration::from_millis(15));
    let lease = leases::renew(lease).expect("it is still good");

    assert_eq!(lease.renewals, 1);
}

#[test]
fn a_new_lease_has_no_renewals() {
    assert_eq!(leases::grant().renewals, 0);
}
