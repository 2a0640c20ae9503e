//! Answers continued from the cache equal a count from scratch.

#[cfg(unix)]
use std::os::unix::fs::symlink;
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, LazyLock, Mutex, atomic::AtomicU64},
    time::{Duration, SystemTime},
};

use proptest::prelude::*;
use serde_json::json;
use tagq::{
    Answer, AskError, Caching, OpenOptions, Progress, Run, Silent, StoreChanges, change_store,
    open,
    query::{Rule, oracle},
    requests::{
        Channel, DelayAsked, Errors, OptionValues, QueryContext, Request, Selection, Setup, cases,
    },
    store::{Creation, RunId, SourceFacts, Tick, Writer, os},
};
use tagq_sampling::{random_cases, some, some_requests};

/// Rows per block.
const BLOCK: usize = 1 << 16;
/// The channel of most tags, which the oracle does not need.
const CROWD: u16 = 7;

/// Time and label of each tag.
type Tags = Vec<(i64, u16)>;

static POOL: LazyLock<rayon::ThreadPool> =
    LazyLock::new(|| rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap());

/// Returns the answer for a run.
fn answer_of(request: &Request, run: &Run) -> Answer {
    asked(request, run).unwrap()
}

fn asked(request: &Request, run: &Run) -> Result<Answer, AskError> {
    let setup = Setup::default();
    let context = QueryContext::new(&setup, &POOL, &Silent);
    request.ask(run, &context)
}

fn with_selection(mut request: Request, change: impl FnOnce(&mut Selection)) -> Request {
    change(request.selection_mut());
    request
}

fn pair(rule: &str) -> Request {
    let options = json!({"window": "9t", "rule": rule, "groups": [["1", "2"]]});
    Request::of_options("coincidences", options.as_object().unwrap().clone()).unwrap()
}

/// Returns some ways to count, with options that change how it is counted.
fn questions() -> Vec<Request> {
    some_requests(cases())
        .into_iter()
        .map(|(name, options)| Request::of_options(name, options).unwrap())
        .collect()
}

fn run_of(store: &Path, caching: Caching) -> Run {
    open(store, &OpenOptions { caching, ..OpenOptions::default() }, &Silent).unwrap()
}

/// Returns the complete content of an answer.
fn said(answer: &Answer) -> String {
    format!("{} {} {:?} {:?}", answer.header, answer.query, answer.run, answer.rows)
}

/// Queries with and without the cache, and compares the answers.
fn compare(store: &Path, questions: &[Request]) {
    let (kept, again) = (run_of(store, Caching::Rows(1)), run_of(store, Caching::Off));
    for (number, question) in questions.iter().enumerate() {
        let (kept, again) = (said(&answer_of(question, &kept)), said(&answer_of(question, &again)));
        assert_eq!(kept, again, "question {number}");
    }
}

#[test]
fn a_start_without_a_stop_gets_one_that_comes_late() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("run.tagq");
    let next = |ends: [&str; 2]| {
        let [start, stop] = ends;
        let options = json!({"start": start, "stop": stop, "mode": "next", "range": "0t..10t"});
        Request::of_options("histogram", options.as_object().unwrap().clone()).unwrap()
    };
    let questions = [next(["1", "1"]), next(["1", "2"])];
    let label = |row: i64| if row == 9 { 1 } else { CROWD };
    append(&store, &(0..150_000).map(|row| (row, label(row))).collect::<Vec<_>>(), true);
    compare(&store, &questions);
    assert!(!kept_files(&store).is_empty());
    // The stops of the tag in row 9.
    append(&store, &[(150_000, CROWD), (150_001, 1), (150_001, 2)], false);
    compare(&store, &questions);
}

fn kept_files(store: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(store.join("cache")) else { return vec![] };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn writer(store: &Path) -> Writer {
    let run_id = Some(RunId([9; 16]));
    Writer::open(store, &Creation { tick: Tick::DEFAULT, tick_assumed: false, run_id }).unwrap()
}

/// Appends to the last source, or to a new one, and commits.
fn append(store: &Path, tags: &[(i64, u16)], is_new: bool) {
    let mut writer = writer(store);
    if is_new || writer.continue_source().is_none() {
        writer.begin_source();
    }
    let (times, labels): (Vec<i64>, Vec<u16>) = tags.iter().copied().unzip();
    writer.set_micro_tick("25ps".parse().unwrap()).unwrap();
    let micro: Vec<u32> = times.iter().map(|time| (time.unsigned_abs() % 50) as u32).collect();
    writer.append_with_micro(&times, &labels, &micro).unwrap();
    writer.finish_source(SourceFacts::named("by hand"));
    writer.commit().unwrap();
}

/// Returns random numbers from a seed.
fn random(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 20) % below
    }
}

