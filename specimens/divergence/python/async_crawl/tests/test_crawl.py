from crawler.crawl import index

SITE = {"/": "see /home and /about or /home", "/home": "sweet home", "/about": "about us all", "/empty": ""}


def test_home_page_is_first():
    assert index(SITE) == ["/home (2 words)", "/about (3 words)"]


def test_page_without_links():
    assert index(SITE, "/empty") == []
