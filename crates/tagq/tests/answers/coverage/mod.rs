//! Quoted errors cover the truth: over repeated simulations the mean squared pull is one.
//!
//! `cargo xtask coverage` runs all cases and writes docs/coverage.md; the ordinary tests run a few.

mod cases;
#[path = "../../../../fit/tests/fits/cases.rs"]
mod fits;
mod lifetimes;
mod light;
#[path = "../../../../fit/tests/fits/pixels.rs"]
mod pixels;
#[path = "../../../../fit/tests/fits/simulated.rs"]
mod simulated;

use std::{collections::BTreeMap, env, fmt::Write as _, fs, ops::RangeInclusive, thread};

use tagq::{
    Answer, Fit, OpenOptions, Run, Silent, open,
    requests::{Errors, QueryContext, Request, Setup},
    store::{Creation, Recording, SourceFacts, Writer},
};

use cases::{Ask, Case, Covers, Value};

/// χ²/n of an error with correct coverage.
const COVERED: RangeInclusive<f64> = 0.8..=1.25;
/// The methods of errors, in the order of [`Row::pulls`].
const METHODS: [&str; 2] = ["formula", "blocks"];
/// Below this part of answers, those that there are are chosen by chance.
const ANSWERED: f64 = 0.9;
const CHOSEN: &str = "most or all answers have no g2(0), and chance decides which ones have it";
/// Number of blocks of time.
const BLOCKS: u32 = 50;

thread_local! {
    /// Counts the runs of one thread.
    static POOL: rayon::ThreadPool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
}

/// Values of a quantity with their errors, one for each repetition.
type Measured = Vec<(f64, f64)>;

/// Result for one quantity.
struct Row {
    case: &'static str,
    asked: String,
    quantity: &'static str,
    /// χ²/n by formula and from blocks, or `None` without such an error.
    pulls: [Option<f64>; 2],
    covers: Covers,
    /// Deviation of the mean from the truth, in errors of the mean.
    bias: Option<f64>,
}

/// Returns runs with the tags of the case.
fn run(case: &Case, seed: u64) -> Vec<Run> {
    let of = |(light, n): (&light::Light, u64)| {
        let (times, channels) = light.tags(seed * 16 + n);
        let folder = tempfile::tempdir().unwrap();
        let tick = "1ns".parse().unwrap();
        let creation = Creation { tick, tick_assumed: false, run_id: None };
        let mut writer = Writer::open(&folder.path().join("run"), &creation).unwrap();
        writer.begin_source();
        writer.append(&times, &channels).unwrap();
        let recording = Recording { dead: light.dead_spans(), ..Recording::default() };
        let facts = SourceFacts { recording: Some(recording), ..SourceFacts::named("simulated") };
        writer.finish_source(facts);
        writer.commit().unwrap();
        drop(writer);
        // Mapped data stays valid after the folder is removed.
        let options = OpenOptions { ingest: false, ..OpenOptions::default() };
        open(&folder.path().join("run"), &options, &Silent).unwrap()
    };
    case.lights.iter().zip(0..).map(of).collect()
}

fn answer(runs: &[Run], question: &Request) -> Answer {
    let setup = Setup::default();
    POOL.with(|pool| {
        let context = QueryContext::new(&setup, pool, &Silent);
        let runs: Vec<_> = runs.iter().map(|run| (run, &context)).collect();
        question.sum(&runs).unwrap()
    })
}

/// Returns the value of a column and its error, if both are defined.
fn measured(answer: &Answer, value: &Value) -> Option<(f64, f64)> {
    // The row after those of the channels is that of their total.
    let column = |name: &str| {
        let rows = &answer.rows.get(name)?.cells;
        match value.row.checked_sub(rows.len()) {
            None => rows.at(value.row).number(),
            Some(row) => answer.total.as_ref()?.get(name)?.cells.at(row).number(),
        }
    };
    let name = value.quantity;
    let err = match name.strip_suffix("_hz") {
        Some(stem) => format!("{stem}_err_hz"),
        None => format!("{name}_err"),
    };
    let found = column(name)?;
    // An interval has an error on the side of the truth.
    let side = if value.truth.is_some_and(|truth| truth < found) { "low" } else { "high" };
    let end = || Some((column(&format!("{name}_{side}"))? - found).abs());
    Some((found, column(&err).or_else(end)?))
}

