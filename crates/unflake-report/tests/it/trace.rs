//! Traces on a terminal.

use insta::assert_snapshot;
use unflake_report::{TerminalStyle, TraceListing, TraceStep, trace};

use crate::samples::written;

#[test]
fn loops_are_folded() {
    let step = |line: u32, text: &str| TraceStep {
        file: "src/cart.rs".into(),
        line,
        function: "shop::Cart::total".into(),
        text: text.into(),
    };
    let turn = [step(7, "    for price in prices {"), step(8, "        sum += price;\x1b[31m")];
    let mut steps = vec![step(6, "    let mut sum = 0;")];
    (0..4).for_each(|_| steps.extend(turn.clone()));
    steps.push(step(9, "    sum"));
    let threads = [
        TraceListing { name: "main".into(), steps, gaps: vec![] },
        TraceListing { name: "main.1".into(), steps: vec![], gaps: vec!["7 events are missing".into()] },
    ];
    let style = TerminalStyle { colour: false, width: 80, unicode: true, lines: usize::MAX };
    assert_snapshot!(written(|out| trace(&threads, &style, out)));
}
