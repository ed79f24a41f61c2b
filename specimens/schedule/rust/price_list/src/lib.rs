//! Prices in a currency that an environment variable names, of which the process has only one.

use std::env;

pub fn symbol() -> &'static str {
    match env::var("SHOP_CURRENCY").as_deref() {
        Ok("EUR") => "€",
        Ok("GBP") => "£",
        _ => "$",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn use_currency(name: &str) {
        // SAFETY: it is not, which is the flaw.
        unsafe { env::set_var("SHOP_CURRENCY", name) };
    }

    #[test]
    fn names_no_currency_in_its_path() {
        assert!(!module_path!().contains("currency"));
    }

    #[test]
    fn shows_euros() {
        use_currency("EUR");
        assert_eq!(symbol(), "€");
    }

    #[test]
    fn shows_pounds() {
        use_currency("GBP");
        assert_eq!(symbol(), "£");
    }
}
