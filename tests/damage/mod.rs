//! Damaged stores: every kind of query and copy gives the right answer or an error, and nothing that was counted in damaged
//! rows is kept.
//!
//! `cargo xtask damage` tries many places and writes the table of docs/damage.md; the ordinary tests try a few.

mod questions;
mod stores;

use std::{
    collections::BTreeMap,
    env,
    fmt::{Display, Write as _},
    fs,
    path::Path,
    sync::LazyLock,
    thread,
};

use tagq::{
    Caching, Delays, OpenOptions, ReproduceOptions, Run, RunError, SavedAnswer, Search as _,
    SettingScan, Silent, TagOrigin, TagSelection, derive,
    files::{
        Settings,
        write::{Content, Form, Packing},
    },
    open,
    requests::{QueryContext, Request, Setup},
};
use tagq_export::{report::json, write_tags};

use questions::{Asked, Question, questions};
use stores::{File, Made, VERSIONS, files, stores};

static POOL: LazyLock<rayon::ThreadPool> =
    LazyLock::new(|| rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap());

/// How bytes of a file are damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Damage {
    /// One bit has the other value.
    Flip,
    /// A page of 4 KiB holds zeros.
    LostPage,
    /// The file ends too early.
    Cut,
}

/// The outcomes of a kind of query under damage.
#[derive(Debug, Clone, Copy, Default)]
struct Outcomes {
    same: u32,
    refused: u32,
    /// Another answer, without an error.
    silent: u32,
}

/// Without a number of places, one of these many questions is asked, another one after each damage.
const TURNS: usize = 127;

/// The outcomes for each version of the format, kind of file, damage and kind of query.
type Table = BTreeMap<(u32, &'static str, Damage, &'static str), Outcomes>;

/// Returns the answer to a query that was asked before, as a file has it; no text for other questions.
fn saved(folder: &Path, question: &Question) -> Result<String, tagq::Error> {
    let Asked::Reproduced(query, options) = &question.asked else { return Ok(String::new()) };
    let run: Run = open(folder, &options_of(Caching::Off), &Silent)?;
    let setup = Setup::default();
    let request = Request::of_options(query, options.clone())?;
    let answer = request.ask(&run, &QueryContext::new(&setup, &POOL, &Silent))?;
    Ok(json::line(&answer).unwrap())
}

fn options_of(caching: Caching) -> OpenOptions {
    OpenOptions { ingest: false, caching, ..OpenOptions::default() }
}

fn checksum(bytes: &[u8]) -> String {
    format!("{:08x}", tagq::store::checksum::crc32c(bytes))
}

/// Returns the checksum of the tags as text.
fn converted(run: &Run) -> Result<String, RunError> {
    let form = Form { content: Content::Tabs, packing: Packing::Plain };
    let (settings, shown) = (Settings::default(), Path::new("a copy"));
    let copy = tagq::write(
        TagOrigin::Run(run, &TagSelection::default()),
        Vec::new(),
        &form,
        &settings,
        None,
        shown,
    );
    copy.map(|(bytes, _)| checksum(&bytes))
}

fn refused(error: impl Display) -> String {
    error.to_string()
}

/// Returns the complete content of an answer, or why it is refused; `saved` is the answer that is reproduced.
fn answer(
    folder: &Path,
    question: &Question,
    saved: &str,
    caching: Caching,
) -> Result<String, String> {
    let open_options = options_of(caching);
    if let Asked::Reproduced(..) = question.asked {
        let answers = SavedAnswer::parse(saved.as_bytes(), Path::new("answer.json")).unwrap();
        let options = ReproduceOptions { runs: Vec::new(), open: open_options };
        let found = answers[0].reproduce(&options, &POOL, &Silent).map_err(refused)?;
        return Ok(format!("{} of {} values differ", found.different, found.rows));
    }
    let run: Run = open(folder, &open_options, &Silent).map_err(refused)?;
    let setup = Setup::default();
    let context = QueryContext::new(&setup, &POOL, &Silent);
    match &question.asked {
        Asked::Reproduced(..) => unreachable!(),
        Asked::Query(query, options) => {
            let request = Request::of_options(query, options.clone()).unwrap();
            let answer = request.ask(&run, &context).map_err(refused)?;
            Ok(format!("{:?} {:?}", answer.singles, answer.rows))
        }
        Asked::Scan(query, options) => {
            let scan = SettingScan::of_options(query, options.clone(), None).unwrap();
            let answer = scan.ask(&[(&run, &context)]).map_err(refused)?;
            Ok(format!("{:?}", answer.rows))
        }
        Asked::Delays(options) => {
            let found = Delays::of_options(options).unwrap();
            let found = found.ask(&run, &context).map_err(refused)?;
            Ok(format!("{:?} {:?}", found.delays, found.answer.rows))
        }
        Asked::Converted => converted(&run).map_err(refused),
        Asked::Exported(form) => {
            let written = write_tags(&run, &TagSelection::default(), Vec::new(), *form);
            written.map(|(bytes, _)| checksum(&bytes)).map_err(|error| error.to_string())
        }
        Asked::Derived(of) => {
            let at = tempfile::tempdir().unwrap();
            let at = at.path().join("copy.tagq");
            let copy = derive(&run, &setup, of, Some(&at), &Silent).map_err(refused)?;
            Ok(converted(&copy).unwrap())
        }
    }
}

