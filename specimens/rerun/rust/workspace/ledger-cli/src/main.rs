use std::io::{self, Read};
use std::process::ExitCode;

use ledger::Ledger;

fn main() -> ExitCode {
    let mut text = String::new();
    if let Err(error) = io::stdin().read_to_string(&mut text) {
        eprintln!("{error}");
        return ExitCode::from(2);
    }
    match Ledger::parse(&text) {
        Ok(ledger) => {
            println!("{}", euros(ledger.balance()));
            ExitCode::SUCCESS
        }
        Err(mistake) => {
            eprintln!("{mistake}");
            ExitCode::FAILURE
        }
    }
}

fn euros(cents: i64) -> String {
    let sign = if cents < 0 { "-" } else { "" };
    format!("{sign}{}.{:02}", cents.abs() / 100, cents.abs() % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cents_have_two_digits() {
        assert_eq!(euros(1205), "12.05");
    }

    #[test]
    fn debts_have_a_sign() {
        assert_eq!(euros(-50), "-0.50");
    }
}
