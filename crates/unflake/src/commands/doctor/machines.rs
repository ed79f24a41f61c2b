//! Whether sessions can run on other machines: one is sent there and has to come back.

use std::time::Instant;

use unflake_engine::{Engine, Launch};
use unflake_model::{Event, Isolation, Purpose, Session, SessionId, TestId};

use crate::config::settings::Settings;
use crate::context::Context;
use crate::error::CommandError;
use crate::interrupt;
use crate::machines;

/// What became of a session that was sent away.
#[derive(Default)]
struct AwaySession {
    test: Option<TestId>,
    machine: Option<String>,
    ended: bool,
    left: Option<String>,
    notes: Vec<String>,
}

impl AwaySession {
    fn observe(&mut self, event: &Event) {
        match event {
            Event::TestsListed { tests, .. } => self.test = tests.first().map(|test| test.id.clone()),
            Event::WorldEntered(world) => self.machine = self.machine.take().or_else(|| world.machine.clone()),
            Event::Note(note) => self.notes.push(note.clone()),
            Event::SessionEnded { left, why, .. } => {
                self.ended = true;
                self.left = (!left.is_empty()).then(|| why.clone().unwrap_or_default());
            }
            _ => {}
        }
    }
}

/// The cluster as its own commands show it, or what a server says.
pub(super) fn state(settings: &Settings) -> Result<String, String> {
    if let Some(server) = machines::reapi(settings) {
        let server = server.map_err(|error| error.to_string())?;
        let state = server.state().map_err(|error| error.to_string())?;
        return Ok(format!("{}, Remote Execution API {}", server.address, state.version));
    }
    let state = machines::slurm(settings).state().map_err(|error| error.to_string())?;
    let (nodes, processors, idle) = (state.nodes, state.processors, state.idle);
    match nodes {
        0 => Err(format!("{}, no node takes jobs", state.version)),
        1 => Ok(format!("{}, 1 node, {processors} processors, {idle} idle", state.version)),
        _ => Ok(format!("{}, {nodes} nodes, {processors} processors, {idle} idle", state.version)),
    }
}

/// Runs the first test on another machine. The error says why that is not possible.
pub(super) fn probe(settings: &Settings, context: &Context) -> Result<Result<String, String>, CommandError> {
    let launch = Launch { suite: false, ..context.search_launch(settings) };
    let mut engine = Engine::new(launch)?;
    interrupt::stop_on_signals(&engine)?;
    let mut probe = AwaySession::default();
    let listed = engine.list(&mut |batch| batch.iter().for_each(|event| probe.observe(event)));
    let began = Instant::now();
    let test = probe.test.clone().filter(|_| listed);
    if let Some(test) = test {
        let session = Session::fresh(SessionId(0), Purpose::Look, Isolation::Fork, vec![test]);
        engine.run(vec![session], &mut |batch| batch.iter().for_each(|event| probe.observe(event)));
    }
    let seconds = began.elapsed().as_secs_f64();
    engine.close(0, &mut |_| {});
    Ok(match probe {
        AwaySession { machine: Some(machine), ended: true, left: None, notes, .. } => {
            let sent = notes
                .iter()
                .find(|note| note.starts_with("inputs: "))
                .map_or(String::new(), |note| format!("; {note}"));
            Ok(format!("a test ran on {machine} and its result came back, {seconds:.1} s{sent}"))
        }
        AwaySession { left: Some(why), .. } => Err(why),
        AwaySession { ended: true, mut notes, .. } => {
            Err(notes.pop().unwrap_or_else(|| "no test ran there".to_owned()))
        }
        _ => Err("there is no test that could run there".to_owned()),
    })
}
