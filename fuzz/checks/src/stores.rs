//! A store whose files were changed: refused, or answered from as it is.

use std::{collections::HashMap, fs, ops::Range, path::Path, sync::LazyLock};

use rayon::{ThreadPool, ThreadPoolBuilder};
use serde_json::Value;
use tagq_query::{
    Coincidences, Counted, Delay, Error as QueryError, Execution, Groups, Kind as _, Recording,
    Rule, Scope, Simd, oracle,
};
use tagq_store::{
    Access, Block, Channels, Creation, MANIFEST_NAME, RunId, Source, SourceFacts, Store, Tags,
    Tick, Writer,
    format::{
        BLOCK_ENTRY_BYTES, BLOCK_ROWS, BlockEntry, COUNT_ENTRY_BYTES, FileKind, GAP_MAX,
        HEADER_BYTES, MICRO_NONE, STEP_ROWS,
    },
};

use crate::recipe::Recipe;

/// A row of a store.
type Row = (i64, u16);
/// The files of a store by name.
pub(crate) type Files = HashMap<String, Vec<u8>>;

/// The oracle compares each tag of a source with each other one: not more often than this.
const COMPARISONS_MAX: usize = 1 << 20;

/// A store whose files were changed is refused with an error, or answers like the oracle on the rows
/// that it shows; mapped and copied alike. One that was not changed is not refused. A writer that
/// opens it leaves it as it was.
///
/// The input is a recipe: the store, what is changed in it, which checksums are made right again, and
/// a query.
///
/// # Panics
/// When it does not.
pub fn stores(input: &[u8]) {
    let mut recipe = Recipe::new(input);
    // The large ones cost more, and show little that the small ones do not.
    let (mut files, morsel_unit) = match recipe.below(SMALL.len() + LARGE.len() + 2) {
        kind if kind < SMALL.len() => (SMALL[kind].clone(), 1),
        kind if kind < SMALL.len() + LARGE.len() && recipe.byte() % 16 == 15 => {
            (LARGE[kind - SMALL.len()].clone(), 1000)
        }
        _ => {
            let sources = any_sources(&mut recipe);
            let commits = recipe.below(3);
            let columns = [Columns::Times, Columns::TimesAndGaps, Columns::Distances];
            let columns = columns[recipe.below(columns.len())];
            (made(&sources, commits, columns, recipe.below(sources.len() + 1)), 1)
        }
    };
    let changes = recipe.below(4);
    for _ in 0..changes {
        change(&mut files, &mut recipe);
    }
    repair(&mut files, recipe.byte());
    let query = query(&mut recipe);
    let levels = Simd::available();
    let simd = levels[recipe.below(levels.len())];
    // Before each morsel a window is looked back over, which may be all rows.
    let morsel_rows = recipe.is().then(|| morsel_unit * (1 + recipe.below(200)));
    let execution = Execution { simd, morsel_rows };

    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in &files {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    let seen = look(folder.path(), &query, &execution);
    assert!(changes > 0 || seen.is_ok(), "{seen:?}");
    if let Some(seen) = seen.as_ref().ok().filter(|seen| seen.intact.is_ok() || seen.has_bad_gaps) {
        assert!(seen.times.is_sorted(), "{seen:?}");
        check_counted(seen, &query);
    }
    let creation = Creation { tick: Tick::DEFAULT, tick_assumed: true, run_id: None };
    let opened = Writer::open(folder.path(), &creation).map(drop);
    let again = look(folder.path(), &query, &execution);
    // An error may be one of those that a writer mends.
    assert!(seen == again || seen.is_err() && again.is_err(), "{opened:?}: {seen:?}, {again:?}");
}

/// What a store shows.
#[derive(Debug, PartialEq)]
struct Seen {
    times: Vec<i64>,
    labels: Vec<u16>,
    micro: Vec<Option<u32>>,
    /// The rows of each source.
    sources: Vec<Range<usize>>,
    blocks: Result<Vec<Block>, String>,
    /// What verifying finds.
    intact: Result<(), String>,
    /// Whether nothing but checksums of gaps beside a column of times is wrong: the query did not read them.
    has_bad_gaps: bool,
    counted: Result<Counted, QueryError>,
}

/// What the store shows, mapped and copied.
fn look(folder: &Path, query: &Coincidences, execution: &Execution) -> Result<Seen, String> {
    let [mapped, copied] = [Access::Mapped, Access::Copied].map(|access| {
        let store = Store::open(folder, access).map_err(|e| e.to_string())?;
        store.guarded(|store| Seen::of(store, query, execution)).map_err(|e| e.to_string())
    });
    assert_eq!(mapped, copied);
    mapped
}

impl Seen {
    fn of(store: &Store, query: &Coincidences, execution: &Execution) -> Self {
        let Tags { time, channels } = store.tags();
        let labels = match channels {
            Channels::U8(labels) => labels.all().iter().map(|&label| u16::from(label)).collect(),
            Channels::U16(labels) => labels.all().to_vec(),
        };
        let micro = |row| store.micro().and_then(|micro| micro.get(row));
        let micro = (0..time.len()).map(micro).collect();
        let blocks = store.blocks();
        let all = blocks.iter().flatten();
        let damage: Vec<String> =
            all.filter_map(|block| store.check_block(block).err()).map(|e| e.to_string()).collect();
        let has_times = store.manifest().has_times();
        let is_of_gaps = |damage: &String| {
            has_times && damage.contains("gap.") && damage.contains("damaged: the checksum")
        };
        let has_bad_gaps = !damage.is_empty() && damage.iter().all(is_of_gaps);
        let intact = damage.first().cloned().map_or(Ok(()), Err);
        let blocks = blocks.map_err(|e| e.to_string());
        let intact = blocks.clone().map(drop).and(intact);
        let has_span = |(source, rows): (&Source, Range<usize>)| {
            let times = time.rows(rows);
            times.first() == source.time_first && times.last() == source.time_last
        };
        let are_spanned = store.sources().all(has_span);
        let intact = intact.and(are_spanned.then_some(()).ok_or("the span of a source".into()));
        let recording = Recording::of(store);
        Self {
            times: time.to_vec(),
            labels,
            micro,
            sources: store.sources().map(|(_, rows)| rows).collect(),
            blocks,
            intact,
            has_bad_gaps: has_bad_gaps && are_spanned,
            counted: POOL.install(|| query.run(&recording, execution)),
        }
    }

    /// The rows of these channels, source by source.
    fn rows_of(&self, channels: [u16; 2]) -> Vec<Vec<Row>> {
        let rows_in = |rows: &Range<usize>| {
            let labels = self.labels[rows.clone()].iter().copied();
            let rows = self.times[rows.clone()].iter().copied().zip(labels);
            rows.filter(|row| channels.contains(&row.1)).collect()
        };
        self.sources.iter().map(rows_in).collect()
    }
}

/// The answer is the oracle's, or the query is one that must be refused.
fn check_counted(seen: &Seen, query: &Coincidences) {
    let mut delays: Vec<(u16, i64)> =
        query.scope.delays.iter().map(|delay| (delay.channel, delay.ticks)).collect();
    // A delay that is given twice is one delay.
    delays.sort_unstable();
    delays.dedup();
    let refusal = match &seen.counted {
        Ok(counted) => {
            for row in counted.rows.iter().take(8) {
                let [a, b] = row.channels[..] else { panic!("{row:?} is no pair") };
                let rows = seen.rows_of([a, b]);
                if rows.iter().map(|rows| rows.len().pow(2)).sum::<usize>() <= COMPARISONS_MAX {
                    let expected = oracle::pairs(&rows, a, b, query.window, &delays);
                    assert_eq!(row.count, expected, "{a},{b} {query:?} {rows:?}");
                }
            }
            return;
        }
        Err(refusal) => refusal,
    };
    let is_right = match *refusal {
        QueryError::NegativeWindow { .. } => query.window < 0,
        QueryError::SameChannel { channel } => {
            matches!(&query.groups, Groups::Listed(groups) if groups.contains(&vec![channel, channel]))
        }
        QueryError::TwoDelays { channel, first, second } => {
            first != second
                && delays.contains(&(channel, first))
                && delays.contains(&(channel, second))
        }
        QueryError::DelayRange { .. } => {
            seen.sources.iter().any(|rows| leaves_range(&seen.times[rows.clone()], &delays))
        }
        _ => false,
    };
    assert!(is_right, "{refusal}: {query:?}");
}

/// Whether one of these times, delayed, or a difference of two, may leave 64 bits.
fn leaves_range(times: &[i64], delays: &[(u16, i64)]) -> bool {
    let (Some(&first), Some(&last)) = (times.first(), times.last()) else { return false };
    let delays = || delays.iter().map(|&(_, ticks)| i128::from(ticks)).chain([0]);
    let first = i128::from(first) + delays().min().unwrap_or(0);
    let last = i128::from(last) + delays().max().unwrap_or(0);
    [first, last, last - first].into_iter().any(|ticks| i64::try_from(ticks).is_err())
}

fn query(recipe: &mut Recipe<'_>) -> Coincidences {
    let channel = |recipe: &mut Recipe<'_>| match recipe.byte() {
        255 => 300,
        label => u16::from(label % 16),
    };
    let groups = match recipe.below(4) {
        0 => Groups::EveryPair,
        n => Groups::Listed((0..n).map(|_| vec![channel(recipe), channel(recipe)]).collect()),
    };
    let delays = (0..recipe.below(4))
        .map(|_| Delay { channel: channel(recipe), ticks: recipe.number() })
        .collect();
    let scope = Scope { delays, ..Scope::default() };
    Coincidences { groups, rule: Rule::All, window: recipe.number(), veto: None, scope }
}

