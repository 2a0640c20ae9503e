//! Shared by the benches: a simulated run, the floor, and a table of medians.
//!
//! A figure is a ratio measured in one run: every query is timed in turn with the floor, over several rounds,
//! and its median is given relative to that of the floor. Each answer is asserted.

mod copies;
mod floor;
pub mod plain;
mod record;
mod run;
mod timing;
mod watched;

pub use copies::{GAP, PART_ROWS, made_copies, remove_copies};
pub use floor::sum_of_columns;
pub use record::{Figure, record};
pub use run::{Made, made_run};
pub use timing::{Answer, Case, Suite, answer};
pub use watched::{Watched, watch};
