//! The facts of a run, as text or as JSON.
//!
//! Sources from 0 to 100 and from 130 on have a gap of 30 ticks: from the last tag before it, of any source, to the
//! first tag after it. Text and JSON take their numbers from the same functions.

use std::fmt::Write as _;

use comfy_table::Table;
use serde::Serialize;
use tagq::{
    KeptView, LeftFile, Notes, Run, RunFacts, SCHEMA_VERSION, escaped,
    query::ShortestInterval,
    remarks,
    store::{Recording, Source, Tick},
};

use super::{
    json::pretty,
    table::{
        TableStyle, plain,
        quantities::{counted, dash, hertz, short},
        text::{name_of, names_of},
    },
};

/// A run and the facts that were determined for it.
pub struct Looked {
    /// The run.
    pub run: Run,
    /// Its path, tick, counts, live time and channels.
    pub facts: RunFacts,
    /// Shortest interval of each channel, or `None` if it was skipped.
    pub shortest: Option<Vec<ShortestInterval>>,
    /// Size of the store on disk, or `None` if it was temporary.
    pub store_bytes: Option<u64>,
    /// Files left by killed processes.
    pub leftovers: Vec<LeftFile>,
}

#[derive(Serialize)]
struct Info<'a> {
    schema_version: u32,
    path: &'a str,
    tick: &'a str,
    tick_assumed: bool,
    /// Present if the run has micro times.
    #[serde(skip_serializing_if = "Option::is_none")]
    micro: Option<MicroInfo>,
    commit: u64,
    tags: u64,
    live_s: f64,
    elapsed_s: f64,
    store: String,
    store_bytes: Option<u64>,
    /// `store_bytes` over `tags`.
    bytes_per_tag: Option<f64>,
    /// The files of the store that hold values of rows.
    columns: Vec<&'static str>,
    /// Whether the store has the column of gaps; present if it has.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    gap_column: bool,
    sources_bytes: u64,
    /// Files left by processes that were killed or are still running.
    leftovers: Vec<LeftInfo>,
    /// Views that are kept in the store.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    views: Vec<ViewInfo>,
    reordered: u64,
    /// Number of sources in which every part had a checksum.
    checksummed_sources: usize,
    channels: Vec<ChannelInfo<'a>>,
    /// Gaps between consecutive sources.
    gaps: GapsInfo,
    sources: Vec<SourceInfo<'a>>,
}

/// The unit of micro times, a fraction of attoseconds; null if unknown.
#[derive(Serialize)]
struct MicroInfo {
    tick: Option<String>,
}

#[derive(Serialize)]
struct LeftInfo {
    path: String,
    bytes: u64,
}

#[derive(Serialize)]
struct ViewInfo {
    definitions: Vec<String>,
    tags: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct ChannelInfo<'a> {
    channel: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    count: u64,
    rate_hz: Option<f64>,
    #[serde(flatten)]
    shortest: Option<Shortest>,
}

/// Keys are absent if the interval was skipped, and null if the channel has fewer than two tags.
#[derive(Serialize)]
struct Shortest {
    shortest_ticks: Option<u64>,
    shortest_s: Option<f64>,
}

#[derive(Serialize)]
struct GapsInfo {
    count: usize,
    shortest_s: Option<f64>,
    longest_s: Option<f64>,
    total_s: f64,
}

#[derive(Serialize)]
struct SourceInfo<'a> {
    name: &'a str,
    tags: u64,
    time_first: Option<i64>,
    time_last: Option<i64>,
    live_s: Option<f64>,
    /// Gap since the previous source.
    gap_s: Option<f64>,
    bytes: u64,
    rebased: Option<i64>,
    reordered: u64,
    checksummed: bool,
    salvaged: bool,
    torn: Option<&'a str>,
    /// Remarks: it was cut, or its header contradicts the tags.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    remarks: Vec<String>,
    /// Facts from the header of an instrument's file, and counts of records that are not tags.
    #[serde(skip_serializing_if = "Option::is_none")]
    measurement: Option<&'a Recording>,
    /// Notes of its recorder.
    recorded: Option<Recorded>,
}

