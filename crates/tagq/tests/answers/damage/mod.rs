//! Damaged stores: every kind of query gives the right answer or an error, except after the damage that docs/format.md
//! names.
//!
//! `cargo xtask damage` tries many places and writes the table of docs/damage.md; the ordinary tests try a few.

mod questions;
mod stores;

use std::{collections::BTreeMap, env, fmt::Write as _, fs, path::Path, sync::LazyLock};

use tagq::{
    Caching, Error, OpenOptions, Run, Silent, open,
    requests::{QueryContext, Request, Setup},
};

use questions::{Question, questions};
use stores::{File, files, stores};

static POOL: LazyLock<rayon::ThreadPool> =
    LazyLock::new(|| rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap());

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

/// What became of the answers of a kind of query.
#[derive(Debug, Clone, Copy, Default)]
struct Outcomes {
    same: u32,
    refused: u32,
    /// Another answer, without an error.
    silent: u32,
}

/// Without a number of places, one of these many questions is asked, another one after each damage.
const TURNS: usize = 7;

/// The outcomes for each version of the format, kind of file, damage and kind of query.
type Table = BTreeMap<(u32, &'static str, Damage, &'static str), Outcomes>;

/// Returns the complete content of an answer, or why it is refused.
fn answer(folder: &Path, question: &Question) -> Result<String, Error> {
    let options = OpenOptions { ingest: false, caching: Caching::Off, ..OpenOptions::default() };
    let run: Run = open(folder, &options, &Silent)?;
    let setup = Setup::default();
    let context = QueryContext::new(&setup, &POOL, &Silent);
    let request = Request::of_options(question.query, question.options.clone()).unwrap();
    let answer = request.ask(&run, &context)?;
    Ok(format!("{:?} {:?}", answer.singles, answer.rows))
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
    let mut turn = 0;
    let mut table = Table::new();
    let mut places = Places(1);
    let questions = questions();
    for store in stores() {
        let intact: Vec<_> =
            questions.iter().map(|of| answer(store.folder(), of).unwrap()).collect();
        for file in files(store.folder()) {
            for damage in [Damage::Flip, Damage::LostPage, Damage::Cut] {
                for _ in 0..tries {
                    let Some(bytes) = damage.of(&file, &mut places) else { continue };
                    if !file.is_noticeable(store.folder(), &bytes) {
                        continue;
                    }
                    fs::write(&file.path, &bytes).unwrap();
                    for (question, intact) in questions.iter().zip(&intact) {
                        turn += 1;
                        if !asks_all && turn % TURNS != 0 {
                            continue;
                        }
                        let key = (store.version, file.kind, damage, question.kind);
                        let outcomes = table.entry(key).or_default();
                        match answer(store.folder(), question) {
                            Err(_) => outcomes.refused += 1,
                            Ok(answer) if answer == *intact => outcomes.same += 1,
                            Ok(_) => {
                                outcomes.silent += 1;
                                if env::var_os("TAGQ_DAMAGE_SHOW").is_some() {
                                    let options = serde_json::to_string(&question.options).unwrap();
                                    println!(
                                        "version {}, {} {damage:?} {} {options}",
                                        store.version, file.kind, question.query
                                    );
                                }
                            }
                        }
                    }
                }
            }
            fs::write(&file.path, &file.bytes).unwrap();
        }
    }
    table
}

fn page(table: &Table, tries: usize) -> String {
    let mut text = format!(
        "# Does a query notice damage?\n\n\
         Each file of four stores is damaged in {tries} random places, and each kind of query is asked. The damage is \
         one flipped bit, or a lost page (4 KiB of zeros). Two stores have version 4: gaps, far distances, steps and a file of dead spans. The \
         other two have version 2, with a column of times and gaps. Of each two one is dense and one is thin; all have two \
         sources and micro times. An answer is right, or it is refused with an error, or it is *silent*: another answer \
         without an error. Each cell of the tables has right / refused / silent answers. `cargo xtask damage` makes this \
         page. A file that is cut short is refused by every query, in both versions.\n\n\
         Damage in a column of times that leaves the times in order is not counted here: no query notices it \
         ([format.md](format.md), \"Damage\"). `tagq verify` notices all damage.\n\n\
         | file | silent answers, version 4 | silent answers, version 2 |\n|---|--:|--:|\n"
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
        writeln!(text, "| {file} | {} | {} |", silent(4), silent(2)).unwrap();
    }
    for version in [4, 2] {
        for (damage, title) in [(Damage::Flip, "a flipped bit"), (Damage::LostPage, "a lost page")]
        {
            let is_shown = |of: &(u32, &str, Damage, &str)| (of.0, of.2) == (version, damage);
            let of = table.iter().filter(|(key, _)| is_shown(key));
            let mut files: Vec<&str> = of.clone().map(|((_, file, ..), _)| *file).collect();
            files.dedup();
            let mut rows: BTreeMap<&str, Vec<String>> = BTreeMap::new();
            for ((.., kind), Outcomes { same, refused, silent }) in of {
                rows.entry(kind).or_default().push(format!("{same} / {refused} / {silent}"));
            }
            let columns = "--:|".repeat(files.len());
            let heads = files.join(" | ");
            writeln!(text, "\n## Version {version}: {title}\n").unwrap();
            writeln!(text, "| query | {heads} |\n|---|{columns}").unwrap();
            for (kind, places) in rows {
                writeln!(text, "| {kind} | {} |", places.join(" | ")).unwrap();
            }
        }
    }
    text
}

#[test]
fn only_the_damage_that_is_documented_stays_silent() {
    let tries = env::var("TAGQ_DAMAGE").ok().map(|tries| tries.parse().unwrap());
    let table = tried(tries.unwrap_or(1), tries.is_some());
    let text = page(&table, tries.unwrap_or(1));
    println!("{text}");
    if tries.is_some() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/damage.md");
        fs::write(page, &text).unwrap();
    }
    let documented = ["labels", "micro times"];
    for ((version, file, damage, kind), outcomes) in table {
        let of = format!("version {version}, {file}, {damage:?}, {kind}: {outcomes:?}");
        if !documented.contains(&file) {
            assert_eq!(outcomes.silent, 0, "{of}");
        }
        if damage == Damage::Cut {
            assert_eq!((outcomes.same, outcomes.silent), (0, 0), "{of}");
        }
    }
}
