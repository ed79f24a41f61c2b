//! Everything that people or machines read, as snapshots, and what must hold for any input, as properties.

mod history;
mod json;
mod junit;
mod progress;
mod safety;
mod samples;
mod summary;
mod trace;