/// Returns the result of each repetition.
fn each_of<T: Send>(repetitions: u64, repetition: &(impl Fn(u64) -> T + Sync)) -> Vec<T> {
    // Threads of a pool that wait for a query would begin one repetition in another.
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let of_thread =
        |thread: usize| (thread as u64..repetitions).step_by(threads).map(repetition).collect();
    thread::scope(|scope| {
        let spawned: Vec<_> =
            (0..threads).map(|thread| scope.spawn(move || of_thread(thread))).collect();
        spawned.into_iter().flat_map(|of| -> Vec<T> { of.join().unwrap() }).collect()
    })
}

/// Simulates a case `repetitions` times.
fn simulated(case: &Case, repetitions: u64) -> Vec<Row> {
    let repetition = |n: u64| {
        let runs = run(case, n + 1);
        let each = |ask: &Ask| {
            [Errors::Formula, Errors::Blocks(BLOCKS)].map(|errors| {
                let mut answer = answer(&runs, &ask.with(errors));
                if let Some(form) = ask.fit {
                    let words = [("emission", form.into()), ("between", "0.9us..200us".into())];
                    let options = words.map(|(name, value)| (name.to_owned(), value));
                    let fit = Fit::of_options("g2", options.into_iter().collect()).unwrap();
                    answer = fit.answer(&answer, &Silent).unwrap();
                }
                ask.values.iter().map(|value| measured(&answer, value)).collect::<Vec<_>>()
            })
        };
        case.asks.iter().map(each).collect::<Vec<_>>()
    };
    let all = each_of(repetitions, &repetition);
    let mut rows = Vec::new();
    for (a, ask) in case.asks.iter().enumerate() {
        for (v, value) in ask.values.iter().enumerate() {
            let of = |how: usize| -> Measured {
                all.iter().filter_map(|found| found[a][how][v]).collect()
            };
            let both = [of(0), of(1)];
            let values = both.iter().max_by_key(|of| of.len()).unwrap();
            let n = values.len() as f64;
            let mean = values.iter().map(|(value, _)| value).sum::<f64>() / n;
            let spread = values.iter().map(|(value, _)| (value - mean).powi(2)).sum::<f64>();
            let truth = value.truth.unwrap_or(mean);
            let pull = |of: &Measured| {
                // The mean of the values uses one degree of freedom.
                let free = of.len() as f64 - if value.truth.is_some() { 0.0 } else { 1.0 };
                let squares = of.iter().map(|(value, err)| ((value - truth) / err).powi(2));
                (of.len() as u64 >= repetitions / 20).then(|| squares.sum::<f64>() / free)
            };
            let answered = n / repetitions as f64;
            let is_whole = answered > 0.999;
            let asked = format!("{}, answered in {:.0} %", ask.asked, 100.0 * answered);
            rows.push(Row {
                case: case.name,
                asked: if is_whole { ask.asked.clone() } else { asked },
                quantity: value.quantity,
                pulls: [pull(&both[0]), pull(&both[1])],
                covers: if answered > ANSWERED { value.covers } else { Covers::Neither(CHOSEN) },
                bias: value.truth.map(|truth| (mean - truth) / (spread / n / n).sqrt()),
            });
        }
    }
    rows
}

/// Simulates and fits light of known truth.
fn fitted(repetitions: u64) -> Vec<Row> {
    let rows = |case: &fits::Case| -> Vec<Row> {
        let all: Vec<tagq::fit::Fitted> = each_of(repetitions, &case.fit);
        let row = |&(quantity, truth): &(&'static str, f64)| {
            let pull = |fitted| fits::Case::pull(fitted, quantity, truth);
            let pulls: Vec<f64> = all.iter().filter_map(pull).collect();
            let n = pulls.len() as f64;
            let mean = pulls.iter().sum::<f64>() / n;
            let spread = pulls.iter().map(|pull| (pull - mean).powi(2)).sum::<f64>();
            let answered = n / all.len() as f64;
            let asked = if answered > 0.98 {
                case.name.to_owned()
            } else {
                format!("{}, found in {:.0} %", case.name, 100.0 * answered)
            };
            let covers = match case.judged {
                fits::Judged::Covers => Covers::Formula,
                fits::Judged::Found(_) | fits::Judged::AtBound => Covers::Neither(
                    "the truth is at a bound, where the interval ends; or the structure has less than five standard deviations, so \
                     that chance decides in which data it is found, and its interval is wide",
                ),
            };
            Row {
                case: "Fits",
                asked,
                quantity,
                pulls: [Some(pulls.iter().map(|pull| pull * pull).sum::<f64>() / n), None],
                covers,
                bias: Some(mean / (spread / n / n).sqrt()),
            }
        };
        case.truths.iter().map(row).collect()
    };
    fits::cases().iter().flat_map(rows).collect()
}

