//! Answers from parts that were counted one by one equal those of a single count.

use std::{num::NonZeroUsize, path::Path, sync::LazyLock};

use proptest::prelude::*;
use serde_json::json;
use tagq::{
    Answer, Caching, Division, Error, OpenOptions, PartOptions, Parts, Plan, Question, Run, Silent,
    open,
    requests::{OptionValues, QueryContext, Request, Setup, cases},
    store::{Access, Creation, RunId, SourceFacts, Tick, Writer},
};
use tagq_sampling::{random_cases, some_requests};

/// Time and label of each tag.
type Tags = Vec<(i64, u16)>;

static POOL: LazyLock<rayon::ThreadPool> =
    LazyLock::new(|| rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap());

fn writer(store: &Path) -> Writer {
    let run_id = Some(RunId([9; 16]));
    Writer::open(store, &Creation { tick: Tick::DEFAULT, tick_assumed: false, run_id }).unwrap()
}

fn append(store: &Path, tags: &[(i64, u16)]) {
    let mut writer = writer(store);
    writer.make_gaps().unwrap();
    writer.begin_source();
    let (times, labels): (Vec<i64>, Vec<u16>) = tags.iter().copied().unzip();
    writer.set_micro_tick("25ps".parse().unwrap()).unwrap();
    let micro: Vec<u32> = (0..100).cycle().step_by(7).take(times.len()).collect();
    writer.append_with_micro(&times, &labels, &micro).unwrap();
    writer.finish_source(SourceFacts::named("by hand"));
    writer.commit().unwrap();
}

fn open_run(store: &Path) -> Run {
    open(store, &OpenOptions { caching: Caching::Off, ..OpenOptions::default() }, &Silent).unwrap()
}

fn plan(
    query: &str,
    options: &OptionValues,
    run: (&Run, &QueryContext<'_>),
    division: Division,
) -> Result<Plan, Error> {
    Plan::make(&Question::of_options(query, options.clone())?, &[run], division)
}

/// Returns the complete content of an answer.
fn said(answer: &Answer) -> String {
    let Answer { header, query, run, singles, rows, total, provenance, figure: _ } = answer;
    format!("{header} {query} {run:?} {singles:?} {rows:?} {total:?} {provenance:?}")
}

/// Counts all parts of a plan, each in bytes, and adds them up in another order and in pairs.
fn counted(plan: &Plan, order: u64, cache: Option<&Path>) -> Parts {
    let last = u32::try_from(plan.parts.len()).unwrap();
    let mut parts: Vec<Parts> = (0..last)
        .map(|part| {
            let access = [Access::Mapped, Access::Copied][part as usize % 2];
            let options = PartOptions { access, cache, store: None };
            let part = plan.count(part, options, &POOL, &Silent).unwrap();
            let bytes = part.to_bytes();
            let read = Parts::from_bytes(&bytes).unwrap();
            assert_eq!(read, part);
            assert_eq!(read.to_bytes(), bytes);
            read
        })
        .collect();
    let mut state = order | 1;
    while parts.len() > 1 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let one = parts.swap_remove(usize::try_from(state >> 33).unwrap() % parts.len());
        let other = usize::try_from(state >> 40).unwrap() % parts.len();
        parts[other].add(one).unwrap();
        parts[other] = Parts::from_bytes(&parts[other].to_bytes()).unwrap();
    }
    parts.remove(0)
}

