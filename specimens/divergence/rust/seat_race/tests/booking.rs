use std::thread;

use seats::{payment, Theatre};

#[test]
fn two_guests_get_two_seats() {
    let theatre = Theatre::new(3);
    thread::scope(|scope| {
        scope.spawn(|| theatre.book("ada"));
        scope.spawn(|| {
            payment::queue_up();
            theatre.book("ben")
        });
    });

    assert_eq!(theatre.taken(), 2);
}

#[test]
fn one_guest_gets_the_first_seat() {
    assert_eq!(Theatre::new(1).book("ada"), Some(0));
}