/// The recorder's notes of a source, and where the data differs from them.
#[derive(Serialize)]
struct Recorded {
    #[serde(flatten)]
    notes: Notes,
    duration_s: Option<f64>,
    differences: Vec<String>,
}

impl Looked {
    fn tick(&self) -> Tick {
        self.run.store().manifest().tick
    }

    fn sources(&self) -> &[Source] {
        &self.run.store().manifest().sources
    }

    /// Returns, for each source, the ticks since the end of the last source with tags before it.
    fn gaps(&self) -> Vec<Option<i128>> {
        let mut end: Option<i64> = None;
        let gap_before = |source: &Source| {
            let gap = source.time_first.zip(end);
            end = source.time_last.or(end);
            gap.map(|(first, end)| i128::from(first) - i128::from(end))
        };
        self.sources().iter().map(gap_before).collect()
    }

    fn rate_hz(&self, count: u64) -> Option<f64> {
        let live_s = self.facts.live_s;
        (live_s > 0.0).then(|| count as f64 / live_s)
    }

    /// Returns the shortest interval of a channel, if it was determined.
    fn shortest(&self, channel: u16) -> Option<ShortestInterval> {
        self.shortest.as_ref()?.iter().find(|of| of.channel == channel).copied()
    }

    fn bytes_per_tag(&self) -> Option<f64> {
        let bytes = self.store_bytes.filter(|_| self.facts.tags > 0)?;
        Some(bytes as f64 / self.facts.tags as f64)
    }

    fn sources_bytes(&self) -> u64 {
        self.sources().iter().map(|source| source.facts.size).sum()
    }

    fn reordered(&self) -> u64 {
        self.sources().iter().map(|source| source.facts.reordered).sum()
    }

    fn checksummed(&self) -> usize {
        self.sources().iter().filter(|source| source.facts.checksummed).count()
    }
}

/// Returns the facts of runs as JSON: one object, or a list of several.
///
/// # Errors
/// Errors of the index of a store and of the serializer.
pub fn json(looked: &[Looked]) -> serde_json::Result<String> {
    let infos: Vec<Info<'_>> = looked.iter().map(info).collect();
    let text = match &infos[..] {
        [info] => pretty(info)?,
        infos => pretty(infos)?,
    };
    Ok(text + "\n")
}

