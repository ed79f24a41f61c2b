//! Announces parcels to a carrier, in the background.
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// How long the carrier takes to shake hands with somebody it does not know.
const HANDSHAKE: Duration = Duration::from_secs(30);

pub struct Carrier {
    session: PathBuf,
    announced: Arc<Mutex<Vec<String>>>,
}

impl Carrier {
    /// `directory` is where the session with the carrier is kept, so that it can be resumed.
    pub fn new(directory: &Path) -> Self {
        Self { session: directory.join("session"), announced: Arc::default() }
    }

    /// Returns at once. The parcel is announced as soon as the carrier answers.
    pub fn announce(&self, parcel: &str) {
        let (session, announced, parcel) = (self.session.clone(), Arc::clone(&self.announced), parcel.to_owned());
        let known = session.exists();
        if !known {
            fs::write(&session, "resume\n").expect("the session can be kept");
        }
        thread::spawn(move || {
            if !known {
                thread::sleep(HANDSHAKE);
            }
            announced.lock().unwrap().push(parcel);
        });
    }

    pub fn announced(&self) -> Vec<String> {
        self.announced.lock().unwrap().clone()
    }
}

/// The label that is printed for a parcel.
pub fn label(receiver: &str, grams: u32) -> String {
    format!("{} ({}.{:03} kg)", receiver.to_uppercase(), grams / 1000, grams % 1000)
}
