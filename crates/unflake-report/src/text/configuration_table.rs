//! Tables that compare configurations layer by layer, as Tables 4.3 to 4.8 and 5.8 of Gao's
//! dissertation.

use std::io::{self, Write};

use unflake_model::{ConfigurationMeasure, Layer, LayerMeasure, Measurement};

/// A number of every configuration at every layer.
struct ConfigurationTable {
    title: &'static str,
    number: fn(&LayerMeasure) -> Option<f64>,
}

const TABLES: [ConfigurationTable; 6] = [
    ConfigurationTable { title: "Entropy of the suite", number: |layer| Some(layer.suite.as_ref()?.entropy) },
    ConfigurationTable { title: "Mean entropy of the tests", number: |layer| Some(layer.entropy) },
    ConfigurationTable { title: "Mean range of the tests: units that differ", number: |layer| Some(layer.range) },
    ConfigurationTable { title: "False positives in %", number: |layer| Some(layer.false_positives.share()? * 100.0) },
    ConfigurationTable {
        title: "Tests that differ in %",
        number: |layer| percent(layer.differing.into(), layer.tests.into()),
    },
    ConfigurationTable {
        title: "Units of the tests that differ in %",
        number: |layer| percent(layer.range, layer.units.max(layer.range)),
    },
];

fn percent(part: f64, all: f64) -> Option<f64> {
    (all > 0.0).then(|| part / all * 100.0)
}

/// The layers with a number in some configuration, in their order.
pub(crate) fn layers(measured: &Measurement) -> Vec<Layer> {
    let has = |layer: &Layer| measured.configurations.iter().any(|one| at(one, *layer).is_some());
    Layer::ALL.into_iter().filter(has).collect()
}

fn at(configuration: &ConfigurationMeasure, layer: Layer) -> Option<&LayerMeasure> {
    configuration.layers.iter().find(|measured| measured.layer == layer)
}

/// `0` is exactly zero, `0.00` is rounded; `-` is not measured.
fn cell(number: Option<f64>) -> String {
    number.map_or_else(|| "-".to_owned(), |number| if number == 0.0 { "0".to_owned() } else { format!("{number:.2}") })
}

/// Entropy of the suite and mean entropy of the tests.
pub(crate) fn entropies(configuration: &ConfigurationMeasure, layer: Layer) -> String {
    let measured = at(configuration, layer);
    let of = |table: &ConfigurationTable| cell(measured.and_then(table.number));
    format!("{} / {}", of(&TABLES[0]), of(&TABLES[1]))
}

/// Writes all tables as Markdown, and what the configurations are.
pub fn configuration_tables(measured: &Measurement, out: &mut dyn Write) -> io::Result<()> {
    let layers = layers(measured);
    for table in &TABLES {
        writeln!(out, "### {}\n", table.title)?;
        let heads: Vec<&str> = layers.iter().map(|layer| layer.word()).collect();
        writeln!(out, "| configuration | runs | {} |", heads.join(" | "))?;
        writeln!(out, "|---|--:|{}", "--:|".repeat(layers.len()))?;
        for one in measured.configurations.iter().filter(|one| one.missing.is_none()) {
            let cells: Vec<String> = layers.iter().map(|layer| cell(at(one, *layer).and_then(table.number))).collect();
            writeln!(out, "| {} | {} | {} |", one.name, one.runs, cells.join(" | "))?;
        }
        writeln!(out)?;
    }
    writeln!(out, "`0` is exactly zero, `0.00` is rounded, `-` was not observed.\n")?;
    for one in &measured.configurations {
        match &one.missing {
            Some(why) => writeln!(out, "- {}: not run: {why}", one.name)?,
            None => writeln!(out, "- {}: {}", one.name, description(one))?,
        }
    }
    Ok(())
}

fn description(configuration: &ConfigurationMeasure) -> String {
    let settings = configuration.settings.iter().map(|setting| format!("`{setting}`"));
    let drawn = (!configuration.drawn.is_empty()).then(|| format!("random {}", configuration.drawn.join(", ")));
    let all: Vec<String> = settings.chain(drawn).collect();
    if all.is_empty() { "nothing is set".to_owned() } else { all.join(" ") }
}
