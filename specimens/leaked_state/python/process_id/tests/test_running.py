from jobs import running


def test_label():
    assert running.label(" backup ") == "Backup"


def test_job_begins():
    assert running.begin("backup") == "backup"


def test_empty_label():
    assert running.label("") == ""


def test_process_is_idle_at_first():
    assert running.is_idle()


def test_label_of_two_words():
    assert running.label("full backup") == "Full Backup"
