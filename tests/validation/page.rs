//! The table in docs/validation.md.

use std::fmt::Write as _;

use super::{
    compare::{Compared, Comparison, Shown, Verdict, grouped},
    list::{List, Question, Recorded},
};

const BEGIN: &str = "<!-- begin: `cargo xtask validate` writes this -->\n";
const END: &str = "<!-- end -->\n";

/// Returns the page with these tables between its markers.
pub(super) fn with_table(page: &str, table: &str) -> String {
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    [before, BEGIN, "\n", table, "\n", END, after].concat()
}

/// Returns the text around the tables, and the tables.
pub(super) fn parts(page: &str) -> (String, &str) {
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (tables, after) = rest.split_once(END).unwrap();
    (format!("{before}\n{after}"), tables)
}

/// Returns the sections of all questions, by group and by file.
pub(super) fn table(list: &List, compared: &Compared) -> String {
    let mut text = String::new();
    let (mut equal, mut explained) = (0, 0);
    for verdict in compared.questions.iter().flatten().flat_map(|comparison| &comparison.verdicts) {
        match verdict {
            Verdict::Equal => equal += 1,
            Verdict::Explained { .. } => explained += 1,
            Verdict::Absent | Verdict::Unexplained { .. } => {}
        }
    }
    let unexplained = compared.failures().len();
    let _ = writeln!(
        text,
        "{} questions: {} answers of other programs are equal, {} differ for a reason that tagq confirms by counting \
         in the same way, {} differ without one.",
        compared.found,
        grouped(equal),
        grouped(explained),
        unexplained,
    );
    for group in &list.groups {
        let _ = writeln!(text, "\n## {}", group.title);
        let asked = list.questions.iter().zip(&compared.questions);
        let asked: Vec<_> = asked.filter(|(question, _)| question.group == group.id).collect();
        if asked.is_empty() {
            text += "\nNo answer of another program is compared here.\n";
        }
        for file in &list.files {
            let rows: Vec<_> =
                asked.iter().filter(|(question, _)| question.file == file.name).collect();
            if !rows.is_empty() {
                text += &heading(file);
                for (question, found) in rows {
                    text += &row(list, question, found.as_ref());
                }
            }
        }
    }
    text + "\n## Programs and files\n\n" + &sources(list)
}

fn heading(file: &Recorded) -> String {
    format!(
        "\n### {}\n\n{} (SHA-256 `{}…`).\n\n| question | tagq | same by | other answers |\n|---|---|---|---|\n",
        file.name.rsplit('/').next().unwrap(),
        file.about,
        &file.sha256[..8],
    )
}

fn row(list: &List, question: &Question, found: Option<&Comparison>) -> String {
    let way = match &question.ours.command {
        Some(command) => format!("{}: `{command}`", question.asked),
        None => question.asked.clone(),
    };
    let way = way.replace('|', "\\|");
    let Some(found) = found else {
        return format!("| {way} | skipped: the recording is absent | | |\n");
    };
    let ours = Shown::of(&found.ours);
    let (mut same, mut others) = (Vec::new(), Vec::new());
    for (answer, verdict) in question.answers.iter().zip(&found.verdicts) {
        let title = list.program(&answer.by).title();
        let other = |theirs: &Shown, why: &str| {
            let by = theirs.total.zip(ours.total).map(|(theirs, ours)| difference(theirs, ours));
            let by = by.map_or_else(String::new, |by| format!(" ({by})"));
            format!("{title}: {}{by}: {why}", theirs.text)
        };
        match verdict {
            Verdict::Equal => same.push(match answer.tolerance {
                Some(tolerance) => format!("{title} (within {tolerance:e})"),
                None => title,
            }),
            Verdict::Absent => others
                .push(format!("{title}: skipped, {} is absent", answer.file.as_ref().unwrap())),
            Verdict::Explained { theirs } => {
                let way = answer.theirs.command.as_ref().map(|command| format!(" `{command}`"));
                let why = &list.reasons[answer.why.as_ref().unwrap()];
                others.push(other(theirs, &format!("{why}{}", way.unwrap_or_default())));
            }
            Verdict::Unexplained { theirs, .. } => others.push(other(theirs, "**no reason**")),
        }
    }
    format!("| {way} | {} | {} | {} |\n", ours.text, same.join(", "), others.join("; "))
}

/// Returns how far an answer is from that of tagq.
fn difference(theirs: f64, ours: f64) -> String {
    let relative = (theirs - ours) / ours;
    if relative.abs() < 1e-3 {
        return format!("{:+.1} ppm", relative * 1e6).replace('-', "−");
    }
    format!("{:+.1} %", relative * 100.0).replace('-', "−")
}

/// Returns tables of the programs and files.
fn sources(list: &List) -> String {
    let mut text = String::from("| answers by | version | |\n|---|---|---|\n");
    for program in &list.programs {
        let version = program.version.as_deref().unwrap_or("");
        let _ = writeln!(text, "| {} | {version} | {} |", program.name, program.about);
    }
    text += "\n| file | SHA-256 | |\n|---|---|---|\n";
    for file in &list.files {
        let _ = writeln!(text, "| {} | `{}` | {} |", file.name, file.sha256, file.about);
    }
    text
}
