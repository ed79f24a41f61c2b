//! Receives webhooks, and passes them on to the shop.
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;

pub struct Receiver {
    listener: TcpListener,
    spool: PathBuf,
}

impl Receiver {
    /// Port 0 stands for any free one.
    pub fn open(port: u16, spool: &Path) -> io::Result<Self> {
        Ok(Self { listener: TcpListener::bind((Ipv4Addr::LOCALHOST, port))?, spool: spool.to_owned() })
    }

    pub fn port(&self) -> u16 {
        self.listener.local_addr().expect("it is bound").port()
    }

    /// Takes one delivery and says thank you.
    pub fn receive(&self) -> io::Result<String> {
        let (stream, _) = self.listener.accept()?;
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line)?;
        (&stream).write_all(b"thank you\n")?;
        Ok(line.trim_end().to_owned())
    }

    /// Leaves gracefully: goes on listening until the shop has asked for every delivery that is still in the spool.
    pub fn close(self) -> io::Result<()> {
        let mut waiting = Vec::new();
        for entry in fs::read_dir(&self.spool)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "delivery") {
                waiting.push(fs::read(&path)?);
                fs::remove_file(path)?;
            }
        }
        if !waiting.is_empty() {
            thread::spawn(move || hand_over(&self.listener, &waiting));
        }
        Ok(())
    }
}

fn hand_over(listener: &TcpListener, waiting: &[Vec<u8>]) -> io::Result<()> {
    for delivery in waiting {
        listener.accept()?.0.write_all(delivery)?;
    }
    Ok(())
}

/// Delivers one line and returns the answer.
pub fn deliver(port: u16, line: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    writeln!(stream, "{line}")?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer)?;
    Ok(answer.trim_end().to_owned())
}