fn info(of: &Looked) -> Info<'_> {
    let Looked { run, facts, store_bytes, .. } = of;
    let (tick, manifest) = (of.tick(), run.store().manifest());
    let gaps: Vec<f64> = of.gaps().into_iter().flatten().map(|gap| tick.seconds_of(gap)).collect();
    let channels = facts.channels.iter().map(|channel| ChannelInfo {
        channel: channel.channel,
        name: channel.name.as_deref(),
        count: channel.count,
        rate_hz: of.rate_hz(channel.count),
        shortest: of.shortest(channel.channel).map(|ShortestInterval { ticks, .. }| Shortest {
            shortest_ticks: ticks,
            shortest_s: ticks.map(|ticks| tick.seconds_of(ticks.into())),
        }),
    });
    let sources = of.sources().iter().zip(run.notes()).zip(of.gaps());
    let sources = sources.map(|((source, notes), gap)| SourceInfo {
        name: &source.facts.name,
        tags: source.rows,
        time_first: source.time_first,
        time_last: source.time_last,
        live_s: source.live_ticks().map(|ticks| tick.seconds_of(ticks)),
        gap_s: gap.map(|gap| tick.seconds_of(gap)),
        bytes: source.facts.size,
        rebased: source.facts.rebased,
        reordered: source.facts.reordered,
        checksummed: source.facts.checksummed,
        salvaged: source.facts.salvaged,
        torn: source.facts.torn.as_deref(),
        remarks: remarks(source, tick),
        measurement: source.facts.recording.as_ref(),
        recorded: notes.map(|notes| Recorded {
            duration_s: notes.duration_s(),
            differences: notes.differences(source, tick),
            notes,
        }),
    });
    Info {
        schema_version: SCHEMA_VERSION,
        path: &facts.path,
        tick: &facts.tick,
        tick_assumed: facts.tick_assumed,
        micro: manifest
            .has_micro()
            .then(|| MicroInfo { tick: manifest.micro_tick.map(Tick::fraction) }),
        commit: facts.commit,
        tags: facts.tags,
        live_s: facts.live_s,
        elapsed_s: facts.elapsed_s,
        store: run.store().folder().display().to_string(),
        store_bytes: *store_bytes,
        bytes_per_tag: of.bytes_per_tag(),
        columns: manifest.columns(),
        gap_column: manifest.has_gaps(),
        sources_bytes: of.sources_bytes(),
        leftovers: of.leftovers.iter().map(left_info).collect(),
        views: run.views().into_iter().map(view_info).collect(),
        reordered: of.reordered(),
        checksummed_sources: of.checksummed(),
        channels: channels.collect(),
        gaps: GapsInfo {
            count: gaps.len(),
            shortest_s: gaps.iter().copied().reduce(f64::min),
            longest_s: gaps.iter().copied().reduce(f64::max),
            // Start with 0.0: `sum` of an empty iterator is -0.0.
            total_s: gaps.iter().fold(0.0, |sum, gap| sum + gap),
        },
        sources: sources.collect(),
    }
}

fn left_info(left: &LeftFile) -> LeftInfo {
    LeftInfo { path: left.path.display().to_string(), bytes: left.bytes }
}

fn view_info(view: KeptView) -> ViewInfo {
    let KeptView { definitions, tags, bytes } = view;
    ViewInfo { definitions, tags, bytes }
}

/// Returns the facts of runs as text for a person.
pub fn text(looked: &[Looked], style: TableStyle) -> String {
    let mut text = String::new();
    for (i, of) in looked.iter().enumerate() {
        if i > 0 {
            text.push('\n');
        }
        for (head, fact) in facts(of, style) {
            let _ = writeln!(text, "{head:<10} {fact}");
        }
        let _ = writeln!(text, "\n{}\n", style.draw(|_| channels(of, style)));
        let _ = writeln!(text, "{}", style.draw(|_| sources(of, style)));
        text.push_str(&measurements(of, style));
        text.push_str(&recorded(&of.run));
    }
    text
}

