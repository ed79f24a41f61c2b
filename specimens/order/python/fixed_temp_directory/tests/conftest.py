import os
import shutil
import tempfile
import time

import pytest

EXPORTS = os.path.join(tempfile.gettempdir(), "shop-exports")


@pytest.fixture(autouse=True)
def exports():
    os.mkdir(EXPORTS)
    time.sleep(0.02)
    yield EXPORTS
    shutil.rmtree(EXPORTS)
