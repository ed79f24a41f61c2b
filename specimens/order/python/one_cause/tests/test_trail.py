from audit import trail


def test_login_is_kept():
    assert trail.is_kept("login")


def test_logout_is_kept():
    assert trail.is_kept("logout")


def test_payment_is_kept():
    assert trail.is_kept("payment")


def test_refund_is_kept():
    assert trail.is_kept("refund")


def test_transfer_is_kept():
    assert trail.is_kept("transfer")


def test_start():
    trail.start()
    assert trail.is_kept("start")


def test_upload_is_kept():
    assert trail.is_kept("upload")


def test_download_is_kept():
    assert trail.is_kept("download")


def test_rename_is_kept():
    assert trail.is_kept("rename")


def test_removal_is_kept():
    assert trail.is_kept("removal")