/// Returns the facts, one line each.
fn facts(of: &Looked, style: TableStyle) -> Vec<(&'static str, String)> {
    let Looked { run, facts, .. } = of;
    let (tick, path) = (of.tick(), escaped(&facts.path));
    let assumed = if facts.tick_assumed { " (assumed; `tagq set --tick` sets it)" } else { "" };
    let (live, elapsed) = (run.live_ticks(), run.elapsed_ticks());
    let share = match live as f64 / elapsed as f64 {
        share if live < elapsed => format!(", {} % of elapsed", short(share * 100.0)),
        _ => String::new(),
    };
    let gaps: Vec<i128> = of.gaps().into_iter().flatten().collect();
    let gaps = match (gaps.iter().min(), gaps.iter().max()) {
        (Some(&least), Some(&most)) if gaps.len() > 1 => format!(
            "{}, of {} to {}; nothing is counted across one without --join",
            gaps.len(),
            style.time(tick, least),
            style.time(tick, most)
        ),
        (Some(&only), _) => {
            format!(
                "{} between sources; nothing is counted across it without --join",
                style.time(tick, only)
            )
        }
        _ => "none: one source".to_owned(),
    };
    let order = match of.reordered() {
        0 => "as recorded".to_owned(),
        1 => "1 tag came late and was put in order".to_owned(),
        tags => format!("{} tags came late and were put in order", style.count(tags)),
    };
    let checksums = match of.sources().len() {
        1 if of.checksummed() == 1 => "the source has some".to_owned(),
        1 => "the source has none".to_owned(),
        sources => format!("{} of {sources} sources have some", of.checksummed()),
    };
    let sources = match of.sources().len() {
        1 => "1 source".to_owned(),
        sources => format!("{} sources", style.count(sources as u64)),
    };
    let store = of.store_bytes.map(|bytes| {
        let a_tag = of.bytes_per_tag().map(|bytes| format!(", {} bytes a tag", short(bytes)));
        let columns = run.store().manifest().columns().join(", ");
        format!(", {} of the store{}: {columns}", style.bytes(bytes), a_tag.unwrap_or_default())
    });
    let store = store.unwrap_or_default();
    let store_at = run.store().folder().display().to_string();
    let left =
        (!of.leftovers.is_empty()).then(|| ("left over", left_over(&of.leftovers, path.as_ref())));
    let views = run.views();
    let views = (!views.is_empty()).then(|| {
        let bytes = style.bytes(views.iter().map(|view| view.bytes).sum());
        let mut definitions: Vec<String> =
            views.into_iter().flat_map(|view| view.definitions).collect();
        definitions.sort_unstable();
        definitions.dedup();
        ("views", format!("{bytes}: {}", escaped(&definitions.join("; "))))
    });
    let manifest = run.store().manifest();
    let micro = manifest.has_micro().then(|| {
        let unit = manifest.micro_tick.map(|tick| format!("in units of {tick}"));
        (
            "micro",
            format!("the tags have micro times, {}", unit.as_deref().unwrap_or("unit unknown")),
        )
    });
    let facts = [
        ("run", path.to_string()),
        ("store", format!("{} (commit {})", escaped(&store_at), facts.commit)),
        ("disk", format!("{} of {sources}{store}", style.bytes(of.sources_bytes()))),
        ("tags", style.count(facts.tags)),
        ("tick", format!("{tick}{assumed}")),
        ("live", format!("{}{share}", style.time(tick, live))),
        ("elapsed", style.time(tick, elapsed)),
        ("gaps", gaps),
        ("order", order),
        ("checksums", format!("{checksums}; those of the store: tagq verify {path}")),
    ];
    facts.into_iter().chain(micro).chain(views).chain(left).collect()
}

/// Describes the files left by killed processes.
pub fn left_over(leftovers: &[LeftFile], run: &str) -> String {
    let files = leftovers.iter().map(|left| {
        let bytes = counted(left.bytes, "byte");
        format!("{bytes} in {}", escaped(&left.path.display().to_string()))
    });
    let files: Vec<String> = files.collect();
    format!(
        "{}; by a tagq that was killed, or is at work: the next `tagq ingest {run}` clears the store, and \
         the next export into their folder the *.part files",
        files.join(", ")
    )
}

fn channels(of: &Looked, style: TableStyle) -> Table {
    let mut head = vec!["channel", "singles", if style.exact { "rate (Hz)" } else { "rate" }];
    if of.shortest.is_some() {
        head.push("shortest interval");
    }
    let rate = |rate: f64| if style.exact { rate.to_string() } else { hertz(rate) };
    let mut table = plain(&head, 0);
    let names = names_of(&of.facts);
    for channel in &of.facts.channels {
        let mut row = vec![
            name_of(&names, channel.channel),
            style.count(channel.count),
            of.rate_hz(channel.count).map_or_else(dash, rate),
        ];
        if let Some(shortest) = of.shortest(channel.channel) {
            row.push(shortest.ticks.map_or_else(dash, |ticks| style.time(of.tick(), ticks.into())));
        }
        table.add_row(row);
    }
    table
}