fn tags(gaps: &[(u8, u8)], rows: usize, mut time: i64) -> Tags {
    let of = |&(gap, label): &(u8, u8)| {
        time += if gap > 250 { 400 } else { i64::from(gap % 16) };
        (time, u16::from(label % 5) + 1)
    };
    gaps.iter().cycle().take(rows).map(of).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..random_cases(24) })]

    #[test]
    fn parts_give_the_answer_of_one_count(
        gaps in prop::collection::vec(any::<(u8, u8)>(), 1..300),
        rows in prop::collection::vec(0_usize..500, 1..4),
        parts in 1_usize..9,
        delays in prop::collection::vec(-25_i64..25, 0..4),
        is_joined: bool,
        from in prop::option::weighted(0.3, 0_u32..1_000),
        to in prop::option::weighted(0.3, 500_u32..6_000),
        later: bool,
        is_kept: bool,
        order: u64,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("run.tagq");
        let mut time = -300;
        for rows in rows {
            let of_source = tags(&gaps, rows, time);
            time = of_source.last().map_or(time, |last| last.0 + 7);
            append(&store, &of_source);
        }
        let setup = Setup { names: vec![(1, "idler".into())], ..Setup::default() };
        let run = open_run(&store);
        let context = QueryContext::new(&setup, &POOL, &Silent);
        let cache = folder.path().join("cache");
        let cache = is_kept.then_some(&*cache);
        let division = if is_kept {
            Division::EveryTags(NonZeroUsize::new(80 * parts).unwrap())
        } else {
            Division::Parts(parts)
        };
        let mut plans = Vec::new();
        for (query, mut options) in cases() {
            if !options.contains_key("delays") {
                let delays = (1..).zip(&delays).map(|(of, ticks)| json!([format!("{of}"), format!("{ticks}t")]));
                options.insert("delays".into(), delays.collect());
            }
            options.insert("join".into(), is_joined.into());
            for (name, side) in [("from", from), ("to", to)] {
                if let Some(ticks) = side {
                    options.insert(name.into(), format!("{ticks}t").into());
                }
            }
            if options.contains_key("by") || options.contains_key("sync_divider") {
                // Intervals and the period of a sync are those of the whole run.
                prop_assert!(plan(query, &options, (&run, &context), division).is_err());
                continue;
            }
            let request = Request::of_options(query, options.clone()).unwrap();
            let expected = request.ask(&run, &context).map(|answer| said(&answer));
            let plan = plan(query, &options, (&run, &context), division);
            match (expected, plan) {
                (Ok(expected), Ok(plan)) => plans.push((expected, plan)),
                (Err(expected), Err(found)) => prop_assert_eq!(expected.to_string(), found.to_string()),
                (expected, plan) => prop_assert!(false, "{query} {options:?}: {expected:?} {plan:?}"),
            }
        }
        if later {
            // Parts read the rows of the plan, however the run has grown since.
            append(&store, &tags(&gaps, 70, time));
        }
        for (expected, plan) in plans {
            let plan = Plan::parse(plan.text().unwrap().as_bytes(), &store).unwrap();
            let parts = counted(&plan, order, cache);
            if is_kept {
                prop_assert_eq!(&counted(&plan, order, cache), &parts);
            }
            let answer = plan.answer(parts, &POOL, &Silent).map(|answer| said(&answer));
            prop_assert_eq!(answer.unwrap(), expected, "{} {:?}", &plan.query, &plan.options);
        }
    }
}

/// Each case has an answer or an error.
#[test]
fn a_run_without_sources_can_be_asked_everything() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("run.tagq");
    writer(&store).commit().unwrap();
    let run = open_run(&store);
    let setup = Setup::default();
    let context = QueryContext::new(&setup, &POOL, &Silent);
    let mut answered = 0;
    for (query, options) in cases() {
        let request = Request::of_options(query, options).unwrap();
        answered += usize::from(request.ask(&run, &context).is_ok());
        let _: Result<_, _> = request.explain(&run, &context);
    }
    assert!(answered > 20, "{answered}");
}

/// Of a run that has grown, only the parts at its end are counted again, unless the question itself depends on the end.
#[test]
fn kept_parts_are_taken_by_later_plans() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("run.tagq");
    let gaps: Vec<(u8, u8)> =
        (0..=u8::MAX).map(|i| (i.wrapping_mul(37), i.wrapping_mul(11))).collect();
    let first = tags(&gaps, 250_000, 0);
    let last = first[first.len() - 1].0;
    append(&store, &first);
    let cache = folder.path().join("cache");
    let files = || std::fs::read_dir(&cache).map_or(0, Iterator::count);
    let setup = Setup::default();
    let context = QueryContext::new(&setup, &POOL, &Silent);
    let division = Division::EveryTags(NonZeroUsize::new(40_000).unwrap());
    let answer = |(query, options): &(&'static str, OptionValues)| {
        let run = open_run(&store);
        let request = Request::of_options(query, options.clone()).unwrap();
        let expected = said(&request.ask(&run, &context).unwrap());
        let plan = plan(query, options, (&run, &context), division).unwrap();
        let before = files();
        let found = plan.answer(counted(&plan, 1, Some(&cache)), &POOL, &Silent).unwrap();
        assert_eq!(said(&found), expected, "{query} {options:?}");
        files() - before
    };
    let mut questions = some_requests(cases());
    // Traces have thousands of bins here.
    let is_trace = |name: &str, options: &OptionValues| {
        Request::of_options(name, options.clone()).unwrap().is_trace()
    };
    questions.retain(|(name, options)| {
        !options.contains_key("sync_divider") && !is_trace(name, options)
    });
    questions.retain(|(_, options)| !options.contains_key("covariance"));
    let counted: Vec<usize> = questions.iter().map(answer).collect();
    assert!(counted.iter().all(|&new| new <= 7), "{counted:?}");
    assert!(counted.iter().filter(|&&new| new == 7).count() > 5, "{counted:?}");
    assert_eq!(questions.iter().map(answer).sum::<usize>(), 0);
    append(&store, &tags(&gaps, 50_000, last));
    let again: Vec<usize> = questions.iter().map(answer).collect();
    // Of eight parts, the first four lie in blocks that were full before.
    let (plain, whole): (Vec<_>, Vec<_>) =
        questions.iter().zip(again).partition(|((_, options), _)| {
            !options.contains_key("errors") && options.contains_key("window")
        });
    assert!(plain.iter().all(|(_, new)| *new == 4), "{plain:?}");
    assert!(!whole.is_empty());
    // A file that is damaged is left alone, and its part counted.
    for file in std::fs::read_dir(&cache).unwrap() {
        let path = file.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&path, bytes).unwrap();
    }
    assert_eq!(answer(&questions[0]), 0);
}
