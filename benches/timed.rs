//! The library for timing by other programs: `tagq-timed STORE`. Each line on standard input is a query over
//! a store that is mapped and in memory. Each line on standard output contains the time in seconds and the
//! counts. So other programs can time it in turn with their own code. `tagq-timed make ROWS` creates the run
//! of the benches if it does not exist, and prints its path. A line of input contains the rows to scan
//! (`all`, or a number from the first on) and one of
//!
//! ```text
//! pairs WINDOW A,B[,C] [CH=DELAY]    once WINDOW A,B[,C]    every WINDOW    folds WINDOW SIZE
//! windows WINDOW,…    (every pair, in one pass)
//! linear LO HI WIDTH    centred REACH WIDTH    log LO HI PER_DECADE    (starts 1, stops 2)
//! rates WIDTH
//! ```
//!
//! with all times in ticks.

use std::{
    env,
    error::Error,
    io::{self, BufRead as _, Write as _},
    time::Instant,
};

use tagq::{
    query::{
        Bins, Coincidences, Delay, Execution, Groups, Histogram, Kind as _, Ledger, Mode, Rates,
        Recording, Rule, Scan, Scope, TimeDivision, WindowPlan,
    },
    store::{Access, Store},
};

type Failure = Box<dyn Error>;
type Query = Box<dyn Fn(&Recording<'_>) -> Result<Vec<u64>, tagq::query::Error>>;

fn main() -> Result<(), Failure> {
    let args: Vec<String> = env::args().skip(1).collect();
    let folder = match &args[..] {
        [make, rows] if make == "make" => {
            println!("{}", tagq_benches::made_run(rows.parse()?)?.folder.display());
            return Ok(());
        }
        [folder] => folder,
        _ => return Err("usage: tagq-timed STORE | make ROWS".into()),
    };
    let store = Store::open(folder.as_ref(), Access::Mapped)?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let (rows, words) = words.split_first().ok_or("an empty line")?;
        let query = query(words).map_err(|error| format!("`{line}`: {error}"))?;
        let part = match *rows {
            "all" => None,
            rows => Some(Recording::from_tags(store.tags().rows(0..rows.parse()?))),
        };
        let start = Instant::now();
        // A new recording each time, because a recording caches the index.
        let counts = query(&part.unwrap_or_else(|| Recording::of(&store)))?;
        let seconds = start.elapsed().as_secs_f64();
        let counts: Vec<String> = counts.iter().map(u64::to_string).collect();
        let mut out = io::stdout().lock();
        writeln!(out, "{seconds:.9} {}", counts.join(" "))?;
        out.flush()?;
    }
    Ok(())
}

fn query(words: &[&str]) -> Result<Query, Failure> {
    let number = |at: usize| -> Result<i64, Failure> {
        Ok(words.get(at).ok_or("a number is missing")?.parse()?)
    };
    Ok(match words.first().copied().unwrap_or_default() {
        "pairs" => coincidences(Rule::All, group(words)?, number(1)?, delay(words)?),
        "once" => coincidences(Rule::Once, group(words)?, number(1)?, delay(words)?),
        "every" => coincidences(Rule::All, Groups::EveryPair, number(1)?, Vec::new()),
        "windows" => {
            let windows = words.get(1).ok_or("no windows")?.split(',').map(str::parse);
            windows_of(windows.collect::<Result<_, _>>()?)
        }
        "folds" => {
            let groups = Groups::EveryFold(number(2)?.try_into()?);
            coincidences(Rule::All, groups, number(1)?, Vec::new())
        }
        "linear" => histogram(Bins::linear(number(1)?, number(2)?, number(3)?)?),
        "centred" => histogram(Bins::centred(number(1)?, number(2)?)?),
        "log" => histogram(Bins::logarithmic(number(1)?, number(2)?, number(3)?.try_into()?)?),
        "rates" => {
            let query =
                Rates { scope: Scope::default(), trace: Some(TimeDivision::Width(number(1)?)) };
            Box::new(move |run| {
                let rated = query.run(run, &Execution::best())?;
                Ok(rated.trace.map(|trace| trace.counts).unwrap_or_default())
            })
        }
        other => return Err(format!("no query is called `{other}`").into()),
    })
}

fn group(words: &[&str]) -> Result<Groups, Failure> {
    let channels = words.get(2).ok_or("no group")?.split(',').map(str::parse);
    Ok(Groups::Listed(vec![channels.collect::<Result<_, _>>()?]))
}

fn delay(words: &[&str]) -> Result<Vec<Delay>, Failure> {
    let delays = words.iter().skip(3).map(|word| {
        let (channel, ticks) = word.split_once('=').ok_or("no CH=DELAY")?;
        Ok(Delay { channel: channel.parse()?, ticks: ticks.parse()? })
    });
    delays.collect()
}

/// Counts every pair in each of the windows, as `tagq scan` does.
fn windows_of(windows: Vec<i64>) -> Query {
    let (groups, rule) = (Groups::EveryPair, Rule::All);
    let query = Coincidences { groups, rule, window: 0, veto: None, scope: Scope::default() };
    let queries: Vec<Coincidences> =
        windows.into_iter().map(|window| Coincidences { window, ..query.clone() }).collect();
    Box::new(move |run| {
        let plan = WindowPlan::new(run.facts());
        for query in &queries {
            query.ask(&Ledger::of(&plan))?;
        }
        let scan = Scan::new(run, &Execution::best());
        let windows = plan.count(&Ledger::of(&scan))?;
        let mut counts = Vec::new();
        for query in &queries {
            let counted = query.ask(&Ledger::of(&windows.over(&scan)))?;
            counts.extend(counted.rows.iter().map(|row| row.count));
        }
        Ok(counts)
    })
}

fn coincidences(rule: Rule, groups: Groups, window: i64, delays: Vec<Delay>) -> Query {
    let scope = Scope { delays, ..Scope::default() };
    let query = Coincidences { groups, rule, window, veto: None, scope };
    Box::new(move |run| {
        let counted = query.run(run, &Execution::best())?;
        Ok(counted.rows.iter().map(|row| row.count).collect())
    })
}

fn histogram(bins: Bins) -> Query {
    let (mode, scope) = (Mode::All, Scope::default());
    let query = Histogram { start: 1, stop: 2, bins, mode, fold: None, scope };
    Box::new(move |run| Ok(query.run(run, &Execution::best())?.counts))
}
