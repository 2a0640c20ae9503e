//! Lists in every format, written batch by batch while they are found.
//!
//! Runs with groups of two and of three channels have three channel fields; the third is empty for the first run.
//! Memory holds one batch, however long the list is.

use std::io::{self, Write};

use tagq::{AskError, Provenance, SCHEMA_VERSION, Table, escaped, requests::Listing};

use super::{
    csv::{about, comment, fields_of, names_of, quoted},
    json::{RowOfSeveral, RunOfSeveral, text_of},
    table::{TableStyle, quantities::thousands, text},
};

/// Writes one line per coincidence.
pub fn csv(listings: &[Listing<'_>], out: &mut (impl Write + Send)) -> Result<(), AskError> {
    let heads = || listings.iter().map(Listing::head);
    let is_several = listings.len() > 1;
    for head in heads() {
        writeln!(out, "{}", comment(head)).map_err(AskError::Output)?;
    }
    // Runs may have different channels: there is one field for each channel of any run, empty if the run
    // lacks it.
    let mut names: Vec<String> = Vec::new();
    let mut width = 0;
    for column in heads().flat_map(|head| head.rows.columns()) {
        if column.key == "channels" {
            let groups = listings.iter().map(Listing::widest_group).max();
            width = groups.unwrap_or(0);
        }
        for name in names_of(column, width) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let mut abouts: Vec<String> = Vec::new();
    for line in heads().flat_map(|head| head.rows.columns()).map(about) {
        if !abouts.contains(&line) {
            abouts.push(line);
        }
    }
    out.write_all(abouts.concat().as_bytes()).map_err(AskError::Output)?;
    let run = if is_several { "run," } else { "" };
    writeln!(out, "{run}{}", names.join(",")).map_err(AskError::Output)?;
    for listing in listings {
        let own: Vec<String> = listing
            .head()
            .rows
            .columns()
            .iter()
            .flat_map(|column| names_of(column, width))
            .collect();
        let places: Vec<Option<usize>> =
            names.iter().map(|name| own.iter().position(|own| own == name)).collect();
        let run = if is_several { quoted(&listing.head().run.path) + "," } else { String::new() };
        listing.stream(&mut |columns: Table| {
            for at in 0..columns.len() {
                let fields: Vec<String> = columns
                    .columns()
                    .iter()
                    .flat_map(|column| fields_of(column, at, width))
                    .collect();
                out.write_all(run.as_bytes())?;
                for (i, place) in places.iter().enumerate() {
                    let comma = if i > 0 { "," } else { "" };
                    write!(out, "{comma}{}", place.map_or("", |place| fields[place].as_str()))?;
                }
                out.write_all(b"\n")?;
            }
            out.flush()
        })?;
    }
    Ok(())
}

/// Writes one object with one line per coincidence.
pub fn json(listings: &[Listing<'_>], out: &mut (impl Write + Send)) -> Result<(), AskError> {
    json_with(listings, None, out)
}

/// Works like [`json`], and writes the notes after the rows.
pub fn json_with(
    listings: &[Listing<'_>],
    notes: Option<&[String]>,
    out: &mut (impl Write + Send),
) -> Result<(), AskError> {
    let Some(first) = listings.first().map(Listing::head) else { return Ok(()) };
    let is_several = listings.len() > 1;
    let query = text_of(&first.query)?;
    let (key, run) = if is_several {
        let heads = listings.iter().map(Listing::head);
        let runs: Vec<RunOfSeveral<'_>> =
            heads.map(|head| RunOfSeveral { run: &head.run, query: &head.query }).collect();
        ("runs", text_of(&runs)?)
    } else {
        ("run", text_of(&first.run)?)
    };
    let provenance = listings.iter().map(|listing| &listing.head().provenance);
    let provenance = text_of(&Provenance::of_all(provenance))?;
    let head = format!(
        "{{\n  \"schema_version\": {SCHEMA_VERSION},\n  \"query\": {query},\n  \"{key}\": {run},\n  \
         \"provenance\": {provenance},\n  \"rows\": ["
    );
    out.write_all(head.as_bytes()).map_err(AskError::Output)?;
    let mut separator = "\n";
    for listing in listings {
        let run = &listing.head().run.path;
        listing.stream(&mut |columns: Table| {
            for row in columns.rows() {
                write!(out, "{separator}    ")?;
                separator = ",\n";
                let text =
                    if is_several { text_of(&RowOfSeveral { run, row })? } else { text_of(&row)? };
                out.write_all(text.as_bytes())?;
            }
            out.flush()
        })?;
    }
    let notes = notes.map_or(Ok(String::new()), |notes| {
        text_of(&notes).map(|notes| format!(",\n  \"notes\": {notes}"))
    });
    out.write_all(format!("\n  ]{}\n}}\n", notes?).as_bytes()).map_err(AskError::Output)
}

/// Writes aligned columns; a column grows when a value does not fit. On a terminal the first rows stand for all.
pub fn table(
    listings: &[Listing<'_>],
    style: TableStyle,
    out: &mut (impl Write + Send),
) -> Result<(), AskError> {
    for (i, listing) in listings.iter().enumerate() {
        let head = listing.head();
        let mut text = String::new();
        if i > 0 {
            text.push('\n');
        }
        if listings.len() > 1 {
            text = format!("{text}{}\n", escaped(&head.run.path));
        }
        out.write_all(format!("{text}{}\n", style.header(&escaped(&head.header))).as_bytes())
            .map_err(AskError::Output)?;
        let (most, mut rows) = (style.rows.unwrap_or(usize::MAX), 0_usize);
        let mut widths: Vec<usize> = Vec::new();
        let names = text::names_of(&head.run);
        listing.stream(&mut |columns: Table| {
            let fields = |at: usize| -> Vec<String> {
                let columns = columns.columns().iter();
                columns.map(|column| text::field(column, None, at, &names)).collect()
            };
            let is_first = widths.is_empty();
            if is_first {
                widths = columns.columns().iter().map(|column| column.key.len()).collect();
            }
            let shown = columns.len().min(most.saturating_sub(rows));
            rows += columns.len();
            for at in 0..shown {
                for (width, field) in widths.iter_mut().zip(fields(at)) {
                    *width = field.chars().count().max(*width);
                }
            }
            if is_first {
                let names = columns.columns().iter().map(|column| column.key.to_string());
                line(out, &widths, names)?;
            }
            for at in 0..shown {
                line(out, &widths, fields(at).into_iter())?;
            }
            out.flush()
        })?;
        if widths.is_empty() {
            writeln!(out, "no tuples").map_err(AskError::Output)?;
        }
        if rows > most {
            let more = thousands((rows - most) as u64);
            writeln!(out, "\u{2026} {more} more (--all)").map_err(AskError::Output)?;
        }
    }
    Ok(())
}

fn line(
    out: &mut impl Write,
    widths: &[usize],
    fields: impl Iterator<Item = String>,
) -> io::Result<()> {
    for (i, (width, field)) in widths.iter().zip(fields).enumerate() {
        let gap = if i > 0 { "  " } else { "" };
        write!(out, "{gap}{field:>width$}")?;
    }
    out.write_all(b"\n")
}
