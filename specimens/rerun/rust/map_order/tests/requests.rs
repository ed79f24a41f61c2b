use signing::Request;

#[test]
fn fields_are_joined() {
    let request = Request::default().with("amount", "990").with("currency", "EUR");

    assert_eq!(request.canonical(), "amount=990&currency=EUR");
}

#[test]
fn a_single_field_stands_alone() {
    assert_eq!(Request::default().with("amount", "990").canonical(), "amount=990");
}

#[test]
fn the_later_value_counts() {
    assert_eq!(Request::default().with("amount", "990").with("amount", "880").canonical(), "amount=880");
}

#[test]
fn an_empty_request_has_the_empty_signature() {
    assert_eq!(Request::default().signature(), 0xcbf2_9ce4_8422_2325);
}
