//! Writes orders as lines of text. Only one export may be under way in a directory: its lock file says so.
use std::fs::{self, File};
use std::io;
use std::path::Path;

const LOCK: &str = "export.lock";

#[derive(Debug)]
pub enum Refusal {
    Locked,
    NoAmount { order: String },
    Disk(io::Error),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Disk(error)
    }
}

/// Writes `orders`, such as `17: 9.90`, and returns how many there were.
pub fn export(directory: &Path, orders: &[&str]) -> Result<usize, Refusal> {
    let lock = directory.join(LOCK);
    match File::create_new(&lock) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(Refusal::Locked),
        created => created?,
    };
    let mut text = String::new();
    for order in orders {
        let Some((number, amount)) = order.split_once(": ") else {
            return Err(Refusal::NoAmount { order: (*order).to_owned() });
        };
        text += &format!("{number};{amount}\n");
    }
    fs::write(directory.join("orders.csv"), text)?;
    fs::remove_file(lock)?;
    Ok(orders.len())
}

/// Removes the lock of an export that was never finished. Whether there was one.
pub fn sweep(directory: &Path) -> io::Result<bool> {
    match fs::remove_file(directory.join(LOCK)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        removed => removed.map(|()| true),
    }
}