/// One thread, so that the same input takes the same way.
pub(crate) static POOL: LazyLock<ThreadPool> =
    LazyLock::new(|| ThreadPoolBuilder::new().num_threads(1).build().unwrap());

/// Columns of times in a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Columns {
    Times,
    TimesAndGaps,
    /// Gaps, far distances and steps.
    Distances,
}

/// Stores of few rows: none, some, two sources, labels of two bytes; with each set of columns of times. Two of them have
/// far distances of both widths, and sources that begin in the middle of a step.
pub(crate) static SMALL: LazyLock<[Files; 8]> = LazyLock::new(|| {
    let rows = |count: u16, channels: u16| -> Vec<Row> {
        let time = |i: u16| i64::from(3 * i) + i64::from(i).pow(2) % 7;
        (0..count).map(|i| (time(i), i % channels)).collect()
    };
    let sorted = |mut rows: Vec<Row>| {
        rows.sort_unstable();
        rows
    };
    let far = |first: i64, by: i64| -> Vec<Row> {
        let far =
            |i: u16| if i.is_multiple_of(3) { i64::from(i) * by } else { i64::from(i) * by + 2 };
        sorted((0..60).map(|i| (first + far(i), i % 4)).collect())
    };
    let later =
        |rows: Vec<Row>| rows.into_iter().map(|(time, label)| (time + 1000, label)).collect();
    let two = [sorted(rows(90, 5)), vec![], sorted(later(rows(50, 4)))];
    let wide = vec![(-5, 3), (0, 300), (0, 3), (7, 300), (i64::MAX - 5, 1)];
    let long = vec![(-5, 3), (0, 300), (0, 3), (7, 300), (1 << 62, 1)];
    [
        made(&[], 1, Columns::TimesAndGaps, 0),
        made(&[sorted(rows(3, 2))], 1, Columns::Times, 0),
        made(&two, 2, Columns::TimesAndGaps, 0),
        made(std::slice::from_ref(&wide), 1, Columns::TimesAndGaps, 0),
        made(&[], 1, Columns::Distances, 0),
        made(&two, 2, Columns::Distances, 2),
        made(&[far(-9, 65_533), far(1 << 23, 1 << 31)], 2, Columns::Distances, 1),
        made(&[far(-(1 << 30), 70_000), vec![], long], 2, Columns::Distances, 0),
    ]
});

