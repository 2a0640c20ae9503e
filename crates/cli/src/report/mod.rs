//! Answers on stdout or in a file: as a table, JSON, CSV or Arrow. Everything else goes to stderr.

mod plot;
mod print;
mod style;

pub(crate) use plot::{check_plot, draw, print_plot, shown};
pub(crate) use print::{
    Output, check, check_explained, print, print_explained, print_formats, print_info, print_list,
    print_runs, print_search,
};
