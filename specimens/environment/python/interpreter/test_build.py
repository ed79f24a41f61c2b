def newest(versions):
    from distutils.version import LooseVersion

    return max(versions, key=LooseVersion)


def test_versions_are_compared():
    assert newest(["1.9", "1.10"]) == "1.10"
