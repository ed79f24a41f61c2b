//! Snapshots of all reports, and properties that hold for any input.

mod ci_formats;
mod divergences;
mod factors;
mod filter;
mod history;
mod json;
mod junit;
mod locate;
mod locate_page;
mod measure;
mod order_and_nio;
mod prepare;
mod progress;
mod safety;
mod samples;
mod sarif;
mod summary;
mod texts;
mod trace;
mod why;
