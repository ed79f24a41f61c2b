//! `unflake doctor --factors`: whether each factor takes effect in the installed language runtimes.
//! A small program that runs under the factor reports what it observes.

mod runtime;
mod tell;

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::unistd::getppid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use unflake_model::{FactorKind, FactorProbe, ProbeTarget, ProbeVerdict};
use unflake_report::plain;

use crate::commands::doctor::factor_probes::runtime::ProbedRuntime;
use crate::error::CommandError;
use crate::exit::Exit;

pub(crate) use tell::tell;

fn word(verdict: &ProbeVerdict) -> &'static str {
    match verdict {
        ProbeVerdict::Yes => "yes",
        ProbeVerdict::No(_) => "no",
        ProbeVerdict::Unavailable(_) => "n/a",
    }
}

fn verdict(kind: FactorKind, probe: &FactorProbe, runtime: &ProbedRuntime) -> ProbeVerdict {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let target = ProbeTarget { interpreter: runtime.interpreter, cores };
    match (probe.steps)(&target) {
        Ok(steps) => (probe.judge)(&steps.iter().map(|step| runtime.ask(kind, step)).collect::<Vec<_>>()),
        Err(why) => ProbeVerdict::Unavailable(why),
    }
}

pub(crate) fn examine(command: &[String]) -> Result<Exit, CommandError> {
    let place = tempfile::Builder::new().prefix("unflake-probe-").tempdir();
    let place = place.map_err(CommandError::internal("make a directory for the probes"))?;
    let runtimes = runtime::find(command, place.path()).map_err(CommandError::internal("write the probes"))?;
    let mut out = io::stdout();
    let columns: Vec<String> = runtimes.iter().map(|runtime| plain(&runtime.name).into_owned()).collect();
    let mut line = |first: &str, cells: &[&str]| {
        let cells = cells.iter().zip(&columns).map(|(cell, column)| format!("{cell:<0$}", column.chars().count() + 2));
        let text = format!("  {first:<26}{}", cells.collect::<String>());
        let _ = writeln!(out, "{}", text.trim_end());
        let _ = out.flush();
    };
    line("factor", &columns.iter().map(String::as_str).collect::<Vec<_>>());
    let stopped = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register(signal, Arc::clone(&stopped)).map_err(CommandError::internal("handle signals"))?;
    }
    let mut reasons = Vec::new();
    // If the parent is killed, this process still removes its files, soon.
    let parent = getppid();
    let probes = FactorKind::all().into_iter().flat_map(|kind| kind.probes.iter().map(move |probe| (kind, probe)));
    for (kind, probe) in probes.collect::<Vec<_>>() {
        if stopped.load(Ordering::Relaxed) || getppid() != parent {
            return Ok(Exit::Interrupted);
        }
        let name = format!("{kind} {}", probe.label).trim_end().to_owned();
        let verdicts: Vec<ProbeVerdict> = runtimes.iter().map(|runtime| verdict(kind, probe, runtime)).collect();
        line(&name, &verdicts.iter().map(word).collect::<Vec<_>>());
        for (verdict, runtime) in verdicts.into_iter().zip(&columns) {
            if let ProbeVerdict::No(why) | ProbeVerdict::Unavailable(why) = verdict {
                reasons.push((name.clone(), runtime.clone(), why));
            }
        }
    }
    let _ = writeln!(out);
    // One line where several runtimes have the same reason.
    while let Some((factor, first, why)) = (!reasons.is_empty()).then(|| reasons.remove(0)) {
        let same = reasons.extract_if(.., |(other, _, reason)| *other == factor && *reason == why);
        let names: Vec<String> = [first].into_iter().chain(same.map(|(_, runtime, _)| runtime)).collect();
        let _ = writeln!(out, "  {factor}, {}: {}", names.join(", "), plain(&why));
    }
    Ok(Exit::Success)
}
