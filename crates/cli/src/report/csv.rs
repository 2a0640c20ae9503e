//! CSV: a comment line with what was asked, a line of names, a line a row.

use std::fmt::Write as _;

use super::{Answer, PairRow, RunUsed, header};

pub(super) fn answers(answers: &[Answer]) -> String {
    let mut text = String::new();
    for answer in answers {
        let _ = writeln!(text, "# {}: {}", answer.run.path.replace('\n', " "), header(answer));
    }
    let run = if answers.len() > 1 { "run," } else { "" };
    let _ = writeln!(
        text,
        "{run}channel_a,channel_b,count,count_err,rate_hz,rate_err_hz,singles_a,singles_b,\
         accidentals,accidentals_err,car,car_err,heralding_a,heralding_b,heralding_err_a,\
         heralding_err_b"
    );
    for answer in answers {
        for row in &answer.rows {
            if answers.len() > 1 {
                let _ = write!(text, "{},", quoted(&answer.run.path));
            }
            line(&mut text, row);
        }
    }
    text
}

fn line(text: &mut String, row: &PairRow) {
    let [a, b] = row.channels;
    let _ = write!(text, "{a},{b},{},{}", row.count, row.count_err);
    let optional = |text: &mut String, value: Option<f64>| {
        let _ = match value {
            Some(value) => write!(text, ",{value}"),
            None => write!(text, ","),
        };
    };
    optional(text, row.rate_hz);
    optional(text, row.rate_err_hz);
    let [of_a, of_b] = row.singles;
    let _ = write!(text, ",{of_a},{of_b}");
    let ratios = [row.accidentals, row.accidentals_err, row.car, row.car_err];
    for value in ratios.into_iter().chain(row.heralding).chain(row.heralding_err) {
        optional(text, value);
    }
    text.push('\n');
}

pub(super) fn info(used: &[RunUsed]) -> String {
    let mut text = String::from("run,channel,count,rate_hz\n");
    for run in used {
        for of in &run.channels {
            let rate = if run.live_s > 0.0 {
                (of.count as f64 / run.live_s).to_string()
            } else {
                String::new()
            };
            let _ = writeln!(text, "{},{},{},{rate}", quoted(&run.path), of.channel, of.count);
        }
    }
    text
}

/// A field with whatever it holds.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}
