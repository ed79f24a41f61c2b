//! Prices in cents.

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price(pub u32);

impl Price {
    /// From text such as `9.90`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (euros, cents) = text.split_once('.').ok_or_else(|| format!("no point in {text:?}"))?;
        let number = |digits: &str| digits.parse::<u32>().map_err(|error| format!("{digits:?}: {error}"));
        Ok(Self(number(euros)? * 100 + number(cents)?))
    }

    pub fn off(self, percent: u32) -> Self {
        Self(self.0 * 100u32.saturating_sub(percent) / 100)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_parsed() {
        assert_eq!(Price::parse("9.90"), Ok(Price(990)));
    }

    #[test]
    fn a_discount_is_rounded_half_up() {
        assert_eq!(Price(995).off(10), Price(896), "ten percent off 9.95");
    }

    #[test]
    fn a_round_price_is_parsed() -> Result<(), String> {
        assert_eq!(Price::parse("10.00")?, Price(1000));
        assert_eq!(Price::parse("10")?, Price(1000));
        Ok(())
    }

    #[test]
    #[should_panic(expected = "more than everything")]
    fn nobody_gets_more_than_everything_off() {
        Price(100).off(101);
    }

    #[test]
    #[should_panic(expected = "overflow")]
    fn prices_have_an_end() {
        Price(u32::MAX).off(1);
    }

    #[test]
    #[should_panic(expected = "no price")]
    fn words_are_no_price() {
        Price::parse("cheap").unwrap();
    }
}