/// Stores with full blocks: of one block and a rest in three sources, of one block and labels of two
/// bytes. Only each thousandth row is not of channel 9. The last two have no column of times; rows at the edges of steps
/// and of the block are far from the rows before them.
pub(crate) static LARGE: LazyLock<[Files; 4]> = LazyLock::new(|| {
    let rows = |rows: Range<u32>, step: i64| -> Vec<Row> {
        let channel = |row: u32| if row % 1000 < 2 { (row % 1000) as u16 } else { 9 };
        rows.map(|row| (i64::from(row) * step, channel(row))).collect()
    };
    let far = |mut rows: Vec<Row>, distance: i64| {
        let mut before = 0;
        for (row, (time, _)) in rows.iter_mut().enumerate() {
            before += if row % STEP_ROWS < 2 { distance } else { 0 };
            *time += before;
        }
        rows
    };
    let wide = [vec![(-1, 300)], rows(0..BLOCK_ROWS as u32 - 1, 10)].concat();
    let three = [rows(0..40_000, 3), rows(40_000..65_000, 3), rows(65_000..66_000, 3)];
    let three_far = far(three.concat(), 65_535);
    let three_far = [&three_far[..40_000], &three_far[40_000..65_000], &three_far[65_000..]];
    [
        made(&three, 2, Columns::TimesAndGaps, 0),
        made(std::slice::from_ref(&wide), 1, Columns::Times, 0),
        made(&three_far.map(<[Row]>::to_vec), 2, Columns::Distances, 0),
        made(&[far(wide, 1 << 32), vec![(1 << 60, 1), (1 << 61, 0)]], 1, Columns::Distances, 1),
    ]
});