fn sources(of: &Looked, style: TableStyle) -> Table {
    let mut table = plain(&["source", "tags", "begins", "gap", "live", ""], 1);
    let tick = of.tick();
    let some_are_checked = of.checksummed() > 0;
    for (source, gap) in of.sources().iter().zip(of.gaps()) {
        let mut remarks = Vec::new();
        if source.facts.reordered > 0 {
            remarks.push(format!("{} put in order", style.count(source.facts.reordered)));
        }
        if let Some(ticks) = source.facts.rebased {
            remarks.push(format!("moved by {}", style.time(tick, ticks.into())));
        }
        if some_are_checked && !source.facts.checksummed {
            remarks.push("no checksum".to_owned());
        }
        if source.facts.salvaged {
            remarks.push("salvaged".to_owned());
        }
        remarks.extend(source.facts.torn.as_deref().map(|torn| escaped(torn).into_owned()));
        table.add_row([
            escaped(&source.facts.name).into_owned(),
            style.count(source.rows),
            source.time_first.map_or_else(dash, |first| style.time(tick, first.into())),
            gap.map_or_else(String::new, |gap| style.time(tick, gap)),
            source.live_ticks().map_or_else(dash, |live| style.time(tick, live)),
            remarks.join(", "),
        ]);
    }
    table
}

/// Returns the facts from the headers of instruments' files, and the counts of records that are not tags.
fn measurements(of: &Looked, style: TableStyle) -> String {
    let mut text = String::new();
    for source in of.sources() {
        let Some(Recording { format, facts, left_out, odd, .. }) = &source.facts.recording else {
            continue;
        };
        let _ = writeln!(text, "\n{}: {format}", escaped(&source.facts.name));
        for (what, value) in facts {
            let _ = writeln!(text, "  {what:<18} {}", escaped(value));
        }
        let kept = odd.iter().map(|(what, count)| (what, count, "kept"));
        let left_out = left_out.iter().map(|(what, count)| (what, count, "left out"));
        for (what, records, fate) in left_out.chain(kept) {
            let _ = writeln!(text, "  {what:<18} {} {fate}", style.count(*records));
        }
        let dead = source.dead();
        if !dead.is_empty() {
            let ticks = dead.iter().map(|&(first, last)| i128::from(last) - i128::from(first));
            let (spans, total) =
                (style.count(dead.len() as u64), style.time(of.tick(), ticks.sum()));
            let s = if dead.len() == 1 { "" } else { "s" };
            let _ = writeln!(text, "  {:<18} {spans} span{s}, {total}", "not recorded");
        }
    }
    text
}

/// Returns the recorders' notes of the sources: settings, those applied by hardware, and differences.
fn recorded(run: &Run) -> String {
    let mut text = String::new();
    let manifest = run.store().manifest();
    for (source, notes) in manifest.sources.iter().zip(run.notes()) {
        let Some(notes) = notes else { continue };
        let _ = write!(text, "\n{}: recorded", escaped(&source.facts.name));
        if let Some(timestamp) = &notes.timestamp {
            let _ = write!(text, " {}", escaped(timestamp));
        }
        if let Some(seconds) = notes.duration_s() {
            let _ = write!(text, ", {seconds} s");
        }
        text.push('\n');
        if !notes.description.is_empty() {
            let _ = writeln!(text, "  {}", escaped(&notes.description));
        }
        for of in &notes.channel_settings {
            let edge = if of.invert == Some(true) { "falling edge" } else { "rising edge" };
            let _ = write!(text, "  channel {}: {edge}", of.channel);
            if let Some(volts) = of.threshold {
                let _ = write!(text, ", threshold {volts} V");
            }
            if let Some(delay) = of.delay {
                let _ = write!(text, ", delay {delay} ticks (applied by the recorder)");
            }
            text.push('\n');
        }
        for difference in notes.differences(source, manifest.tick) {
            let _ = writeln!(text, "  differs: {}", escaped(&difference));
        }
    }
    text
}
