//! Books seats in a theatre.
pub mod payment;

use std::sync::Mutex;

pub struct Theatre {
    seats: Mutex<Vec<Option<String>>>,
}

impl Theatre {
    pub fn new(seats: usize) -> Self {
        Self { seats: Mutex::new(vec![None; seats]) }
    }

    /// The seat that the guest has got.
    pub fn book(&self, guest: &str) -> Option<usize> {
        let seat = self.free_seat()?;
        payment::authorise();
        self.take(seat, guest);
        Some(seat)
    }

    pub fn taken(&self) -> usize {
        self.seats.lock().unwrap().iter().flatten().count()
    }

    fn free_seat(&self) -> Option<usize> {
        let seats = self.seats.lock().unwrap();
        seats.iter().position(|guest| guest.is_none())
    }

    fn take(&self, seat: usize, guest: &str) {
        self.seats.lock().unwrap()[seat] = Some(guest.to_owned());
    }
}
