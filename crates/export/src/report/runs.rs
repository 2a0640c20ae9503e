//! A list of runs, as a table, JSON or CSV.

use std::io::{self, Write};

use serde::Serialize;
use tagq::{ChannelFacts, FoundRun, RunFacts, RunState, SCHEMA_VERSION, escaped, store::Tick};

use super::{
    csv::quoted,
    json::pretty,
    table::{
        plain,
        quantities::{dash, hertz, short_seconds, thousands},
    },
};

#[derive(Serialize)]
struct Listed<'a> {
    schema_version: u32,
    runs: &'a [FoundRun],
}

/// Returns a table with a line for each run.
pub fn text(runs: &[FoundRun]) -> String {
    if runs.is_empty() {
        return "no runs\n".into();
    }
    let head = ["name", "ended (UTC)", "state", "channels", "tags", "duration", "rate", "tick"];
    let mut table = plain(&head, 4);
    let mut reasons = String::new();
    for run in runs {
        let facts = |of: &dyn Fn(&RunFacts) -> String| run.facts.as_ref().map_or_else(dash, of);
        let ended = run.ended.map_or_else(dash, |ended| ended.to_string().replace(['T', 'Z'], " "));
        table.add_row([
            escaped(&run.name).into_owned(),
            ended.trim_end().to_owned(),
            run.state.word().to_owned(),
            facts(&channels),
            facts(&|facts| thousands(facts.tags)),
            facts(&|facts| short_seconds(facts.elapsed_s)),
            facts(&|facts| facts.rate_hz().map_or_else(dash, hertz)),
            facts(&tick),
        ]);
        if let RunState::Unreadable(reason) = &run.state {
            reasons = format!("{reasons}{}\n", escaped(reason));
        }
    }
    if !reasons.is_empty() {
        reasons.insert(0, '\n');
    }
    format!("{}\n{reasons}", table.trim_fmt())
}

/// Returns the runs as JSON.
///
/// # Errors
/// Errors of the serializer.
pub fn json(runs: &[FoundRun]) -> serde_json::Result<String> {
    pretty(&Listed { schema_version: SCHEMA_VERSION, runs })
}

/// Writes a line for each run.
///
/// # Errors
/// Errors of `out`.
pub fn csv(runs: &[FoundRun], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "name,path,state,ended,elapsed_s,live_s,tags,rate_hz,channels,tick,sources")?;
    for run in runs {
        let facts =
            |of: &dyn Fn(&RunFacts) -> String| run.facts.as_ref().map_or_else(String::new, of);
        let fields = [
            quoted(&run.name),
            quoted(&run.path_text()),
            run.state.word().to_owned(),
            run.ended.map_or_else(String::new, |ended| ended.to_string()),
            facts(&|facts| facts.elapsed_s.to_string()),
            facts(&|facts| facts.live_s.to_string()),
            facts(&|facts| facts.tags.to_string()),
            facts(&|facts| facts.rate_hz().map_or_else(String::new, |rate| rate.to_string())),
            facts(&|facts| {
                let channels: Vec<String> =
                    facts.channels.iter().map(|of| of.channel.to_string()).collect();
                channels.join(" ")
            }),
            facts(&|facts| facts.tick.clone()),
            facts(&|facts| facts.sources.to_string()),
        ];
        writeln!(out, "{}", fields.join(","))?;
    }
    Ok(())
}

/// Returns the channels by name, and their number if they are many.
fn channels(facts: &RunFacts) -> String {
    const SHOWN: usize = 8;
    if facts.channels.len() > SHOWN {
        return format!("{} channels", facts.channels.len());
    }
    let name = |of: &ChannelFacts| of.name.clone().unwrap_or_else(|| of.channel.to_string());
    let names: Vec<String> = facts.channels.iter().map(name).collect();
    escaped(&names.join(",")).into_owned()
}

fn tick(facts: &RunFacts) -> String {
    let tick = Tick::from_fraction(&facts.tick).map_or_else(|_| dash(), |tick| tick.to_string());
    if facts.tick_assumed { format!("{tick} (assumed)") } else { tick }
}
