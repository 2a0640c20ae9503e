//! Figures of answers, in the terminal or in files.
//!
//! If the answer goes to a file or has a format, a figure for the terminal is drawn on stderr, after the answer.
//! Figures of several runs share one scale of values unless the command states one, so that they can be compared.

use std::io::{self, Write as _};

use anyhow::Context as _;
use console::Term;
use tagq::{Answer, Destination, NewFile, Progress as _};
use tagq_export::report::table::{self, quantities::counted};
use tagq_plot::{Figure, Look, Picture, Room, share_scale, text};

use super::{
    print::{Output, print, put},
    style::style_of_stdout,
};
use crate::{
    Usage,
    args::{PlotArgs, PlotTo},
    progress::Reporter,
};

/// Checks that this number of answers can be drawn. Runs before the query, which may take long.
pub(crate) fn check_plot(plot: &PlotTo, output: Output<'_>, answers: usize) -> anyhow::Result<()> {
    let PlotTo::File(out, _) = plot else { return Ok(()) };
    if answers > 1 {
        let out = out.display();
        return Err(Usage(format!(
            "{out}: a figure is of one answer, and {answers} runs have one each; add them up with \
             --sum, draw them one by one, or all in the terminal with --plot"
        ))
        .into());
    }
    if output.args.output.as_ref() == Some(out) {
        let out = out.display();
        return Err(Usage(format!("{out}: both the answer and its figure; name two files")).into());
    }
    Ok(output.to(out).check()?)
}

/// Draws answers. A figure in the terminal replaces the table. If another format is also requested, the
/// figure goes to stderr. With a figure in a file, the table is printed only if it fits the screen.
pub(crate) fn print_plot(
    answers: &[Answer],
    (to, plot): (&PlotTo, &PlotArgs),
    output: Output<'_>,
    reporter: &Reporter,
) -> anyhow::Result<()> {
    let has_form = output.args.format().is_some() || output.args.output.is_some();
    match to {
        PlotTo::File(out, picture) => {
            write(answers, &output.to(out), (*picture, &plot.look()), reporter)?;
            let term = Term::stdout();
            let rows: usize = answers.iter().map(|answer| answer.rows.len()).sum();
            if has_form || !term.is_term() || rows <= size(&term).0 {
                return print(answers, output, reporter);
            }
            put(heads(answers).as_bytes(), output, reporter)
        }
        PlotTo::Terminal if has_form => {
            print(answers, output, reporter)?;
            let term = Term::stderr();
            let is_coloured = is_coloured(&term, &io::stderr());
            let drawn = drawn(answers, plot, &term, is_coloured)?;
            // The answer is already printed, so that a terminal that cannot be written to is not an error.
            let _ = io::stderr().lock().write_all(drawn.as_bytes());
            Ok(())
        }
        PlotTo::Terminal => {
            let term = Term::stdout();
            let is_coloured = is_coloured(&term, &io::stdout());
            put(drawn(answers, plot, &term, is_coloured)?.as_bytes(), output, reporter)
        }
    }
}

/// Draws answers after others were printed.
pub(crate) fn draw(
    answers: &[Answer],
    (to, plot): (&PlotTo, &PlotArgs),
    output: Output<'_>,
    reporter: &Reporter,
) -> anyhow::Result<()> {
    match to {
        PlotTo::File(out, picture) => {
            write(answers, &output.to(out), (*picture, &plot.look()), reporter)
        }
        PlotTo::Terminal => {
            let term = Term::stdout();
            let is_coloured = is_coloured(&term, &io::stdout());
            put(drawn(answers, plot, &term, is_coloured)?.as_bytes(), output, reporter)
        }
    }
}

/// Returns the headers of the answers with their numbers of rows.
fn heads(answers: &[Answer]) -> String {
    let style = style_of_stdout();
    let head = |answer: &Answer| {
        let rows = counted(answer.rows.len() as u64, "row");
        let head = table::head(answer, answers.len() > 1, style);
        format!("{head}{rows}, as in the figure; --format table prints them\n")
    };
    answers.iter().map(head).collect()
}

