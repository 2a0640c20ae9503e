//! Answers on stdout or in a file: as a table, JSON, CSV or Arrow. Everything else goes to stderr.

mod csv;
mod delays;
mod explained;
mod formats;
mod info;
mod json;
mod list;
mod look;
mod plot;
mod print;
mod quantities;
mod room;
mod runs;
mod table;
mod text;

pub(crate) use info::{Looked, left_over};
pub(crate) use plot::{check_plot, print_plot, shown};
pub(crate) use print::{
    Output, check, check_explained, print, print_delays, print_explained, print_formats,
    print_info, print_list, print_runs, update,
};
pub(crate) use quantities::{counted, hertz, thousands};
