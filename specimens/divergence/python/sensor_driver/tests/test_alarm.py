from probe.alarm import Alarm


def test_no_alarm_on_a_quiet_day():
    alarm = Alarm(limit=160)
    alarm.look()

    assert not alarm.ringing


def test_alarm_is_silent_at_first():
    assert not Alarm(limit=0).ringing
