//! Questions of every kind to a store whose files were changed: each ends in an answer or an error.

use std::{fs, path::Path};

use tagq::{
    Caching, Delays, Error, OpenOptions, Run, RunError, Search as _, Silent,
    query::{Mode, Rule},
    requests::{
        Accidentals, BinWidth, Channel, Coincidences, DelayAsked, Errors, Histogram, Histogram2d,
        KeptBins, PulsePeriod, QueryContext, Rates, Request, Selection, Setup, cases,
    },
    store::{Access, Duration, MANIFEST_NAME, format::HEADER_BYTES},
};

use crate::{
    recipe::Recipe,
    stores::{Files, LARGE, POOL, SMALL, change, name_of, repair},
};

/// A store of which any bytes were changed, checksums put right again or not, answers questions of every
/// kind or refuses them: with what is mapped and what is copied, with what was kept in the cache and was
/// changed there, too. A run that is refused as out of order is out of order.
///
/// # Panics
/// When it does not.
pub fn questions(input: &[u8]) {
    let mut recipe = Recipe::new(input);
    let kind = recipe.below(2 * SMALL.len() + LARGE.len());
    let (mut files, rows) = match kind.checked_sub(2 * SMALL.len()) {
        // The large ones take a hundred times as long.
        Some(large) if recipe.byte() % 4 == 3 => (LARGE[large].clone(), 66_000),
        _ => (SMALL[kind % SMALL.len()].clone(), 140),
    };
    let asked: Vec<Request> = (0..=recipe.below(3)).map(|_| question(&mut recipe)).collect();
    let folder = tempfile::tempdir().unwrap();
    // What is kept is that of the store before it was changed, as far as there is a full block.
    if rows > 65_536 && recipe.is() {
        write(folder.path(), &files);
        ask(folder.path(), &asked, Access::Mapped);
    }
    for _ in 0..=recipe.below(4) {
        match recipe.below(4) {
            0 => change(&mut files, &mut recipe),
            1 => forge_rows(&mut files, &mut recipe, rows),
            2 => flip(&mut files, &mut recipe),
            _ => forge_kept(&folder.path().join("cache"), &mut recipe),
        }
    }
    repair(&mut files, recipe.byte());
    write(folder.path(), &files);
    let access = if recipe.is() { Access::Mapped } else { Access::Copied };
    ask(folder.path(), &asked, access);
    // Again, with what was kept of it meanwhile.
    ask(folder.path(), &asked[..1], access);
}

fn write(folder: &Path, files: &Files) {
    for (name, bytes) in files {
        fs::write(folder.join(name), bytes).unwrap();
    }
}

/// Turns over bits of any byte of any file.
fn flip(files: &mut Files, recipe: &mut Recipe<'_>) {
    let mut names: Vec<String> = files.keys().cloned().collect();
    names.sort();
    let Some(bytes) = files.get_mut(&names[recipe.below(names.len())]) else { return };
    let at = recipe.below(bytes.len().max(1));
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= recipe.byte();
    }
}

/// Puts one value, or a bit of it, into some rows of a file of times.
fn forge_rows(files: &mut Files, recipe: &mut Recipe<'_>, rows: usize) {
    let kinds = [("time", 8), ("gap", 2), ("far", 4), ("steps", 8)];
    let is_there = |(key, _): &(&str, usize)| name_of(files, key) != MANIFEST_NAME;
    let kinds: Vec<(&str, usize)> = kinds.into_iter().filter(is_there).collect();
    let Some(&(key, width)) = kinds.get(recipe.below(kinds.len().max(1))) else { return };
    let Some(bytes) = files.get_mut(&name_of(files, key)) else { return };
    let (first, len) = (recipe.below(rows), [1, 1, 2, 40, 5_000][recipe.below(5)]);
    let (value, bit) = (recipe.number(), recipe.is().then(|| recipe.below(64)));
    let Some((_, values)) = bytes.split_at_mut_checked(HEADER_BYTES) else { return };
    let first = first % (values.len() / width).max(1);
    for row in values.chunks_exact_mut(width).skip(first).take(len) {
        match bit {
            Some(bit) => row[bit / 8 % width] ^= 1 << (bit % 8),
            None => row.copy_from_slice(&value.to_le_bytes()[..width]),
        }
    }
}

/// Changes a file of the cache, and makes its checksum right again most times.
fn forge_kept(cache: &Path, recipe: &mut Recipe<'_>) {
    let Ok(entries) = fs::read_dir(cache) else { return };
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let Some(path) = paths.get(recipe.below(paths.len().max(1))) else { return };
    let mut bytes = fs::read(path).unwrap();
    match recipe.below(8) {
        0 => bytes.truncate(recipe.below(bytes.len() + 1)),
        1 => bytes.extend([recipe.byte(); 9]),
        width => {
            let at = recipe.below(bytes.len().max(1));
            let number = recipe.word().to_le_bytes();
            for (byte, forged) in bytes[at..].iter_mut().zip(number).take(width) {
                *byte = forged;
            }
        }
    }
    // The checksum of all but itself stands after magic number and version.
    if recipe.byte() < 224 && bytes.len() > 16 {
        let crc = crc32c::crc32c_append(crc32c::crc32c(&bytes[..12]), &bytes[16..]);
        bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    }
    fs::write(path, bytes).unwrap();
}

