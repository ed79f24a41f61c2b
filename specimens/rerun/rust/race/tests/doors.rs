use std::thread;

use turnstile::Hall;

const DOORS: u64 = 4;
const VISITORS_PER_DOOR: u64 = 20_000;

#[test]
fn everybody_is_counted() {
    let hall = Hall::default();
    thread::scope(|scope| {
        for _ in 0..DOORS {
            scope.spawn(|| {
                for _ in 0..VISITORS_PER_DOOR {
                    hall.enter();
                }
            });
        }
    });

    assert_eq!(hall.visitors(), DOORS * VISITORS_PER_DOOR, "somebody was not counted");
}

#[test]
fn one_door_counts_right() {
    let hall = Hall::default();
    hall.enter();
    hall.enter();
    hall.leave();

    assert_eq!(hall.visitors(), 1);
}

#[test]
fn a_full_hall_stays_full() {
    let hall = Hall::with_limit(1);

    assert!(hall.enter());
    assert!(!hall.enter());
    assert_eq!(hall.visitors(), 1);
}
