//! Tables for a person: aligned, with thousands separators and suitable units.

use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets};
use tagq::{Answer, escaped};

use super::{look::Look, room::write_fitting, text::names_of};

/// Writes the tables of all answers, row by row.
pub(super) fn write(answers: &[Answer], look: Look, out: &mut dyn Write) -> io::Result<()> {
    for (at, answer) in answers.iter().enumerate() {
        if at > 0 {
            out.write_all(b"\n")?;
        }
        write_one(answer, answers.len() > 1, look, out)?;
    }
    Ok(())
}

/// Returns the table of one answer, below its header.
pub(super) fn one(answer: &Answer, is_one_of_several: bool, look: Look) -> String {
    let mut text = Vec::new();
    // Writing to memory cannot fail.
    let _ = write_one(answer, is_one_of_several, look, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

fn write_one(
    answer: &Answer,
    is_one_of_several: bool,
    look: Look,
    out: &mut dyn Write,
) -> io::Result<()> {
    out.write_all(head(answer, is_one_of_several, look).as_bytes())?;
    let names = names_of(&answer.run);
    if let Some(singles) = &answer.singles {
        write_fitting(singles, &names, look, out)?;
        out.write_all(b"\n")?;
    }
    write_fitting(&answer.rows, &names, look, out)
}

/// Returns the header of an answer, after the path of its run if there are several answers.
pub(super) fn head(answer: &Answer, is_one_of_several: bool, look: Look) -> String {
    let path =
        if is_one_of_several { format!("{}\n", escaped(&answer.run.path)) } else { String::new() };
    format!("{path}{}\n", look.header(&escaped(&answer.header)))
}

/// Returns a table without lines. All columns but the first `left` are aligned right.
pub(super) fn plain(head: &[&str], left: usize) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(head.iter().copied());
    for (i, column) in table.column_iter_mut().enumerate() {
        let is_left = i < left || head[i].is_empty();
        column.set_cell_alignment(if is_left { CellAlignment::Left } else { CellAlignment::Right });
        column.set_padding((if i == 0 { 0 } else { 2 }, 0));
    }
    table
}