/// Sources of any rows, each in order of time and after the one before.
fn any_sources(recipe: &mut Recipe<'_>) -> Vec<Vec<Row>> {
    let mut time = recipe.number();
    let count = recipe.below(6);
    let repeats = [1, 1, 20, 200][recipe.below(4)];
    let mut source = |recipe: &mut Recipe<'_>| {
        let mut rows: Vec<Row> = Vec::new();
        let pattern: Vec<(u8, u8)> =
            (0..recipe.below(16)).map(|_| (recipe.byte(), recipe.byte())).collect();
        for (gap, label) in pattern.iter().copied().cycle().take(pattern.len() * repeats) {
            let gap = match gap {
                0..160 => i64::from(gap % 50),
                // Around those where the encoding of distances changes.
                160..180 => 65_530 + i64::from(gap - 160),
                180..200 => (1 << 32) - 10 + i64::from(gap - 180),
                200.. => 1 << (gap - 200),
            };
            time = time.checked_add(gap).unwrap_or(time);
            rows.push((time, if label == 255 { 300 } else { u16::from(label % 16) }));
        }
        rows
    };
    let mut sources: Vec<Vec<Row>> = (0..count).map(|_| source(recipe)).collect();
    // A run spans less than 2^63 ticks.
    let first = sources.iter().flatten().next().map_or(0, |row| row.0);
    for rows in &mut sources {
        rows.retain(|row| row.0.checked_sub(first).is_some());
    }
    sources
}

/// The files of a store of these sources, made in so many commits, with these columns from the source of this number on,
/// or after all. Tags of channel 300 have micro times.
fn made(sources: &[Vec<Row>], commits: usize, columns: Columns, from_source: usize) -> Files {
    let folder = tempfile::tempdir().unwrap();
    let run_id = Some(RunId([7; 16]));
    let creation = Creation { tick: Tick::DEFAULT, tick_assumed: true, run_id };
    let mut writer = Writer::open(folder.path(), &creation).unwrap();
    let choose = |writer: &mut Writer| match columns {
        Columns::Times => {}
        Columns::TimesAndGaps => writer.make_gaps().unwrap(),
        Columns::Distances => writer.drop_times().unwrap(),
    };
    for (i, rows) in sources.iter().enumerate() {
        if i == from_source {
            choose(&mut writer);
        }
        writer.begin_source();
        let (times, channels): (Vec<i64>, Vec<u16>) = rows.iter().copied().unzip();
        let micro = |&(time, channel): &Row| {
            if channel == 300 { time.unsigned_abs() as u32 } else { MICRO_NONE }
        };
        let micro: Vec<u32> = rows.iter().map(micro).collect();
        writer.append_with_micro(&times, &channels, &micro).unwrap();
        writer.finish_source(SourceFacts::named(&format!("source {i}")));
        if i + 1 < commits {
            writer.commit().unwrap();
        }
    }
    if from_source >= sources.len() {
        choose(&mut writer);
    }
    writer.commit().unwrap();
    drop(writer);
    let entries = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect()
}