/// Returns rows with many equal times: rare tags among those of one channel, but all channels in dense order
/// near the ends of blocks, where cached results end. Channels 4 and 300 appear late.
fn tags(rows: usize, seed: u64) -> Tags {
    let mut below = random(seed);
    let mut time = -30_000;
    let tag = |row: usize| {
        let is_seam = (row + 60) % BLOCK < 120;
        time += [0, 0, 1, 1, 2][usize::try_from(below(5)).unwrap()];
        let labels = if row > rows / 2 { [1, 2, 3, 4, 300, 2] } else { [1, 2, 3, 1, 2, 2] };
        let label = labels[usize::try_from(below(6)).unwrap()];
        let is_rare = below(if is_seam { 2 } else { 3_000 }) == 0;
        (time, if is_rare { label } else { CROWD })
    };
    (0..rows).map(tag).collect()
}

/// Generates delays in ticks, short ones and ones longer than a block.
fn delays() -> impl Strategy<Value = Vec<(u16, i64)>> {
    let ticks = prop_oneof![-30_i64..30, -90_000_i64..90_000];
    prop::collection::vec(ticks, 0..4).prop_map(|ticks| (1..).zip(ticks).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..random_cases(6) })]

    #[test]
    fn answers_are_those_of_counting_everything(
        seed: u64,
        // In rows before or after the end of a block.
        cuts in prop::collection::vec((1_usize..4, -90_isize..90), 1..5),
        new in prop::collection::vec(any::<bool>(), 5),
        delays in delays(),
        is_joined: bool,
        from in prop::option::weighted(0.3, 0_u32..60_000),
        to in prop::option::weighted(0.3, 60_000_u32..190_000),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("run.tagq");
        let all = tags(3 * BLOCK + 200, seed);
        let mut cuts: Vec<usize> = cuts
            .into_iter()
            .map(|(block, aside)| (block * BLOCK).checked_add_signed(aside).unwrap())
            .collect();
        cuts.push(all.len());
        cuts.sort_unstable();
        let choose = |selection: &mut Selection| {
            selection.join = is_joined;
            selection.from = from.map(|ticks| format!("{ticks}t").parse().unwrap());
            selection.to = to.map(|ticks| format!("{ticks}t").parse().unwrap());
            let delay = |&(label, ticks): &(u16, i64)| {
                DelayAsked::Of(Channel::Number(label), format!("{ticks}t").parse().unwrap())
            };
            selection.delays = delays.iter().map(delay).collect();
        };
        let chosen = |(name, options): (&str, OptionValues)| {
            let has_delays = options.contains_key("delays");
            let question = Request::of_options(name, options).unwrap();
            if has_delays { question } else { with_selection(question, choose) }
        };
        let questions: Vec<Request> = cases().into_iter().map(chosen).collect();
        let mut sources: Vec<Tags> = Vec::new();
        let mut row = 0;
        for (cut, is_new) in cuts.into_iter().zip(new) {
            append(&store, &all[row..cut], is_new);
            if is_new || sources.is_empty() {
                sources.push(Vec::new());
            }
            let rare = all[row..cut].iter().filter(|&&(_, label)| label != CROWD);
            sources.last_mut().unwrap().extend(rare);
            row = cut;
            compare(&store, &questions);
        }
        prop_assert!(!kept_files(&store).is_empty());
        // The cached result was merged from many parts: compare it with the oracle.
        if is_joined {
            sources = vec![sources.concat()];
        }
        let range = [from, to].map(|side| side.map(|ticks| all[0].0 + i64::from(ticks)));
        let answer = answer_of(&questions[0], &run_of(&store, Caching::Rows(1)));
        let counts = answer.rows.numbers("count");
        for (group, count) in [&[1, 2][..], &[3, 1, 2], &[2, 4]].into_iter().zip(counts) {
            let [from, to] = range;
            let expected =
                oracle::coincidences(&sources, group, Rule::All, 9, &delays, (&[], 0), (from, to));
            prop_assert_eq!(count, Some(expected as f64), "{:?}", group);
        }
    }
}