/// Asks all of them, of the run as it is opened once, and what is said of every run.
fn ask(folder: &Path, questions: &[Request], access: Access) {
    let options =
        OpenOptions { ingest: false, access, caching: Caching::Rows(1), ..OpenOptions::default() };
    let Ok(run) = tagq::open(folder, &options, &Silent) else { return };
    let setup = Setup::default();
    let context = QueryContext::new(&setup, &POOL, &Silent);
    for question in questions {
        let question = &bounded(question, &run);
        check(&run, question.ask(&run, &context));
        check(&run, question.explain(&run, &context));
        if let Request::Coincidences(_) = question
            && let Ok(listing) = question.listing(&run, &context)
        {
            let mut batches = 0;
            check(
                &run,
                listing.stream(&mut |_| {
                    batches += 1;
                    if batches < 20 { Ok(()) } else { Err(std::io::Error::other("enough")) }
                }),
            );
        }
        if let Request::Histogram(of) = question {
            let channels = of.start.iter().chain(&of.stop).cloned().collect();
            let delays = Delays { channels, range: None, selection: of.selection.clone() };
            check(&run, delays.ask(&run, &context));
        }
    }
    check(&run, POOL.install(|| run.shortest_intervals(None)));
    check(&run, run.verify(true, None, &mut |_, _| ()));
    let _: (Vec<_>, i128, i128) = (run.notes(), run.live_ticks(), run.elapsed_ticks());
}

/// The question with some hundred bins at most, however long the run says that it is: millions are counted,
/// but not often.
fn bounded(question: &Request, run: &Run) -> Request {
    let mut question = question.clone();
    let bin = match &mut question {
        Request::Coincidences(of) => &mut of.bin,
        Request::MicroTimes(of) => &mut of.trace,
        Request::Rates(of) => &mut of.bin,
        Request::Histogram(_) | Request::Histogram2d(_) | Request::Image(_) => {
            return question;
        }
    };
    if bin.is_some() {
        *bin = format!("{}t", 1_000 + run.elapsed_ticks() / 300).parse().ok();
    }
    question
}

/// An error that says that rows are out of order is right: they fall, or leave the span of their source. What is refused
/// as damaged is not verified.
fn check<T>(run: &Run, found: Result<T, impl Into<Error>>) {
    let Err(error) = found.map_err(Into::into) else { return };
    if let Some(RunError::Store(error)) = error.run()
        && error.is_damage()
    {
        assert!(run.verify(false, None, &mut |_, _| ()).is_err(), "{error}");
    }
    let Some(&RunError::Unordered { row, block, .. }) = error.run() else { return };
    assert_eq!(block, row / 65_536);
    let time = run.store().tags().time;
    let is_in_order = run.store().sources().all(|(source, rows)| {
        let span = source.time_first.zip(source.time_last);
        let inside = |time: &i64| span.is_some_and(|(first, last)| (first..=last).contains(time));
        let times = time.rows(rows).to_vec();
        times.is_sorted() && times.iter().all(inside)
    });
    assert!(!is_in_order, "row {row}");
}

fn channel(recipe: &mut Recipe<'_>) -> Channel {
    Channel::Number(match recipe.byte() {
        255 => 300,
        label => u16::from(label % 6),
    })
}

/// A duration in ticks.
fn ticks<T: std::str::FromStr>(recipe: &mut Recipe<'_>, most: u64) -> Option<T> {
    format!("{}t", recipe.word() % most).parse().ok()
}

/// The width of a bin of time, so that a store has hundreds of them and not millions.
fn bin<T: std::str::FromStr>(recipe: &mut Recipe<'_>) -> Option<T> {
    format!("{}t", 1_000 + recipe.word() % (1 << 40)).parse().ok()
}

fn selection(recipe: &mut Recipe<'_>) -> Selection {
    let mut selection = Selection::default();
    if recipe.byte() % 4 == 3 {
        selection.from = ticks(recipe, 1 << 62);
        selection.to = ticks(recipe, 1 << 62);
    }
    if recipe.byte() % 8 == 7 {
        selection.last = ticks(recipe, 1 << 62);
    }
    for _ in 0..recipe.below(3) {
        selection
            .delays
            .extend(ticks(recipe, 1 << 20).map(|delay| DelayAsked::Of(channel(recipe), delay)));
    }
    selection.join = recipe.byte() % 8 == 7;
    selection
}

