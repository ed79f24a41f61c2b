//! Projects that several stories use.

use crate::Story;

/// Three tests of a small shop, of which the second has a real failure. To be run as `python -m pytest`, or with a
/// `pythonpath` of its own.
pub fn shop() -> Story {
    let product = "def price(n):\n    if n > 10:\n        return n - 1\n    return n\n";
    let tests = "from shop import price\n\
                 def test_one(): assert price(1) == 1\n\
                 def test_two(): assert price(2) == 3\n\
                 def test_three(): assert price(3) == 3\n";
    Story::new().with("shop.py", product).with("tests/test_shop.py", tests).with("conftest.py", "")
}

/// A test that fails the first time it is run in the project, and one that always passes.
pub fn flaky() -> Story {
    Story::of(
        "import os\n\
         def test_flaky():\n    first = not os.path.exists('mark')\n    open('mark', 'w')\n    assert not first\n\
         def test_sound(): pass\n",
    )
}
