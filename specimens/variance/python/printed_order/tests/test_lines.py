from report.lines import print_report


def test_report_has_three_parts():
    assert print_report() == 3
