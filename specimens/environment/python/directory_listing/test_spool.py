import os


def oldest(spool):
    return os.listdir(spool)[0]


def test_the_oldest_comes_first(tmp_path):
    for number in range(5):
        (tmp_path / ("letter-%d" % number)).touch()
    assert oldest(str(tmp_path)) == "letter-0"