/// Changes something in one of the files.
pub(crate) fn change(files: &mut Files, recipe: &mut Recipe<'_>) {
    let keys = KEYS.into_iter().filter(|key| name_of(files, key) != MANIFEST_NAME);
    let keys: Vec<&str> = keys.chain([""]).collect();
    let key = keys[recipe.below(keys.len())];
    let name = name_of(files, key);
    let Some(bytes) = files.get_mut(&name) else { return };
    let width = [1, 2, 4, 8][recipe.below(4)];
    match recipe.below(16) {
        0..10 if name == MANIFEST_NAME => change_value(bytes, recipe),
        0..10 => {
            let values = bytes.len().saturating_sub(HEADER_BYTES) / width;
            let at = HEADER_BYTES + recipe.below(values.max(1)) * width;
            let number = recipe.word().to_le_bytes();
            if let Some(bytes) = bytes.get_mut(at..at + width) {
                bytes.copy_from_slice(&number[..width]);
            }
        }
        10 => bytes.truncate(recipe.below(bytes.len() + 1)),
        11 => bytes.resize(bytes.len() + recipe.below(300), recipe.byte()),
        12 => drop(files.remove(&name)),
        // The header, or anything.
        kind => {
            let end = if kind == 13 { HEADER_BYTES } else { bytes.len() };
            if let Some(byte) = bytes.get_mut(recipe.below(end.max(1))) {
                *byte ^= recipe.byte();
            }
        }
    }
}

/// The keys of all files of a store.
const KEYS: [&str; 9] =
    ["time", "channel", "blocks", "counts", "micro", "gap", "gaps", "far", "steps"];

/// The name of the file that the manifest gives for this key, or of the manifest itself.
pub(crate) fn name_of(files: &Files, key: &str) -> String {
    let name = files.get(MANIFEST_NAME).and_then(|text| {
        let name = parse(text)?["files"][key]["name"].as_str()?.to_owned();
        files.contains_key(&name).then_some(name)
    });
    name.unwrap_or_else(|| MANIFEST_NAME.into())
}

/// Changes one value of the manifest.
fn change_value(text: &mut Vec<u8>, recipe: &mut Recipe<'_>) {
    let Some(mut manifest) = parse(text) else { return };
    let mut places = Vec::new();
    list_values(&manifest, String::new(), &mut places);
    let place = &places[recipe.below(places.len())];
    let value = manifest.pointer_mut(place).unwrap();
    let words = ["", "time.col", "blocks.idx", "../time.col", "1/3", "0/1", "u16", "u8"];
    match (recipe.below(8), &mut *value) {
        (0, _) => *value = Value::Null,
        (1, _) => *value = words[recipe.below(words.len())].into(),
        (2, Value::Array(values)) => drop(values.pop()),
        (2..4, Value::Array(values)) => values.extend(values.first().cloned()),
        (4, value) => *value = recipe.word().into(),
        (5, value) => *value = recipe.number().into(),
        (_, value) => {
            let near = i128::from(recipe.byte()) - 128;
            let number = value.as_i64().map(i128::from).or(value.as_u64().map(i128::from));
            let number = number.map_or(near + 128, |number| number + near);
            let small = |_| Value::from(number as i64);
            *value = u64::try_from(number).map_or_else(small, Value::from);
        }
    }
    *text = written(&manifest);
}

/// The places of all values in `value`, as JSON pointers.
fn list_values(value: &Value, place: String, places: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                list_values(value, format!("{place}/{key}"), places);
            }
        }
        Value::Array(values) => {
            for (i, value) in values.iter().enumerate() {
                list_values(value, format!("{place}/{i}"), places);
            }
        }
        _ => {}
    }
    places.push(place);
}

