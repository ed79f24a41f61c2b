"""A little shop. Its tests are flaky, each in its own way; `unflake demo` shows which is which."""
