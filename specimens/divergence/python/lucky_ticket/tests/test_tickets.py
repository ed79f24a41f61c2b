from lottery.tickets import Drum


def test_a_ticket_is_a_blank():
    drum = Drum()
    ticket = drum.draw()
    assert drum.is_blank(ticket)


def test_a_drum_remembers_its_tickets():
    drum = Drum()
    assert drum.draw() in drum.sold
