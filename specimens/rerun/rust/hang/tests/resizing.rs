use resize::{thumbnail, Resizer};

#[test]
fn a_picture_is_resized() {
    let resizer = Resizer::start();
    resizer.counter().hand_in(400, 200);

    assert_eq!(resizer.finish(), [(100, 50)]);
}

#[test]
fn pictures_keep_their_order() {
    let resizer = Resizer::start();
    let counter = resizer.counter();
    counter.hand_in(10, 10);
    counter.hand_in(20, 20);

    assert_eq!(resizer.finish(), [(10, 10), (20, 20)]);
}

#[test]
fn nothing_to_resize() {
    assert!(Resizer::start().finish().is_empty());
}

#[test]
fn small_pictures_stay_as_they_are() {
    assert_eq!(thumbnail((30, 400)), (30, 400));
}