/// Returns the values whose errors should cover but whose χ²/n is not in `range`, with the method and χ²/n.
fn outside<'a>(
    rows: &'a [Row],
    range: &RangeInclusive<f64>,
) -> Vec<(&'a Row, &'static str, Option<f64>)> {
    let mut found = Vec::new();
    for row in rows {
        for (how, pull) in METHODS.into_iter().zip(row.pulls) {
            if row.covers.claims(how) && !pull.is_some_and(|pull| range.contains(&pull)) {
                found.push((row, how, pull));
            }
        }
    }
    found
}

/// Returns how the page begins the line of an error that should cover and does not.
fn listed(Row { case, asked, quantity, .. }: &Row, how: &str) -> String {
    format!("| {case} | {asked} | `{quantity}` | {how} |")
}

/// Returns the values whose errors should cover but do not, apart from those that `page` lists. With few repetitions χ²/n itself has an error of
/// √(2/n); two of these errors are allowed on each side.
fn missed(rows: &[Row], repetitions: u64, page: &str) -> Vec<String> {
    let chance = if repetitions < 400 { 2.0 * (2.0 / repetitions as f64).sqrt() } else { 0.0 };
    let covered = COVERED.start() - chance..=COVERED.end() + chance;
    let mut missed = Vec::new();
    for (row, how, pull) in outside(rows, &covered) {
        if !page.contains(&listed(row, how)) {
            missed.push(format!("{} {pull:.2?}", listed(row, how)));
        }
    }
    missed
}

/// The part of the page about errors that are not claimed to cover.
const NOT_CLAIMED: &str = "\
## Errors that are not claimed to cover