fn parse(manifest: &[u8]) -> Option<Value> {
    serde_json::from_slice(manifest).ok()
}

/// The key of a manifest's checksum, and how many bytes it is from there to the end.
const CRC_KEY: &str = "  \"crc32c\": \"";
const CRC_BYTES: usize = CRC_KEY.len() + 8 + "\"\n}\n".len();

/// The text of a manifest, with the right checksum.
fn written(manifest: &Value) -> Vec<u8> {
    let mut manifest = manifest.clone();
    if let Some(fields) = manifest.as_object_mut() {
        fields.shift_remove("crc32c");
    }
    let mut text = manifest.to_string().into_bytes();
    text.pop();
    text.extend(b",\n");
    text.extend([0; CRC_BYTES]);
    sign(&mut text);
    text
}

/// Puts the right checksum at the end of a manifest.
fn sign(text: &mut Vec<u8>) {
    text.truncate(text.len().saturating_sub(CRC_BYTES));
    let crc = crc32c::crc32c(text);
    text.extend(format!("{CRC_KEY}{crc:08x}\"\n}}\n").as_bytes());
}

/// Makes checksums right again: most times all of them, and the times in the indexes.
pub(crate) fn repair(files: &mut Files, which: u8) {
    let is = |bit: u32| which < 128 || which >> bit & 1 == 1;
    if is(0) {
        for bytes in files.values_mut() {
            if let Some((page, crc)) = bytes
                .first_chunk_mut::<HEADER_BYTES>()
                .and_then(|page| page.split_last_chunk_mut::<4>())
            {
                *crc = crc32c::crc32c(page).to_le_bytes();
            }
        }
    }
    if is(1) {
        if is(4) {
            repair_steps(files);
        }
        repair_blocks(files, is(2));
        repair_gaps(files);
    }
    if let Some(text) = files.get_mut(MANIFEST_NAME).filter(|_| is(3)) {
        sign(text);
    }
}

