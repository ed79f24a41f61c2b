from desk.tickets import Ticket


def test_refund_goes_to_billing():
    assert Ticket("Refund, please").handler == "billing"


def test_opening_hours_are_a_general_question():
    assert Ticket("What are your opening hours?").handler == "general"