These errors are in parentheses in the tables. [Errors](estimates.md#errors) has all formulas and their
[limits](estimates.md#limits-of-the-errors).

| value | method that does not cover | what tagq does, or you can do |
|---|---|---|
| values of light that fluctuates, such as thermal light | formula: far too small | use `--errors blocks` |
| groups of three at rate × window of about 0.1 | formula | use `--errors blocks` |
| accidentals and CAR by shifts with rule `once` | formula | use `--errors blocks` |
| bins of g2 longer than a fifth of the run | formula: too large | use `--errors blocks` |
| g2 of pulsed light | formula | tagq uses 50 blocks by default |
| g3 | blocks | tagq has errors by formula only |
| means of about 0.4 counts | both | a count of 0 has the error of one count, and a ratio of 0 has an upper limit |
| g2(0) of pulses that the counts do not determine | – | tagq reports no value, and a note has the reason |
| fits with the truth at a bound | formula | tagq reports an interval in place of an error |
| fits of a structure below 5 `sigmas` | formula | tagq reports an interval; below 3 `sigmas` it reports the model without the structure, and an upper limit |
| level of a fit to g2 of thermal light | blocks | take a longer recording, which has more fluctuations |
| lifetimes of pixels with fewer than 100 photons by `exp` and `phasor`, in an image of several lifetimes | formula | use `mean`, as `auto` does, or `--bin-pixels` |
";

/// Returns the page before its tables.
fn summary(rows: &[Row], repetitions: u64) -> String {
    let claims = |row: &Row| METHODS.into_iter().filter(|how| row.covers.claims(how)).count();
    let claimed: usize = rows.iter().map(claims).sum();
    let wrong = outside(rows, &COVERED);
    let mut text = format!(
        "# Do quoted errors cover?\n\n\
         Yes, if the method fits the light: `--errors formula`, the default, for steady light, and `--errors blocks` for any\n\
         light. Of {claimed} errors that should cover, {} do. The measure is the mean squared pull, the mean of\n\
         ((value − truth)/error)² over {repetitions} simulations of each case, with fixed seeds. It is 1 if the error is right. An\n\
         error covers from {} (it is {:.0} % too large) to {} ({:.0} % too small).\n",
        claimed - wrong.len(),
        COVERED.start(),
        100.0 * (1.0 / COVERED.start().sqrt() - 1.0),
        COVERED.end(),
        100.0 * (1.0 - 1.0 / COVERED.end().sqrt()),
    );
    if !wrong.is_empty() {
        text += "\nThese errors should cover and do not; tagq quotes them as they are:\n\n\
                 | light | query | quantity | method | mean squared pull |\n|---|---|---|---|---|\n";
    }
    for (row, how, pull) in wrong {
        let pull = pull.map_or("–".to_owned(), |pull| format!("{pull:.2}"));
        let _ = writeln!(text, "{} {pull} |", listed(row, how));
    }
    let _ = write!(
        text,
        "\n{NOT_CLAIMED}\n\
         ## How to read a row\n\n\
         - `query` and `quantity` name the value. Rows with equal names are several rows of one answer: channels, bins or\n  \
           peaks, in the order that the query names.\n\
         - `formula` and `{BLOCKS} blocks` are the mean squared pulls of the two methods. Bold: the error should cover and does\n  \
           not. Parentheses: it is not claimed to cover; use the other method, or see the reason below the table. A dash:\n  \
           there is no such error.\n\
         - `bias` is the mean of all values minus the truth, in standard errors of the mean. One of these is {:.0} % of the\n  \
           error of one value. A dash: the truth is not known, and the mean of all values takes its place in the pulls.\n\
         - Rate × full width is the mean number of tags in a window. η is an efficiency, P the period of pulses. “10 % laser”\n  \
           is the share of laser light. “Answered in 98 %” and “found in 42 %” are the share of simulations with a value.\n\n\
         `cargo xtask coverage` makes this page. It fails if an error is in bold that the list above did not have before.\n",
        100.0 / (repetitions as f64).sqrt(),
    );
    text
}

fn page(rows: &[Row], repetitions: u64) -> String {
    let mut text = summary(rows, repetitions);
    text += "\n## Results\n";
    let mut cases: BTreeMap<usize, &str> = BTreeMap::new();
    for (at, row) in rows.iter().enumerate() {
        if at == 0 || rows[at - 1].case != row.case {
            cases.insert(at, row.case);
        }
    }
    for (at, row) in rows.iter().enumerate() {
        if let Some(case) = cases.get(&at) {
            let _ = write!(
                text,
                "\n### {case}\n\n| query | quantity | formula | {BLOCKS} blocks | bias |\n|---|---|---|---|---|\n"
            );
        }
        let shown = |pull: Option<f64>, is_claimed: bool| match pull {
            None => "–".to_owned(),
            Some(pull) if is_claimed && COVERED.contains(&pull) => format!("{pull:.2}"),
            Some(pull) if is_claimed => format!("**{pull:.2}**"),
            Some(pull) => format!("({pull:.2})"),
        };
        let [formula, blocks] = row.pulls;
        let _ = writeln!(
            text,
            "| {} | `{}` | {} | {} | {} |",
            row.asked,
            row.quantity,
            shown(formula, row.covers.claims("formula")),
            shown(blocks, row.covers.claims("blocks")),
            row.bias
                .filter(|bias| bias.is_finite())
                .map_or("–".to_owned(), |bias| format!("{bias:+.1}"))
        );
        let is_last = rows.get(at + 1).is_none_or(|next| next.case != row.case);
        if let Covers::Neither(why) = row.covers
            && is_last
        {
            let _ = write!(text, "\nIn parentheses: {why}.\n");
        }
    }
    text
}

#[test]
fn quoted_errors_cover_the_truth() {
    let all = env::var("TAGQ_COVERAGE").ok().map(|text| text.parse().unwrap());
    let only = env::var("TAGQ_COVERAGE_CASE").unwrap_or_default();
    let repetitions: u64 = all.unwrap_or(200);
    let cases = if all.is_some() { cases::all() } else { cases::few() };
    let mut rows = Vec::new();
    for case in cases.iter().filter(|case| case.name.contains(&only)) {
        rows.extend(simulated(case, repetitions));
    }
    // The tests of fits run their cases themselves.
    if "fits".contains(&only) && (all.is_some() || !only.is_empty()) {
        rows.extend(fitted(repetitions));
    }
    if "pixels".contains(&only) && (all.is_some() || !only.is_empty()) {
        rows.extend(lifetimes::judged(repetitions));
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/coverage.md");
    let before = fs::read_to_string(path).unwrap();
    if all.is_some() && only.is_empty() {
        fs::write(path, page(&rows, repetitions)).unwrap();
    } else {
        println!("{}", page(&rows, repetitions));
    }
    let missed = missed(&rows, repetitions, &before);
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