/// Removes the cached results and the views of a store.
fn forget(folder: &Path) {
    for kept in ["cache", "views"] {
        let _: Result<(), _> = fs::remove_dir_all(folder.join(kept));
    }
}

/// The pseudo-random numbers of the places.
struct Places(u64);

impl Places {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}

impl Damage {
    /// Damages the values of a file. Returns `None` if nothing changes.
    fn of(self, file: &File, places: &mut Places) -> Option<Vec<u8>> {
        let mut bytes = file.bytes.clone();
        let values = &mut bytes[file.values.clone()];
        match self {
            Self::Flip => {
                let bit = places.below(values.len() * 8);
                values[bit / 8] ^= 1 << (bit % 8);
            }
            Self::LostPage => {
                let page = places.below(values.len().div_ceil(4096));
                values.chunks_mut(4096).nth(page).unwrap().fill(0);
            }
            Self::Cut => {
                let left = file.values.start + places.below(file.values.len());
                bytes.truncate(left);
            }
        }
        (bytes != file.bytes).then_some(bytes)
    }
}

/// Damages each file of each store `tries` times in each way, and asks every question, or some of them in turn.
fn tried(tries: usize, asks_all: bool) -> Table {
    let stores = stores();
    thread::scope(|scope| {
        let of_store =
            |(number, store)| scope.spawn(move || tried_in(store, number, tries, asks_all));
        let tables: Vec<_> = stores.iter().enumerate().map(of_store).collect();
        let mut all = Table::new();
        for (key, more) in tables.into_iter().flat_map(|table| table.join().unwrap()) {
            let Outcomes { same, refused, silent } = all.entry(key).or_default();
            (*same, *refused, *silent) =
                (*same + more.same, *refused + more.refused, *silent + more.silent);
        }
        all
    })
}

fn tried_in(store: &Made, number: usize, tries: usize, asks_all: bool) -> Table {
    // Other questions in each store.
    let mut turn = 31 * number;
    let mut is_kept = false;
    let mut table = Table::new();
    let mut places = Places(number as u64);
    let folder = store.folder();
    // Version 1 has no micro times.
    let has_it = |of: &Question| store.version > 1 || of.kind != "micro times";
    let questions: Vec<Question> = questions().into_iter().filter(has_it).collect();
    let mut intact: Vec<Option<(String, String)>> = vec![None; questions.len()];
    for file in files(folder) {
        for damage in [Damage::Flip, Damage::LostPage, Damage::Cut] {
            for _ in 0..tries {
                let Some(bytes) = damage.of(&file, &mut places) else { continue };
                let mut asked = Vec::new();
                for (question, intact) in questions.iter().zip(&mut intact) {
                    turn += 1;
                    if asks_all || turn.is_multiple_of(TURNS) {
                        let (saved, right) = &*intact.get_or_insert_with(|| {
                            let saved = saved(folder, question).unwrap();
                            let right = answer(folder, question, &saved, Caching::Off).unwrap();
                            (saved, right)
                        });
                        is_kept = !is_kept;
                        let caching = if is_kept { Caching::Rows(1) } else { Caching::Off };
                        asked.push((question, saved, right, caching));
                    }
                }
                fs::write(&file.path, &bytes).unwrap();
                for &(question, saved, right, caching) in &asked {
                    let key = (store.version, file.kind, damage, question.kind);
                    let outcomes = table.entry(key).or_default();
                    match answer(folder, question, saved, caching) {
                        Err(_) => outcomes.refused += 1,
                        Ok(answer) if answer == *right => outcomes.same += 1,
                        Ok(_) => outcomes.silent += 1,
                    }
                }
                fs::write(&file.path, &file.bytes).unwrap();
                // Nothing that was counted in the damaged rows is found again.
                for &(question, saved, right, caching) in &asked {
                    if caching != Caching::Off {
                        let again = answer(folder, question, saved, caching).unwrap();
                        let of = (store.version, file.kind, damage, question.kind);
                        assert_eq!(again, *right, "{of:?}");
                    }
                }
                forget(folder);
            }
        }
    }
    table
}