/// Creates the store of a run with a cached result of every query.
fn kept_store(folder: &Path) -> (PathBuf, Tags) {
    let store = folder.join("run.tagq");
    let all = tags(3 * BLOCK + 200, 5);
    append(&store, &all[..2 * BLOCK + 100], true);
    compare(&store, &questions());
    (store, all)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

#[test]
fn what_is_final_is_not_counted_again() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = kept_store(folder.path());
    let before: Vec<String> = questions()
        .iter()
        .map(|question| said(&answer_of(question, &run_of(&store, Caching::Off))))
        .collect();
    // Change rows of the first block without changing the index. None of its rows is read again, because N
    // comes from the manifest. A label above 255 has made the column wide.
    let is_labels =
        |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("channel.");
    let labels = fs::read_dir(&store).unwrap().map(|entry| entry.unwrap().path()).find(is_labels);
    let labels = File::options().write(true).open(labels.unwrap()).unwrap();
    os::write_all_at(&labels, &[2, 0].repeat(BLOCK), 4_096).unwrap();
    let questions = questions();
    let each = questions.iter().zip(&before).filter(|(question, _)| !has_n_of_rows(question));
    for (number, (question, before)) in each.enumerate() {
        let again = asked(question, &run_of(&store, Caching::Off));
        let kept = asked(question, &run_of(&store, Caching::Rows(1)));
        // No tag is of channel 9, so there are no coincidences to look for; a histogram reads the other channel.
        let reads_none = question.named().contains(&&Channel::Number(9))
            && matches!(question, Request::Coincidences(_));
        assert_eq!(again.is_ok(), reads_none, "question {number}: {question:?}");
        if question.recount_reason().is_some() {
            assert_eq!(kept.is_ok(), reads_none, "question {number}");
        } else {
            let kept =
                kept.unwrap_or_else(|error| panic!("question {number}: {error}: {question:?}"));
            assert_eq!(&said(&kept), before, "question {number}");
        }
    }
}

/// Returns whether its blocks, its bins or the N of its bins or lags are also read from rows, not from the index alone.
fn has_n_of_rows(question: &Request) -> bool {
    match question {
        // Shifted tags have partners from the first row on.
        Request::Coincidences(of) => {
            let is_by_formula = of.accidentals == tagq::requests::Accidentals::Formula;
            of.bin.is_some() || of.errors != Errors::Formula || !is_by_formula
        }
        Request::Histogram(of) => {
            let are_chosen = of.bin.is_none() && of.log.is_none();
            of.g2 || are_chosen || of.errors.is_some_and(|errors| errors != Errors::Formula)
        }
        // The largest micro time.
        Request::MicroTimes(of) => of.range.is_none(),
        Request::Histogram2d(_) | Request::Image(_) => false,
        Request::Rates(_) => true,
    }
}

/// The rows of a store are the same with a column of times and without it, so cached results are valid for both.
#[test]
fn results_stay_cached_when_times_are_dropped_and_made() {
    let folder = tempfile::tempdir().unwrap();
    let (store, all) = kept_store(folder.path());
    let bytes = |files: Vec<PathBuf>| -> Vec<(PathBuf, Vec<u8>)> {
        files.into_iter().map(|file| (file.clone(), fs::read(file).unwrap())).collect()
    };
    let rows = writer(&store).manifest().rows_id();
    for times in [false, true, false] {
        let changes = StoreChanges { times: Some(times), ..StoreChanges::default() };
        let kept = bytes(kept_files(&store));
        let sizes = change_store(&store, None, changes, &Silent).unwrap().unwrap();
        assert_eq!(sizes.before < sizes.after, times, "{sizes:?}");
        assert_eq!(writer(&store).manifest().rows_id(), rows);
        compare(&store, &questions());
        assert!(bytes(kept_files(&store)) == kept, "a result was counted again: times {times}");
    }
    append(&store, &all[2 * BLOCK + 100..], false);
    compare(&store, &questions());
}

#[test]
fn files_that_are_torn_or_foreign_are_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = kept_store(folder.path());
    let question = [pair("once")];
    fs::remove_dir_all(store.join("cache")).unwrap();
    compare(&store, &question);
    let file = kept_files(&store).remove(0);
    let whole = fs::read(&file).unwrap();
    // A crash leaves the old file, or a new one without all its bytes; a faulty disk changes some.
    for len in some(0..whole.len()) {
        fs::write(&file, &whole[..len]).unwrap();
        compare(&store, &question);
        assert_eq!(fs::read(&file).unwrap(), whole, "{len} bytes are written again");
    }
    for at in some(0..whole.len()) {
        let mut changed = whole.clone();
        changed[at] ^= 0x10;
        fs::write(&file, &changed).unwrap();
        compare(&store, &question);
        assert_eq!(fs::read(&file).unwrap(), whole, "byte {at}");
    }
    // Under the name of another query.
    let other = [pair("all")];
    compare(&store, &other);
    let others = kept_files(&store).into_iter().find(|other| *other != file).unwrap();
    fs::copy(&file, &others).unwrap();
    compare(&store, &other);
    // An obstacle in place of the file is not an error.
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    compare(&store, &question);
}

