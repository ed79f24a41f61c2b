//! Signs the requests to a payment provider.
use std::collections::HashMap;

#[derive(Default)]
pub struct Request {
    fields: HashMap<String, String>,
}

impl Request {
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.fields.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The text that is signed: the fields as `name=value`, joined by `&`.
    pub fn canonical(&self) -> String {
        let fields: Vec<String> = self.fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
        fields.join("&")
    }

    /// FNV-1a, as the provider's sandbox expects it.
    pub fn signature(&self) -> u64 {
        self.canonical()
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }
}