fn page(table: &Table, tries: usize) -> String {
    let all: u32 = table.values().map(|of| of.same + of.refused + of.silent).sum();
    let silent: u32 = table.values().map(|of| of.silent).sum();
    let mut text = format!(
        "# Does a query notice damage?\n\n\
         Of {all} answers over damaged files, {silent} were wrong without an error (*silent*). Each of the others was right, because the \
         query does not use the damaged bytes, or was refused with an error. A file that is cut short is refused by every \
         query. What somebody changed together with its checksum is not noticed ([format.md](format.md), \"Damage\").\n\n\
         Each file of eight stores is damaged in {tries} random places, by a flipped bit or a lost page (4 KiB of zeros), and each kind \
         of query is asked, a scan, an answer is reproduced, and tags are copied (converted, exported, derived). The stores have the \
         versions 4 (gaps, far distances, steps and a file of dead spans), 3 (without that file), 2 (a column of times, and gaps) \
         and 1 (times and labels alone); one of each is dense and one is thin. All have two sources, and all but version 1 \
         micro times. Every second query may keep results and views; it is asked again after the file was repaired, and its answer \
         is right then. `cargo xtask damage` makes this page.\n\n\
         | file | silent answers, version 4 | version 3 | version 2 | version 1 |\n|---|--:|--:|--:|--:|\n"
    );
    let mut files: Vec<&str> = table.keys().map(|(_, file, ..)| *file).collect();
    files.sort_unstable();
    files.dedup();
    for file in files {
        let silent = |version: u32| {
            let of = table.iter().filter(|((of, name, ..), _)| (*of, *name) == (version, file));
            let of: Vec<&Outcomes> = of.map(|(_, outcomes)| outcomes).collect();
            let all: u32 = of.iter().map(|of| of.same + of.refused + of.silent).sum();
            let silent: u32 = of.iter().map(|of| of.silent).sum();
            if all == 0 { "no such file".to_owned() } else { format!("{silent} of {all}") }
        };
        writeln!(text, "| {file} | {} |", VERSIONS.map(silent).join(" | ")).unwrap();
    }
    let [newest, ..] = VERSIONS;
    text.push_str("\nRight / refused / silent answers of each query in the newest version:\n");
    for (damage, title) in [(Damage::Flip, "A flipped bit"), (Damage::LostPage, "A lost page")] {
        let is_shown = |of: &(u32, &str, Damage, &str)| (of.0, of.2) == (newest, damage);
        let of = table.iter().filter(|(key, _)| is_shown(key));
        let mut files: Vec<&str> = of.clone().map(|((_, file, ..), _)| *file).collect();
        files.dedup();
        let mut rows: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for ((.., kind), Outcomes { same, refused, silent }) in of {
            rows.entry(kind).or_default().push(format!("{same} / {refused} / {silent}"));
        }
        let columns = "--:|".repeat(files.len());
        let heads = files.join(" | ");
        writeln!(text, "\n## {title}\n").unwrap();
        writeln!(text, "| query | {heads} |\n|---|{columns}").unwrap();
        for (kind, places) in rows {
            writeln!(text, "| {kind} | {} |", places.join(" | ")).unwrap();
        }
    }
    text
}

#[test]
fn no_damage_stays_silent() {
    let tries = env::var("TAGQ_DAMAGE").ok().map(|tries| tries.parse().unwrap());
    let table = tried(tries.unwrap_or(1), tries.is_some());
    let text = page(&table, tries.unwrap_or(1));
    println!("{text}");
    if tries.is_some() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/damage.md");
        fs::write(page, &text).unwrap();
    }
    for ((version, file, damage, kind), outcomes) in table {
        let of = format!("version {version}, {file}, {damage:?}, {kind}: {outcomes:?}");
        assert_eq!(outcomes.silent, 0, "{of}");
        if damage == Damage::Cut {
            assert_eq!((outcomes.same, outcomes.silent), (0, 0), "{of}");
        }
    }
}