#[test]
fn a_store_that_went_back_and_grew_otherwise_has_its_own_answers() {
    let folder = tempfile::tempdir().unwrap();
    let (store, all) = kept_store(folder.path());
    let older = folder.path().join("older");
    copy(&store, &older);
    append(&store, &all[2 * BLOCK + 100..], false);
    compare(&store, &questions());
    // Power loss: the older commit is back, with the newer cache. Then the same number of other rows arrives.
    fs::remove_dir_all(older.join("cache")).unwrap();
    copy(&store.join("cache"), &older.join("cache"));
    compare(&older, &questions());
    copy(&store.join("cache"), &older.join("cache"));
    let last = all[2 * BLOCK + 99].0;
    let others: Tags =
        tags(BLOCK + 100, 77).iter().map(|&(time, label)| (time + 30_000 + last, label)).collect();
    append(&older, &others, false);
    compare(&older, &questions());
    // The same rows in other sources are a different run for tuples that would span two sources.
    let cut = folder.path().join("cut");
    append(&cut, &all[..BLOCK - 3], true);
    append(&cut, &all[BLOCK - 3..], true);
    copy(&store.join("cache"), &cut.join("cache"));
    compare(&cut, &questions());
}

#[test]
fn only_what_is_worth_it_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("run.tagq");
    append(&store, &tags(3 * BLOCK + 200, 5), true);
    let pair = || pair("all");
    let select = |change: fn(&mut Selection)| with_selection(pair(), change);
    let moving = [
        select(|selection| selection.last = Some("5us".parse().unwrap())),
        select(|selection| selection.from = Some("-5us".parse().unwrap())),
        select(|selection| selection.to = Some("-1t".parse().unwrap())),
        cases()
            .into_iter()
            .find(|(_, options)| options.contains_key("sync_divider"))
            .map(|(name, options)| Request::of_options(name, options).unwrap())
            .unwrap(),
    ];
    for question in moving {
        assert!(question.recount_reason().is_some());
        answer_of(&question, &run_of(&store, Caching::Rows(1)));
    }
    assert!(pair().recount_reason().is_none());
    for caching in [Caching::Off, Caching::default(), Caching::Rows(4 * BLOCK as u64)] {
        answer_of(&pair(), &run_of(&store, caching));
    }
    assert!(kept_files(&store).is_empty());
    answer_of(&pair(), &run_of(&store, Caching::Rows(2 * BLOCK as u64)));
    let files = kept_files(&store);
    assert_eq!(files.len(), 1);
    // A few additional rows do not justify a write.
    let kept = fs::read(&files[0]).unwrap();
    let end = open(&store, &OpenOptions::default(), &Silent)
        .unwrap()
        .store()
        .manifest()
        .time_last
        .unwrap();
    append(&store, &vec![(end, 0); BLOCK / 8], false);
    compare(&store, &[]);
    answer_of(&pair(), &run_of(&store, Caching::Rows(2 * BLOCK as u64)));
    assert_eq!(fs::read(&files[0]).unwrap(), kept);
}

#[test]
fn many_at_once_do_not_disturb_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let (store, all) = kept_store(folder.path());
    let expected: Vec<String> = questions()
        .iter()
        .map(|question| said(&answer_of(question, &run_of(&store, Caching::Off))))
        .collect();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for (question, expected) in questions().iter().zip(&expected) {
                    let kept = said(&answer_of(question, &run_of(&store, Caching::Rows(1))));
                    assert_eq!(&kept, expected);
                    if let Some(file) = kept_files(&store).pop() {
                        drop(fs::remove_file(file));
                    }
                }
            });
        }
    });
    append(&store, &all[2 * BLOCK + 100..], false);
    compare(&store, &questions());
    assert!(kept_files(&store).iter().all(|file| file.extension().is_none()));
}

const PRECIOUS: &[u8] = b"the only photo of it";

/// Returns a store with enough rows for a cache, a query that is cached, and a folder outside.
fn store_and_outside(folder: &Path) -> (PathBuf, Request, PathBuf) {
    let (store, outside) = (folder.join("store"), folder.join("outside"));
    append(&store, &tags(2 * BLOCK + 200, 5), true);
    fs::create_dir(&outside).unwrap();
    (store, pair("all"), outside)
}

