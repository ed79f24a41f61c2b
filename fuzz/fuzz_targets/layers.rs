//! Layers of an attempt from an untrusted source: accepted or rejected without a panic, and
//! consistent once accepted.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use unflake_observe::layers::{LayerArchive, Rules};
use unflake_model::{
    Attempt, EnvironmentId, Layer, LayerFacts, Event, Isolation, Outcome, Purpose, SessionId, Timestamp,
};

/// Without these lines nearly everything is refused; they are there so that more is tried than their absence.
const BEGINNING: &[u8] = b"[\"format\",1]\n[\"file\",0,\"a.py\"]\n[\"site\",0,0,\"f\",\"x == 1\",0,4]\n[\"point\",0,0,\"f\",\"enter\",[\"x\",\"y\"]]\n";

fuzz_target!(|bytes: &[u8]| {
    let directory = tempfile::tempdir().unwrap();
    let mut archive = LayerArchive::new(&Layer::ALL, Rules::without(&[], &[]).unwrap());
    for (run, beginning) in [BEGINNING, BEGINNING, b""].into_iter().enumerate() {
        let file = directory.path().join(run.to_string());
        fs::write(&file, [beginning, bytes].concat()).unwrap();
        let environment = EnvironmentId(run as u32);
        archive.take(&Event::LayersRecorded { test: "t".into(), environment, file });
        archive.take(&Event::AttemptEnded(Attempt {
            test: "t".into(),
            session: SessionId(1),
            purpose: Purpose::Look,
            environment,
            origin: Isolation::Fork,
            position: 0,
            run: 0,
            outcome: Outcome::Passed,
            started: Timestamp(0),
            seconds: 0.0,
            load: None,
            failure: None,
            stdout: String::from_utf8_lossy(bytes).into_owned(),
            stderr: String::new(),
        }));
    }
    for layer in Layer::ALL {
        assert_eq!(archive.output(0, layer), archive.output(1, layer), "equal input has equal output");
        for output in (0..3).filter_map(|run| archive.output(run, layer)) {
            let facts = archive.facts(output);
            assert!(facts.windows(2).all(|two| two[0] < two[1]));
            facts.iter().for_each(|fact| drop(archive.fact(*fact)));
        }
    }
    drop((archive.gaps(), archive.hidden()));
});
