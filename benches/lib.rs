//! What the benches share: a run of known make, the floor, and a table of medians.
//!
//! A figure is a ratio measured in one run: every query is timed in turn with the floor, round after
//! round, and its median is given as a share of the floor's. Each answer is asserted.

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
