//! Small projects that several tests use.

use crate::Sandbox;

/// Three tests of a small shop, of which the second has a real failure. Run it with `python -m
/// pytest`, or add a `pythonpath` setting.
pub fn shop() -> Sandbox {
    let product = "def price(n):\n    if n > 10:\n        return n - 1\n    return n\n";
    let tests = "from shop import price\n\
                 def test_one(): assert price(1) == 1\n\
                 def test_two(): assert price(2) == 3\n\
                 def test_three(): assert price(3) == 3\n";
    Sandbox::new().file("shop.py", product).file("tests/test_shop.py", tests).file("conftest.py", "")
}

/// A test that fails in its first attempt in the project, and one that always passes.
pub fn flaky() -> Sandbox {
    Sandbox::with_tests(
        "import os\n\
         def test_flaky():\n    first = not os.path.exists('mark')\n    open('mark', 'w')\n    assert not first\n\
         def test_sound(): pass\n",
    )
}
