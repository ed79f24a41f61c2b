//! Listing of the lines that a test executed, in order (`unflake trace`).

use std::io::{self, Write};

use crate::terminal::writer::{LONGEST, Page, Tone};
use crate::text::format;
use crate::text::sanitize::{keep_start, width};
use crate::{TerminalStyle, one_line};

/// Lines executed by one thread of a test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceListing {
    pub name: String,
    pub steps: Vec<TraceStep>,
    /// Missing parts, with the reason.
    pub gaps: Vec<String>,
}

/// An executed line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceStep {
    pub file: String,
    pub line: u32,
    pub function: String,
    /// Source text, where available.
    pub text: String,
}

/// Longest loop body that is folded.
const LONGEST_TURN: usize = 12;
/// Fewest iterations that are folded.
const FEWEST_TURNS: usize = 3;

enum Shown<'a> {
    TraceStep(&'a TraceStep),
    /// The last `.0` lines occur `.1` times in all.
    Turns(usize, usize),
}

/// Writes the lines of each thread. Loops are folded, with their number of iterations.
pub fn trace(threads: &[TraceListing], look: &TerminalStyle, out: &mut dyn Write) -> io::Result<()> {
    let page = &mut Page::new(*look, out);
    for (at, thread) in threads.iter().enumerate() {
        if at > 0 {
            page.blank()?;
        }
        page.line(&[(Tone::Bold, &one_line(&thread.name))])?;
        let place = |step: &TraceStep| format!("{}:{}", one_line(&step.file), step.line);
        let widest =
            |of: &dyn Fn(&TraceStep) -> usize, most: usize| thread.steps.iter().map(of).max().unwrap_or(0).min(most);
        let places = widest(&|step| width(&place(step)), 40);
        let functions = widest(&|step| width(&one_line(&brief(&step.function))), 40);
        for shown in folded(&thread.steps) {
            match shown {
                Shown::TraceStep(step) => {
                    let function = brief(&step.function);
                    let function = one_line(&function);
                    let function = keep_start(&function, functions, look.sign("…"));
                    let (place, text) = (place(step), one_line(step.text.trim()));
                    let blanks = |text: &str, to: usize| " ".repeat(to.saturating_sub(width(text)) + 2);
                    let used = 2 + places.max(width(&place)) + 2 + functions + 2;
                    let room = page.look.width.saturating_sub(used).min(LONGEST);
                    let text = keep_start(&text, room, look.sign("…"));
                    let text = if room < 10 { "" } else { &*text };
                    page.line(&[
                        (Tone::Usual, "  "),
                        (Tone::Usual, &place),
                        (Tone::Usual, &blanks(&place, places)),
                        (Tone::Faint, &function),
                        (Tone::Usual, &blanks(&function, functions)),
                        (Tone::Usual, text),
                    ])?;
                }
                Shown::Turns(lines, times) => {
                    let which = if lines == 1 { "this line".to_owned() } else { format!("these {lines} lines") };
                    page.line(&[(Tone::Faint, &format!("    {which} {times} times in all"))])?;
                }
            }
        }
        if thread.steps.is_empty() {
            page.line(&[(Tone::Faint, "  no line of the project")])?;
        }
        for gap in &thread.gaps {
            page.line(&[(Tone::Odd, "  not all: "), (Tone::Usual, &one_line(gap))])?;
        }
    }
    let lines: usize = threads.iter().map(|thread| thread.steps.len()).sum();
    page.blank()?;
    let counted = [format::count(lines, "line"), format::count(threads.len(), "thread")].join(" in ");
    page.line(&[(Tone::Usual, "  "), (Tone::Usual, &counted)])
}

/// Short name of a function: without parameters, qualified where the qualifier is a plain name.
fn brief(function: &str) -> String {
    let function = function.replace("(anonymous namespace)::", "");
    let (mut depth, mut from) = (0, 0);
    let mut parts = Vec::new();
    for (at, character) in function.char_indices() {
        match character {
            '<' => depth += 1,
            '>' if depth > 0 => depth -= 1,
            '(' if depth == 0 && at > from => {
                parts.push(&function[from..at]);
                from = function.len();
                break;
            }
            ':' if depth == 0 && function[at..].starts_with("::") => {
                parts.push(&function[from..at]);
                from = at + 2;
            }
            _ => {}
        }
    }
    parts.extend(function.get(from..).filter(|rest| !rest.is_empty()));
    let plain = |part: &&&str| !part.starts_with('<') && !part.is_empty();
    let last: Vec<&str> = parts.iter().rev().take(2).filter(plain).rev().copied().collect();
    last.join("::")
}

fn folded(steps: &[TraceStep]) -> Vec<Shown<'_>> {
    let mut shown = Vec::new();
    let mut at = 0;
    while at < steps.len() {
        let turns = |length: &usize| {
            let turn = &steps[at..at + length];
            1 + steps[at + length..].chunks(*length).take_while(|next| next == &turn).count()
        };
        let lengths = 1..=LONGEST_TURN.min(steps.len() - at);
        let best = lengths.map(|length| (length, turns(&length))).find(|(_, turns)| *turns >= FEWEST_TURNS);
        let (length, turns) = best.unwrap_or((1, 1));
        shown.extend(steps[at..at + length].iter().map(Shown::TraceStep));
        if turns > 1 {
            shown.push(Shown::Turns(length, turns));
        }
        at += length * turns;
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::brief;

    #[test]
    fn functions_are_named_briefly() {
        assert_eq!(brief("semver::parse::<impl core::str::FromStr for semver::Version>::from_str"), "from_str");
        assert_eq!(brief("(anonymous namespace)::Shop_Pays_Test::TestBody()"), "Shop_Pays_Test::TestBody");
        assert_eq!(brief("Catalogue::contains(std::string const&)"), "Catalogue::contains");
        assert_eq!(
            brief("std::vector<int, std::allocator<int> >::push_back(int)"),
            "vector<int, std::allocator<int> >::push_back"
        );
        assert_eq!(brief("main"), "main");
        assert_eq!(brief("lt::thr::{{closure}}"), "thr::{{closure}}");
    }
}