fn bytes_in(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    files.sort();
    files
}

#[test]
#[cfg(unix)]
fn a_cache_that_is_a_link_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (store, question, outside) = store_and_outside(folder.path());
    // More files than the cache may have, one of them unfinished.
    for i in 0..4_200 {
        fs::write(outside.join(format!("{i:016x}")), PRECIOUS).unwrap();
    }
    symlink(&outside, store.join("cache")).unwrap();
    let before = bytes_in(&outside);
    let notes = Notes::default();
    let options = OpenOptions { caching: Caching::Rows(1), ..OpenOptions::default() };
    answer_of(&question, &open(&store, &options, &notes).unwrap());
    assert!(bytes_in(&outside) == before, "something was written or removed outside");
    let notes = notes.0.into_inner().unwrap();
    assert!(notes.len() == 1 && notes[0].contains("cache: a symbolic link"), "{notes:?}");
}

#[test]
#[cfg(unix)]
fn only_what_the_cache_named_is_tidied() {
    let folder = tempfile::tempdir().unwrap();
    let (store, question, outside) = store_and_outside(folder.path());
    let cache = store.join("cache");
    fs::create_dir(&cache).unwrap();
    let old = SystemTime::now() - Duration::from_hours(1);
    let put = |name: &str| {
        fs::write(cache.join(name), PRECIOUS).unwrap();
        File::options().write(true).open(cache.join(name)).unwrap().set_modified(old).unwrap();
    };
    // Two more than the limit, including that of the query, and an unfinished one.
    (0..4_097).for_each(|i| put(&format!("{i:032x}")));
    // A name of before.
    put("0123456789abcdef");
    let unfinished = format!("{:032x}.new", 7);
    put(&unfinished);
    let strangers = ["photo.jpg", "notes.new", "0123", "0123456789ABCDEF", "0123456789abcdeg"];
    for name in strangers {
        put(name);
    }
    fs::write(outside.join("precious"), PRECIOUS).unwrap();
    symlink(outside.join("precious"), cache.join("ffffffffffffffff")).unwrap();
    answer_of(&question, &run_of(&store, Caching::Rows(1)));
    let left = fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<String> = left.map(|name| name.into_string().unwrap()).collect();
    assert_eq!(left.len(), 4_096 + strangers.len() + 1);
    assert!(strangers.iter().all(|name| left.iter().any(|left| left == name)));
    assert!(!left.contains(&unfinished) && !left.contains(&"0123456789abcdef".to_owned()));
    assert!(left.contains(&"ffffffffffffffff".to_owned()));
    assert_eq!(fs::read(outside.join("precious")).unwrap(), PRECIOUS);
}

#[test]
#[cfg(unix)]
fn an_answer_is_not_written_through_a_name_that_can_be_guessed() {
    let folder = tempfile::tempdir().unwrap();
    let (store, question, outside) = store_and_outside(folder.path());
    let cache = store.join("cache");
    fs::create_dir(&cache).unwrap();
    let precious = outside.join("precious");
    fs::write(&precious, PRECIOUS).unwrap();
    for number in 0..100 {
        let guessed = format!("{}-{number}.new", std::process::id());
        symlink(&precious, cache.join(guessed)).unwrap();
    }
    answer_of(&question, &run_of(&store, Caching::Rows(1)));
    assert_eq!(fs::read(&precious).unwrap(), PRECIOUS);
    // A link in place of the cached answer is replaced; its target is not.
    let is_answer = |path: &&PathBuf| path.extension().is_none();
    let kept = kept_files(&store);
    let answer = kept.iter().find(is_answer).unwrap();
    let bytes = fs::read(answer).unwrap();
    fs::remove_file(answer).unwrap();
    symlink(&precious, answer).unwrap();
    answer_of(&question, &run_of(&store, Caching::Rows(1)));
    assert_eq!(fs::read(&precious).unwrap(), PRECIOUS);
    assert!(!answer.is_symlink() && fs::read(answer).unwrap() == bytes);
    // A pipe does not block the query.
    fs::remove_file(answer).unwrap();
    assert!(Command::new("mkfifo").arg(answer).status().unwrap().success());
    answer_of(&question, &run_of(&store, Caching::Rows(1)));
    assert!(fs::metadata(answer).unwrap().is_file() && fs::read(answer).unwrap() == bytes);
}

/// Collects the notes.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Progress for Notes {
    fn source(&self, _: &str, _: u64, _: &Arc<AtomicU64>) {}
    fn done(&self) {}
    fn note(&self, note: &str) {
        self.0.lock().unwrap().push(note.into());
    }
}