fn width(ticks: Option<Duration>) -> Option<BinWidth> {
    ticks.and_then(|ticks| ticks.asked().parse().ok())
}

fn errors(recipe: &mut Recipe<'_>) -> Errors {
    if recipe.byte() % 8 == 7 { Errors::Blocks(3) } else { Errors::Formula }
}

/// A histogram of any channels, with a range that is not long.
fn histogram(recipe: &mut Recipe<'_>, selection: Selection) -> Histogram {
    let modes = [Mode::All, Mode::All, Mode::Next, Mode::Last, Mode::Grid];
    let mode = modes[recipe.below(modes.len())];
    let log = (recipe.byte() % 4 == 3).then(|| 1 + recipe.below(20) as u32);
    // Bins of one width are many.
    let most = if log.is_some() { 1 << 45 } else { 1 << 17 };
    let (low, high) = (recipe.word() % most, recipe.word() % most);
    let range = match recipe.below(3) {
        0 => None,
        1 => format!("{high}t").parse().ok(),
        _ => format!("{low}t..{high}t").parse().ok(),
    };
    let g2 = recipe.byte() % 4 == 3;
    let is_pulsed = g2 && recipe.byte() % 4 == 3;
    let pulsed = if is_pulsed { ticks(recipe, 1 << 40).map(PulsePeriod::Stated) } else { None };
    let number = |recipe: &mut Recipe<'_>| recipe.is().then(|| u32::from(recipe.byte()));
    Histogram {
        start: Some(channel(recipe)),
        stop: Some(channel(recipe)),
        bin: width(ticks(recipe, 1 << 30)),
        by: None,
        exact_bins: false,
        range,
        log,
        mode,
        period: None,
        sync_divider: (recipe.byte() % 16 == 15).then_some(3),
        g2,
        peak: if is_pulsed { ticks(recipe, 1 << 40) } else { None },
        pulsed,
        sides: number(recipe),
        skip: number(recipe),
        errors: Some(errors(recipe)),
        covariance: false,
        selection,
        kept: KeptBins::default(),
    }
}

fn question(recipe: &mut Recipe<'_>) -> Request {
    let selection = selection(recipe);
    match recipe.below(9) {
        8 => {
            let cases = cases();
            let (name, options) = &cases[recipe.below(cases.len())];
            let mut request = Request::of_options(name, options.clone()).unwrap();
            let channels = std::mem::take(&mut request.selection_mut().channels);
            *request.selection_mut() = Selection { channels, ..selection };
            request
        }
        0 => {
            let bin = if recipe.is() { bin(recipe) } else { None };
            Request::Rates(Rates {
                selection,
                bin: width(bin),
                by: None,
                exact_bins: false,
                errors: errors(recipe),
            })
        }
        1..4 => Request::Histogram(histogram(recipe, selection)),
        7 => {
            let (low, width) = (recipe.word() % (1 << 17), 1 + recipe.below(1 << 12));
            Request::Histogram2d(Histogram2d {
                herald: Some(channel(recipe)),
                a: Some(channel(recipe)),
                b: Some(channel(recipe)),
                bin: format!("{width}t").parse().ok(),
                exact_bins: false,
                range: format!("{low}t..{}t", low + 40 * width as u64).parse().ok(),
                g3: recipe.is(),
                selection,
            })
        }
        _ => {
            let rules = [
                Rule::All,
                Rule::All,
                Rule::Herald,
                Rule::PerHerald,
                Rule::Once,
                Rule::Cluster,
                Rule::Grid,
            ];
            let rule = rules[recipe.below(rules.len())];
            let size =
                |recipe: &mut Recipe<'_>| if rule == Rule::Grid { 2 } else { 2 + recipe.below(3) };
            let groups = match rule {
                Rule::Cluster => 0,
                _ => recipe.below(3),
            };
            let group =
                |recipe: &mut Recipe<'_>| (0..size(recipe)).map(|_| channel(recipe)).collect();
            let groups = (0..groups).map(|_| group(recipe)).collect();
            let window = ticks(recipe, 1 << 36).unwrap_or_else(|| "1t".parse().unwrap());
            let shift = ticks(recipe, 1 << 20);
            let accidentals = match recipe.byte() % 8 {
                7 => Accidentals::Shifted(2),
                _ => Accidentals::Formula,
            };
            Request::Coincidences(Coincidences {
                window: Some(window),
                full_width: None,
                groups,
                choose: None,
                rule,
                veto: if recipe.byte() % 4 == 3 { vec![channel(recipe)] } else { Vec::new() },
                guard: ticks(recipe, 1 << 20),
                accidentals,
                shift: shift.filter(|_| accidentals != Accidentals::Formula),
                errors: errors(recipe),
                bin: if recipe.byte() % 8 == 7 { width(bin(recipe)) } else { None },
                by: None,
                exact_bins: false,
                selection,
            })
        }
    }
}
