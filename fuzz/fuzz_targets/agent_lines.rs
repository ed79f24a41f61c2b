//! What an agent sends: any bytes are read line by line without a panic, and what was understood survives the wire.
#![no_main]

use libfuzzer_sys::fuzz_target;
use unflake_protocol::{AgentMessage, Line, LineReader, to_line};

fuzz_target!(|bytes: &[u8]| {
    let mut lines = LineReader::new(bytes);
    loop {
        match lines.read::<AgentMessage>() {
            Ok(Line::Message(message)) => {
                let again = to_line(&message);
                let Ok(Line::Message(back)) = LineReader::new(&again[..]).read::<AgentMessage>() else {
                    panic!("{message:?} does not survive the wire");
                };
                // Not a number differs from itself.
                assert_eq!(format!("{message:?}"), format!("{back:?}"));
            }
            Ok(Line::Bad(_)) => {}
            Ok(Line::End) | Err(_) => return,
        }
    }
});