fn write(
    answers: &[Answer],
    to: &Destination<'_>,
    (picture, look): (Picture, &Look),
    reporter: &Reporter,
) -> anyhow::Result<()> {
    let out = to.path;
    for answer in answers {
        let bytes = picture.draw(&Figure::of_look(answer, look)?, answer)?;
        let fresh = NewFile::create(to, reporter)?;
        let mut file = fresh.file()?;
        file.write_all(&bytes).with_context(|| format!("{}: cannot be written", out.display()))?;
        fresh.keep(&file)?;
        reporter.note(&format!("{}: a figure of {}", out.display(), answer.run.path));
    }
    Ok(())
}

/// Returns all answers, one below the other, with one scale of their values.
fn drawn(
    answers: &[Answer],
    plot: &PlotArgs,
    term: &Term,
    is_coloured: bool,
) -> anyhow::Result<String> {
    let look = plot.look();
    let figures = answers.iter().map(|answer| Figure::of_look(answer, &look));
    let mut figures = figures.collect::<Result<Vec<_>, _>>()?;
    if look.limits.is_none() {
        share_scale(&mut figures);
    }
    let (height, columns) = size(term);
    let mut drawn = String::new();
    for (i, (answer, figure)) in answers.iter().zip(&figures).enumerate() {
        if i > 0 {
            drawn.push('\n');
        }
        let head = table::head(answer, answers.len() > 1, style_of_stdout());
        let of_head: usize = head.lines().map(|line| 1 + line.chars().count() / columns).sum();
        // One line for the title and one for the prompt after the figure.
        let lines = height.saturating_sub(of_head + 2).clamp(12, 30);
        let room = Room { columns, lines, is_coloured };
        drawn.push_str(&head);
        drawn.push_str(&titled(figure, plot.room(room)));
    }
    Ok(drawn)
}

/// Returns the title and the drawing.
fn titled(figure: &Figure, room: Room) -> String {
    let mut title: String = figure.title.chars().take(room.columns).collect();
    if !title.is_empty() {
        title.push('\n');
    }
    title + &text(figure, room)
}

/// Returns the answers of one update, above this many other lines. Figures share the rest of the screen equally.
pub(crate) fn shown(answers: &[Answer], plots: &[Option<&PlotArgs>], below: usize) -> String {
    let is_one_of_several = answers.len() > 1;
    let each = || answers.iter().zip(plots.iter().copied());
    let style = style_of_stdout();
    let above = |(answer, plot): (&Answer, Option<&PlotArgs>)| {
        let text = if plot.is_some() { table::head } else { table::one };
        text(answer, is_one_of_several, style)
    };
    let texts: Vec<String> = each().map(above).collect();
    // Plus one empty line after each text.
    let of_texts: usize = texts.iter().map(|text| text.lines().count() + 1).sum();
    let figures = plots.iter().flatten().count();
    let term = Term::stdout();
    let (height, columns) = size(&term);
    let is_coloured = is_coloured(&term, &io::stdout());
    // One line holds the cursor.
    let lines = height.saturating_sub(of_texts + figures + below + 1) / figures.max(1);
    let room = Room { columns, lines: lines.clamp(8, 30), is_coloured };
    let drawn = each().zip(texts).map(|((answer, plot), text)| match plot {
        Some(plot) => match Figure::of_look(answer, &plot.look()) {
            Ok(figure) => text + &titled(&figure, plot.room(room)),
            // Later data may have what is missing now.
            Err(error) => format!("{text}{error}\n"),
        },
        None => text,
    });
    drawn.collect::<Vec<_>>().join("\n")
}

/// Returns the lines and columns of the terminal; 24 and 80 without one.
fn size(term: &Term) -> (usize, usize) {
    let size = if term.is_term() { term.size_checked() } else { None };
    let (height, width) = size.unwrap_or((24, 80));
    (height.into(), width.into())
}

/// Returns whether to use colour: only on a terminal, and not if the user disabled it.
fn is_coloured(term: &Term, stream: &impl anstream::stream::RawStream) -> bool {
    term.is_term() && anstream::AutoStream::choice(stream) != anstream::ColorChoice::Never
}
