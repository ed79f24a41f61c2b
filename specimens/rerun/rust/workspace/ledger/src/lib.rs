//! Bookings in cents.

mod booking;

pub use booking::{Booking, Mistake};

#[derive(Default)]
pub struct Ledger {
    bookings: Vec<Booking>,
}

impl Ledger {
    /// From lines such as `rent -90000`.
    pub fn parse(text: &str) -> Result<Self, Mistake> {
        Ok(Self { bookings: text.lines().map(str::parse).collect::<Result<_, _>>()? })
    }

    pub fn balance(&self) -> i64 {
        self.bookings.iter().map(|booking| booking.cents).sum()
    }

    pub fn booking(&self, number: usize) -> &Booking {
        assert!(number > 0, "bookings are numbered from one");
        &self.bookings[number - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_ledger_is_even() {
        assert_eq!(Ledger::default().balance(), 0);
    }

    #[test]
    fn the_balance_is_the_sum() -> Result<(), Mistake> {
        let ledger = Ledger::parse("wages 250000\nrent -90000")?;

        println!("balance {}", ledger.balance());
        assert_eq!(ledger.balance(), 160000);
        Ok(())
    }

    #[test]
    #[should_panic(expected = "numbered from one")]
    fn there_is_no_booking_zero() {
        Ledger::default().booking(0);
    }

    #[test]
    #[should_panic]
    fn there_is_no_booking_past_the_end() {
        Ledger::default().booking(1);
    }

    #[test]
    #[ignore = "takes a minute"]
    fn a_million_bookings() {
        let text = "coffee -250\n".repeat(1_000_000);

        assert_eq!(Ledger::parse(&text).unwrap().balance(), -250_000_000);
    }
}
