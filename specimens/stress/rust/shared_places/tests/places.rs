//! Each test uses a place that copies of it use, too: a file, a directory, a port.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::thread::sleep;
use std::time::Duration;

const HOLD: Duration = Duration::from_millis(100);

#[test]
fn file() {
    let (path, mine) = ("/tmp/unflake-places-file-rs", std::process::id().to_string());
    fs::write(path, &mine).unwrap();
    sleep(HOLD);
    assert_eq!(fs::read_to_string(path).unwrap(), mine);
    fs::remove_file(path).unwrap();
}

#[test]
fn directory() {
    let _ = fs::remove_dir_all("reports");
    fs::create_dir("reports").unwrap();
    sleep(HOLD);
    fs::create_dir("reports/daily").unwrap();
    assert_eq!(fs::read_dir("reports").unwrap().count(), 1);
}

#[test]
fn port() {
    let server = TcpListener::bind("127.0.0.1:18942").unwrap();
    sleep(HOLD);
    TcpStream::connect(server.local_addr().unwrap()).unwrap();
}
