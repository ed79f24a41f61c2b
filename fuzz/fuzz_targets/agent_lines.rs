//! What an agent sends: any bytes are read line by line without a panic, and what was understood survives the wire.
#![no_main]

use libfuzzer_sys::fuzz_target;
use unflake_protocol::{Event, Line, LineReader, to_line};

fuzz_target!(|bytes: &[u8]| {
    let mut lines = LineReader::new(bytes);
    loop {
        match lines.read::<Event>() {
            Ok(Line::Message(event)) => {
                let again = to_line(&event);
                let Ok(Line::Message(back)) = LineReader::new(&again[..]).read::<Event>() else {
                    panic!("{event:?} does not survive the wire");
                };
                // Not a number differs from itself.
                assert_eq!(format!("{event:?}"), format!("{back:?}"));
            }
            Ok(Line::Bad(_)) => {}
            Ok(Line::End) | Err(_) => return,
        }
    }
});