/// Makes the checksums of the blocks right again, and with `times` their times and those of run and
/// sources. What does not fit is left as it is.
fn repair_blocks(files: &mut Files, times: bool) -> Option<()> {
    let mut manifest = parse(files.get(MANIFEST_NAME)?)?;
    let values = |key: &str| files.get(&name_of(files, key))?.get(HEADER_BYTES..);
    let (time, channel) = (times_of(files, &manifest)?, values("channel")?);
    let (mut blocks, counts) = (values("blocks")?.to_vec(), values("counts")?);
    let width = manifest["files"]["channel"]["width"].as_u64()? as usize;
    let micro_width = manifest["files"]["micro"]["width"].as_u64();
    let micro = values("micro").zip(micro_width.map(|width| width as usize));
    let time_at = |row: usize| time.get(row).copied();
    let time_bytes: Vec<u8> = time.iter().flat_map(|time| time.to_le_bytes()).collect();
    let bytes_of = |values: &[u8], rows: &Range<usize>, width: usize| {
        let (start, end) = (rows.start.checked_mul(width)?, rows.end.checked_mul(width)?);
        values.get(start..end).map(crc32c::crc32c)
    };
    let rows = manifest["rows"].as_u64()? as usize;
    let full = rows / BLOCK_ROWS;
    let mut chain = 0;
    for (i, bytes) in
        blocks.as_chunks_mut::<BLOCK_ENTRY_BYTES>().0.iter_mut().enumerate().take(full)
    {
        let rows = i * BLOCK_ROWS..(i + 1) * BLOCK_ROWS;
        let mut entry =
            BlockEntry::decode(bytes, |kind| kind != FileKind::Micro || micro.is_some())?;
        entry.checksums[FileKind::Time] = Some(bytes_of(&time_bytes, &rows, 8)?);
        entry.checksums[FileKind::Channel] = Some(bytes_of(channel, &rows, width)?);
        if let Some((micro, width)) = micro {
            entry.checksums[FileKind::Micro] = Some(bytes_of(micro, &rows, width)?);
        }
        if times {
            (entry.time_min, entry.time_max) = (time_at(rows.start)?, time_at(rows.end - 1)?);
        }
        let start = usize::try_from(entry.counts_start).ok()?.checked_mul(COUNT_ENTRY_BYTES)?;
        let len = entry.counts_len as usize * COUNT_ENTRY_BYTES;
        chain = entry.chained(chain, counts.get(start..start.checked_add(len)?)?);
        entry.chain = chain;
        *bytes = entry.encode();
    }
    set(&mut manifest, "chain", chain)?;
    let rest = full * BLOCK_ROWS..rows;
    if let Some(last) = manifest.get_mut("last_block").filter(|last| last.is_object()) {
        set(last, "crc_time", bytes_of(&time_bytes, &rest, 8)?)?;
        set(last, "crc_channel", bytes_of(channel, &rest, width)?)?;
        if let Some((micro, width)) = micro {
            set(last, "crc_micro", bytes_of(micro, &rest, width)?)?;
        }
        if times {
            set(last, "time_min", time_at(rest.start)?)?;
            set(last, "time_max", time_at(rest.end.checked_sub(1)?)?)?;
        }
    }
    if times && rows > 0 {
        set(&mut manifest, "time_first", time_at(0)?)?;
        set(&mut manifest, "time_last", time_at(rows - 1)?)?;
        let mut start = 0_usize;
        for source in manifest.get_mut("sources")?.as_array_mut()? {
            let end = start.checked_add(source["rows"].as_u64()? as usize)?;
            if end > start {
                set(source, "time_first", time_at(start)?)?;
                set(source, "time_last", time_at(end - 1)?)?;
            }
            start = end;
        }
    }
    let name = name_of(files, "blocks");
    files.get_mut(&name)?.truncate(HEADER_BYTES);
    files.get_mut(&name)?.extend(blocks);
    files.insert(MANIFEST_NAME.into(), written(&manifest));
    Some(())
}

/// The times of the rows: of the column, or sums of the distances of each source.
fn times_of(files: &Files, manifest: &Value) -> Option<Vec<i64>> {
    let rows = manifest["rows"].as_u64()? as usize;
    if let Some(time) = files.get(&name_of(files, "time")).filter(|_| has(manifest, "time")) {
        let times = time.get(HEADER_BYTES..)?.as_chunks().0.iter().take(rows);
        return Some(times.map(|&time| i64::from_le_bytes(time)).collect());
    }
    let gaps = gaps(files, manifest)?;
    let mut far = far(files, manifest)?.into_iter();
    let mut times = Vec::new();
    for source in manifest["sources"].as_array()? {
        let end = times.len().checked_add(source["rows"].as_u64()? as usize)?;
        let mut time = source["time_first"].as_i64().unwrap_or(0);
        for (i, &gap) in gaps.get(times.len()..end)?.iter().enumerate() {
            let distance = if gap == GAP_MAX { far.next()? } else { gap.into() };
            time = if i == 0 { time } else { time.wrapping_add_unsigned(distance) };
            times.push(time);
        }
    }
    Some(times)
}

fn has(manifest: &Value, key: &str) -> bool {
    manifest["files"][key].is_object()
}

/// The gaps of all rows.
fn gaps(files: &Files, manifest: &Value) -> Option<Vec<u16>> {
    let rows = manifest["rows"].as_u64()? as usize;
    let gaps = files.get(&name_of(files, "gap"))?.get(HEADER_BYTES..)?;
    let gaps = gaps.get(..rows.checked_mul(2)?)?.as_chunks().0.iter();
    Some(gaps.map(|&gap| u16::from_le_bytes(gap)).collect())
}

/// The far distances that are committed.
fn far(files: &Files, manifest: &Value) -> Option<Vec<u64>> {
    let width = manifest["files"]["far"]["width"].as_u64()?;
    let far = files.get(&name_of(files, "far"))?.get(HEADER_BYTES..)?;
    let far: Vec<u64> = if width == 4 {
        far.as_chunks().0.iter().map(|&far| u32::from_le_bytes(far).into()).collect()
    } else {
        far.as_chunks().0.iter().map(|&far| u64::from_le_bytes(far)).collect()
    };
    Some(far.into_iter().take(manifest["far_entries"].as_u64()? as usize).collect())
}

