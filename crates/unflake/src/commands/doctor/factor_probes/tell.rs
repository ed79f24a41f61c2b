//! Answers one question about the world it runs in, for `unflake doctor --factors`. unflake itself is
//! the Rust program that is certainly installed.

use std::fs::{self, File};
use std::hash::BuildHasher;
use std::hint::black_box;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::{self, available_parallelism, sleep};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub(crate) fn tell(word: &str, place: &str) -> String {
    let began = Instant::now();
    let elapsed = || began.elapsed().as_millis().to_string();
    let refused = |refused: bool| if refused { "refused" } else { "given" }.to_owned();
    let day = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    match word {
        "date" => day().as_secs().to_string(),
        "sleep" => {
            let from = day();
            sleep(Duration::from_secs(4));
            format!("{} {}", elapsed(), (day() - from).as_millis())
        }
        "zone" => jiff::Zoned::now().offset().seconds().to_string(),
        "random" => format!("{:x}", std::hash::RandomState::new().hash_one(word)),
        "addresses" => format!("{:p} {:p}", Box::new(0), &raw const began),
        "cores" => available_parallelism().map_or(0, |cores| cores.get()).to_string(),
        "busy" => {
            let mut count = 0u64;
            while began.elapsed() < Duration::from_millis(400) {
                count = black_box(count + 1);
            }
            count.to_string()
        }
        "memory" => refused(Vec::<u8>::new().try_reserve_exact(4 << 30).is_err()),
        "files" => refused((0..100).map(|_| File::open("/dev/null")).collect::<Result<Vec<_>, _>>().is_err()),
        "sleeps" => {
            (0..20).for_each(|_| sleep(Duration::from_millis(1)));
            elapsed()
        }
        "connect" => {
            let address = SocketAddr::from(([192, 0, 2, 1], 9));
            match TcpStream::connect_timeout(&address, Duration::from_secs(1)) {
                Ok(_) => "connected".to_owned(),
                Err(error) if error.raw_os_error() == Some(nix::libc::ENETUNREACH) => "unreachable".to_owned(),
                Err(error) => error.to_string(),
            }
        }
        "echo" => echo().map_or_else(|error| error.to_string(), |()| elapsed()),
        "listing" => {
            let names = fs::read_dir(place).into_iter().flatten().flatten();
            names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        }
        "variable" => std::env::var("FACTOR_PROBE").unwrap_or_default(),
        "home" => std::env::home_dir().unwrap_or_default().display().to_string(),
        // Locale, hash seed and switch interval: Rust programs use none.
        _ => "nothing".to_owned(),
    }
}

fn echo() -> std::io::Result<()> {
    let server = TcpListener::bind("127.0.0.1:0")?;
    let address = server.local_addr()?;
    let answers = thread::spawn(move || server.accept().and_then(|(mut client, _)| client.write_all(b"x")));
    TcpStream::connect(address)?.read_exact(&mut [0])?;
    answers.join().unwrap_or(Ok(()))
}
