use courier::{send, Line};

#[test]
fn a_lost_message_is_sent_again() {
    let mut line = Line::default();
    send(&mut line, "hello", 260).expect("it arrives");

    assert_eq!(line.arrived, ["hello"]);
}

#[test]
fn without_patience_it_is_given_up() {
    assert!(send(&mut Line::default(), "hello", 0).is_err());
}