/// Makes steps of the gaps and far distances again. What does not fit is left as it is.
fn repair_steps(files: &mut Files) -> Option<()> {
    let manifest = parse(files.get(MANIFEST_NAME)?)?;
    let (times, gaps) = (times_of(files, &manifest)?, gaps(files, &manifest)?);
    let mut far = 0_u64;
    let mut steps = Vec::new();
    for (time, gaps) in times.iter().step_by(STEP_ROWS).zip(gaps.chunks(STEP_ROWS)) {
        steps.extend([time.to_le_bytes(), far.to_le_bytes()].concat());
        far += gaps.iter().filter(|&&gap| gap == GAP_MAX).count() as u64;
    }
    let name = name_of(files, "steps");
    let found = files.get_mut(&name).filter(|_| name != MANIFEST_NAME)?.get_mut(HEADER_BYTES..)?;
    found.get_mut(..steps.len())?.copy_from_slice(&steps);
    Some(())
}

/// Makes the checksums of gaps, far distances and steps right again. What does not fit is left as it is.
fn repair_gaps(files: &mut Files) -> Option<()> {
    let mut manifest = parse(files.get(MANIFEST_NAME)?)?;
    let rows = manifest["rows"].as_u64()? as usize;
    let values = |key: &str| files.get(&name_of(files, key))?.get(HEADER_BYTES..);
    let is_derived = has(&manifest, "far");
    let (gaps, far, steps) = (values("gap")?, values("far"), values("steps"));
    let far_width = manifest["files"]["far"]["width"].as_u64().unwrap_or(0) as usize;
    let far_entries = manifest["far_entries"].as_u64().unwrap_or(0) as usize;
    // The far distances of a block begin where its first step says.
    let far_before = |row: usize| {
        if row >= rows {
            return Some(far_entries);
        }
        let far = steps?.get(row / STEP_ROWS * 16 + 8..)?.first_chunk()?;
        usize::try_from(u64::from_le_bytes(*far)).ok()
    };
    let bytes_of = |values: &[u8], of: Range<usize>, width: usize| {
        let bytes = of.start.checked_mul(width)?..of.end.checked_mul(width)?;
        values.get(bytes).map(crc32c::crc32c)
    };
    let crcs_of = |rows: Range<usize>| {
        let mut crcs = vec![bytes_of(gaps, rows.clone(), 2)?];
        if is_derived {
            crcs.push(bytes_of(far?, far_before(rows.start)?..far_before(rows.end)?, far_width)?);
            crcs.push(bytes_of(steps?, rows.start / STEP_ROWS..rows.end.div_ceil(STEP_ROWS), 16)?);
        }
        Some(crcs)
    };
    let full = rows / BLOCK_ROWS;
    let mut index = Vec::new();
    for block in 0..full {
        let crcs = crcs_of(block * BLOCK_ROWS..(block + 1) * BLOCK_ROWS)?;
        index.extend(crcs.into_iter().flat_map(u32::to_le_bytes));
    }
    if let Some(last) = manifest.get_mut("last_block").filter(|last| last.is_object()) {
        let crcs = crcs_of(full * BLOCK_ROWS..rows)?;
        for (key, crc) in ["crc_gap", "crc_far", "crc_steps"].into_iter().zip(crcs) {
            set(last, key, crc)?;
        }
    }
    let name = name_of(files, "gaps");
    let found = files.get_mut(&name)?.get_mut(HEADER_BYTES..)?;
    found.get_mut(..index.len())?.copy_from_slice(&index);
    files.insert(MANIFEST_NAME.into(), written(&manifest));
    Some(())
}

/// Sets a field of an object.
fn set(object: &mut Value, key: &str, value: impl Into<Value>) -> Option<()> {
    object.as_object_mut()?.insert(key.into(), value.into());
    Some(())
}
