use std::error::Error;
use std::fmt;
use std::str::FromStr;

#[derive(Debug, PartialEq)]
pub struct Booking {
    pub text: String,
    pub cents: i64,
}

#[derive(Debug, PartialEq)]
pub struct Mistake(pub String);

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a booking: {}", self.0)
    }
}

impl Error for Mistake {}

impl FromStr for Booking {
    type Err = Mistake;

    fn from_str(line: &str) -> Result<Self, Mistake> {
        let booking = line.rsplit_once(' ').and_then(|(text, cents)| Some((text, cents.parse().ok()?)));
        let (text, cents) = booking.ok_or_else(|| Mistake(line.to_owned()))?;
        Ok(Self { text: text.to_owned(), cents })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_may_have_spaces() {
        assert_eq!("new shoes -9000".parse(), Ok(Booking { text: "new shoes".to_owned(), cents: -9000 }));
    }

    mod mistakes {
        use super::*;

        #[test]
        fn no_number() {
            assert_eq!("rent".parse::<Booking>(), Err(Mistake("rent".to_owned())));
        }

        #[test]
        fn are_told() {
            assert_eq!(Mistake("rent".to_owned()).to_string(), "not a booking: rent");
        }
    }
}
