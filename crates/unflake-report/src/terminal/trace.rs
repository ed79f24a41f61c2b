//! Listing of the lines that a test executed, in order (`unflake trace`).

use std::io::{self, Write};

use crate::terminal::writer::{MAX_COLUMNS, TermWriter, Tone};
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
const MAX_LOOP_LINES: usize = 12;
/// Fewest iterations that are folded.
const MIN_ITERATIONS: usize = 3;

enum ListingLine<'a> {
    Step(&'a TraceStep),
    /// The last `.0` lines occur `.1` times in all.
    Loop(usize, usize),
}

/// Writes the lines of each thread. Loops are folded, with their number of iterations.
pub fn trace(threads: &[TraceListing], style: &TerminalStyle, out: &mut dyn Write) -> io::Result<()> {
    let term = &mut TermWriter::new(*style, out);
    for (at, thread) in threads.iter().enumerate() {
        if at > 0 {
            term.blank()?;
        }
        term.line(&[(Tone::Bold, &one_line(&thread.name))])?;
        let place = |step: &TraceStep| format!("{}:{}", one_line(&step.file), step.line);
        let widest =
            |of: &dyn Fn(&TraceStep) -> usize, most: usize| thread.steps.iter().map(of).max().unwrap_or(0).min(most);
        let places = widest(&|step| width(&place(step)), 40);
        let functions = widest(&|step| width(&one_line(&short_name(&step.function))), 40);
        for shown in fold_loops(&thread.steps) {
            match shown {
                ListingLine::Step(step) => {
                    let function = short_name(&step.function);
                    let function = one_line(&function);
                    let function = keep_start(&function, functions, style.sign("…"));
                    let (place, text) = (place(step), one_line(step.text.trim()));
                    let blanks = |text: &str, to: usize| " ".repeat(to.saturating_sub(width(text)) + 2);
                    let used = 2 + places.max(width(&place)) + 2 + functions + 2;
                    let room = term.style.width.saturating_sub(used).min(MAX_COLUMNS);
                    let text = keep_start(&text, room, style.sign("…"));
                    let text = if room < 10 { "" } else { &*text };
                    term.line(&[
                        (Tone::Usual, "  "),
                        (Tone::Usual, &place),
                        (Tone::Usual, &blanks(&place, places)),
                        (Tone::Faint, &function),
                        (Tone::Usual, &blanks(&function, functions)),
                        (Tone::Usual, text),
                    ])?;
                }
                ListingLine::Loop(lines, times) => {
                    let which = if lines == 1 { "this line".to_owned() } else { format!("these {lines} lines") };
                    term.line(&[(Tone::Faint, &format!("    {which} {times} times in total"))])?;
                }
            }
        }
        if thread.steps.is_empty() {
            term.line(&[(Tone::Faint, "  no project lines")])?;
        }
        for gap in &thread.gaps {
            term.line(&[(Tone::Odd, "  incomplete: "), (Tone::Usual, &one_line(gap))])?;
        }
    }
    let lines: usize = threads.iter().map(|thread| thread.steps.len()).sum();
    term.blank()?;
    let counted = [format::count(lines, "line"), format::count(threads.len(), "thread")].join(" in ");
    term.line(&[(Tone::Usual, "  "), (Tone::Usual, &counted)])
}

/// Short name of a function: without parameters, qualified where the qualifier is a plain name.
fn short_name(function: &str) -> String {
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

fn fold_loops(steps: &[TraceStep]) -> Vec<ListingLine<'_>> {
    let mut shown = Vec::new();
    let mut at = 0;
    while at < steps.len() {
        let iterations = |length: &usize| {
            let iteration = &steps[at..at + length];
            1 + steps[at + length..].chunks(*length).take_while(|next| next == &iteration).count()
        };
        let lengths = 1..=MAX_LOOP_LINES.min(steps.len() - at);
        let best =
            lengths.map(|length| (length, iterations(&length))).find(|(_, iterations)| *iterations >= MIN_ITERATIONS);
        let (length, iterations) = best.unwrap_or((1, 1));
        shown.extend(steps[at..at + length].iter().map(ListingLine::Step));
        if iterations > 1 {
            shown.push(ListingLine::Loop(length, iterations));
        }
        at += length * iterations;
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::short_name;

    #[test]
    fn function_names_are_shortened() {
        assert_eq!(short_name("semver::parse::<impl core::str::FromStr for semver::Version>::from_str"), "from_str");
        assert_eq!(short_name("(anonymous namespace)::Shop_Pays_Test::TestBody()"), "Shop_Pays_Test::TestBody");
        assert_eq!(short_name("Catalogue::contains(std::string const&)"), "Catalogue::contains");
        assert_eq!(
            short_name("std::vector<int, std::allocator<int> >::push_back(int)"),
            "vector<int, std::allocator<int> >::push_back"
        );
        assert_eq!(short_name("main"), "main");
        assert_eq!(short_name("lt::thr::{{closure}}"), "thr::{{closure}}");
    }
}
