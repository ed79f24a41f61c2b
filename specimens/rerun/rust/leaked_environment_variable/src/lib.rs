//! Sends mails, unless `MAILER_DRY_RUN` is set.
use std::env;

pub fn dry_run() -> bool {
    env::var_os("MAILER_DRY_RUN").is_some_and(|value| value == "1")
}

/// Whether the mail went out.
pub fn deliver(mail: &str, transport: &mut Vec<String>) -> bool {
    if dry_run() {
        return false;
    }
    transport.push(mail.to_owned());
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dry_run_sends_nothing() {
        env::set_var("MAILER_DRY_RUN", "1");
        let mut transport = Vec::new();

        assert!(!deliver("hello", &mut transport));
        assert!(transport.is_empty());
    }

    #[test]
    fn mails_go_out() {
        let mut transport = Vec::new();

        assert!(deliver("hello", &mut transport), "the mail did not go out");
        assert_eq!(transport, ["hello"]);
    }

    #[test]
    fn only_a_one_means_dry() {
        env::set_var("MAILER_DRY_RUN", "no");

        assert!(!dry_run());
    }
}
