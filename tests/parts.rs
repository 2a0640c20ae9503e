//! Queries that are counted in parts: `tagq plan`, `tagq partial` and `tagq merge`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::support::{Place, command, output, root, skipped, store_file};

/// Plans a query, and counts its parts into `PLAN.0`, `PLAN.1` and so on. Returns these names.
fn counted(place: &Place, query: &str, parts: usize, plan: &str) -> Vec<String> {
    let planned = place.done(&format!("plan {query} --parts {parts} -o {plan}"));
    let last = planned.stderr.rsplit(" to ").next().unwrap().trim().parse::<usize>();
    let names = (0..=last.unwrap()).map(|part| {
        let name = format!("{plan}.{part}");
        place.done(&format!("partial {plan} --index {part} -o {name}"));
        name
    });
    names.collect()
}

fn refused(place: &Place, line: &str, code: i32, words: &str) {
    let refused = place.tagq(line);
    assert_eq!(refused.code, code, "{line}: {}", refused.stderr);
    assert!(refused.stderr.contains(words), "{line}: {}", refused.stderr);
    assert!(refused.stdout.is_empty());
}

const PAIRS: &str = "coincidences --window 2ns run";

#[test]
fn the_answer_of_all_parts_is_that_of_one_process() {
    let place = Place::with_runs();
    for (number, query) in [
        PAIRS,
        "coincidences --window 100ns --rule once run",
        "coincidences --window 1us --rule cluster --bin 100ms run",
        "coincidences --window 1us --group 1,2,3 --rule herald --veto 4 --errors blocks:5 run",
        "coincidences --window 2ns --accidentals shifted:4 --shift 100ns run",
        "coincidences --window 2ns --last 200ms run",
        "coincidences --window 2ns --sum run later",
        "coincidences --window 1us --rule cluster --sum run later",
        "histogram --start 1 --stop 2 --range 5ns run",
        "histogram --start 1 --stop 2 --mode next --bin 64t --range 0ns..10us --sum run later",
        "g2 1,2 --range 100ns --bin 16t --errors blocks:5 --covariance --sum run later",
        "image --line 3 --pixels 5 --lines 7 --frames apart --channels 1,2 run",
        "histogram2d 1,2,3 --bin 100ns --range 1us run",
        "rates --bin 50ms --sum run later",
    ]
    .into_iter()
    .enumerate()
    {
        let plan = format!("plan{number}");
        let parts = counted(&place, &query.replace(" --sum", ""), 7, &plan);
        assert!(parts.len() > 4, "{query}: {}", parts.len());
        for format in ["json", "table", "csv"] {
            let one = place.done(&format!("{query} --format {format}"));
            let merged = place.done(&format!("merge {plan} {} --format {format}", parts.join(" ")));
            assert_eq!(merged.text(), one.text(), "{query}");
        }
        assert_eq!(
            place.done(&format!("merge {plan} {}", parts.join(" "))).stderr,
            place.done(query).stderr,
            "{query}"
        );
    }
}

#[test]
fn each_run_of_a_plan_is_answered_by_itself() {
    let place = Place::with_runs();
    let pairs = "coincidences --window 2ns --group 1,2 --group 3,4 run";
    for (number, query) in [pairs, "g2 1,2 --range 100ns --bin 16t run"].into_iter().enumerate() {
        let (query, plan) = (format!("{query} later"), format!("plan{number}"));
        let parts = counted(&place, &query, 6, &plan).join(" ");
        let merged = place.done(&format!("merge {plan} {parts} --each"));
        // That they have the same groups changes nothing for groups that are named.
        let merged = merged.text().replace("    \"together\": \"same_groups\",\n", "");
        assert_eq!(merged, place.done(&query).text());
    }
    refused(&place, &format!("plan {} -o new", PAIRS.replace("run", "-")), 2, "runs with stores");
}

#[test]
fn parts_are_merged_in_any_steps() {
    let place = Place::with_runs();
    let parts = counted(&place, PAIRS, 5, "plan");
    let all = place.done(&format!("merge plan {}", parts.join(" "))).stdout;
    // Parts that do not touch wait together.
    place.done("merge plan plan.4 plan.0 --partial sum.0");
    place.done("merge plan plan.1 sum.0 plan.3 --partial sum.1");
    refused(&place, "merge plan sum.1", 5, "parts of the plan are missing: 2\n");
    place.done("merge plan sum.1 plan.2 --partial sum.2");
    assert_eq!(place.done("merge plan sum.2").stdout, all);
    // The sum of all parts has the same bytes in whatever order they come.
    place.done(&format!("merge plan {} --partial sum", parts.join(" ")));
    assert_eq!(fs::read(place.path("sum")).unwrap(), fs::read(place.path("sum.2")).unwrap());
    refused(&place, "merge plan plan.1", 5, "missing: 0,2-4\n");
}

#[test]
fn a_part_that_does_not_fit_is_refused_by_name() {
    let place = Place::with_runs();
    counted(&place, PAIRS, 3, "plan");
    counted(&place, "coincidences --window 3ns run", 3, "other");
    refused(&place, "merge plan plan.0 plan.1 plan.2 plan.1", 3, "plan.1: part 1 is there already");
    refused(&place, "merge plan plan.0 other.1 plan.2", 3, "other.1: it is of plan");
    refused(&place, "merge plan plan.0 absent plan.2", 1, "(os error 2)");
    refused(&place, "merge plan run/1.tags.zst", 3, "run/1.tags.zst: it is no partial result");
    let bytes = fs::read(place.path("plan.1")).unwrap();
    let step = bytes.len() / 40 + 1;
    for at in (0..bytes.len()).step_by(step) {
        fs::write(place.path("cut"), &bytes[..at]).unwrap();
        refused(&place, "merge plan plan.0 cut plan.2", 3, "cut: it ");
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        fs::write(place.path("flipped"), flipped).unwrap();
        refused(&place, "merge plan plan.0 flipped plan.2", 3, "flipped: it ");
    }
    let text = fs::read_to_string(place.path("plan")).unwrap();
    for (from, to) in
        [("\"2ns\"", "\"3ns\""), ("\"run\": 0", "\"run\": 1"), ("\"rows\": ", "\"rows\": 1")]
    {
        assert!(text.contains(from), "{from}");
        fs::write(place.path("edited"), text.replacen(from, to, 1)).unwrap();
        refused(&place, "merge edited plan.0 plan.1 plan.2", 2, "edited: it was edited");
        refused(&place, "partial edited --index 0 -o new", 2, "edited: it was edited");
    }
    fs::write(place.path("edited"), text.replacen("\"version\": 1", "\"version\": 9", 1)).unwrap();
    refused(&place, "partial edited --index 0 -o new", 2, "make the plan again");
    refused(
        &place,
        "partial plan --index 3 -o new",
        2,
        "the plan has no part 3; its parts are 0 to 2",
    );
    refused(&place, "partial plan -o new", 2, "--index I");
    assert!(!place.path("new").exists());
    refused(
        &place,
        "plan histogram --start 1 --stop 2 --mode last --sync-divider 2 run -o new",
        2,
        "--sync-divider",
    );
    refused(&place, &format!("plan {PAIRS} -o plan"), 1, "is there already");
}

#[test]
fn parts_read_the_rows_of_the_plan() {
    let place = Place::with_runs();
    let later = place.path("later").join("2.tags.zst");
    fs::rename(place.path("run").join("2.tags.zst"), &later).unwrap();
    let expected = place.done(PAIRS).stdout;
    place.done(&format!("plan {PAIRS} --parts 2 -o plan"));
    place.done("partial plan --index 0 -o part.0");
    // The run grows between one part and the other.
    fs::copy(&later, place.path("run").join("2.tags.zst")).unwrap();
    assert_ne!(place.done(PAIRS).stdout, expected);
    place.done("partial plan --index 1 -o part.1");
    assert_eq!(place.done("merge plan part.0 part.1").stdout, expected);
    // A job that runs twice writes the same bytes again.
    let bytes = fs::read(place.path("part.0")).unwrap();
    place.done("partial plan --index 0 -o part.0 --threads 1 --io read");
    assert_eq!(fs::read(place.path("part.0")).unwrap(), bytes);
    // Another run in its place is refused, and nothing is written.
    fs::remove_dir_all(place.path("run").join(".tagq")).unwrap();
    place.done("ingest run");
    refused(&place, "partial plan --index 0 -o new", 1, "are not those that are asked for");
    assert!(!place.path("new").exists());
}

#[test]
fn parts_that_were_counted_before_are_taken_from_a_folder() {
    let place = Place::with_runs();
    let pairs = "coincidences --window 2ns --group 1,2 run";
    let count = |plan: &str, parts: &[u32]| {
        for part in parts {
            place.done(&format!("partial {plan} --index {part} -o {plan}.{part} --cache kept"));
        }
        let names: Vec<String> = parts.iter().map(|part| format!("{plan}.{part}")).collect();
        place.done(&format!("merge {plan} {}", names.join(" "))).stdout
    };
    let kept = || {
        let names = fs::read_dir(place.path("kept")).unwrap();
        let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    place.done(&format!("plan {pairs} --part-tags 6000 -o plan"));
    let rows = fs::read_to_string(place.path("plan")).unwrap().matches("\"to\"").count();
    let parts: Vec<u32> = (0..).take(rows).collect();
    assert!(rows > 2);
    let expected = place.done(pairs).stdout;
    assert_eq!(count("plan", &parts), expected);
    let names = kept();
    assert_eq!(names.len(), rows);
    // The same question about two runs has the same parts in the first of them, under other numbers.
    place.done(&format!("plan {} --part-tags 6000 -o both", pairs.replace("run", "later run")));
    let of_both = fs::read_to_string(place.path("both")).unwrap().matches("\"to\"").count();
    let both: Vec<u32> = (0..).take(of_both).collect();
    assert_eq!(count("both", &both), place.done(&pairs.replace("run", "--sum later run")).stdout);
    assert_eq!(kept().len(), of_both);
    // Another question has other parts.
    place.done("plan coincidences --window 3ns run --part-tags 6000 -o other");
    count("other", &parts);
    assert_eq!(kept().len(), of_both + rows);
    refused(&place, &format!("plan {pairs} --part-tags 0 -o new"), 2, "--part-tags");
    refused(&place, &format!("plan {pairs} --part-tags 5 --parts 2 -o new"), 2, "cannot be used");
}

#[test]
fn a_store_may_lie_elsewhere() {
    let place = Place::with_runs();
    place.done(&format!("plan {PAIRS} --parts 2 -o plan"));
    fs::rename(place.path("run"), place.path("moved")).unwrap();
    refused(&place, "partial plan --index 0 -o p.0", 1, "run/.tagq: no tagq store");
    for part in 0..2 {
        place.done(&format!("partial plan --index {part} -o p.{part} --store moved/.tagq"));
    }
    let merged = place.done("merge plan p.0 p.1").stdout;
    fs::rename(place.path("moved"), place.path("run")).unwrap();
    assert_eq!(merged, place.done(PAIRS).stdout);
    place.done("ingest later");
    refused(&place, "partial plan --index 0 -o p.0 --store later/.tagq", 1, "store of another run");
}

/// A folder at another path, by FUSE.
struct Mount(PathBuf);

impl Mount {
    fn new(of: &Path, at: PathBuf) -> Option<Self> {
        fs::create_dir(&at).unwrap();
        fs::File::open("/dev/fuse").ok()?;
        let mounted = Command::new("bindfs").args([of, &at]).output().ok()?;
        mounted.status.success().then_some(Self(at))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("fusermount3").arg("-u").arg(&self.0).status();
    }
}

/// As on a network file system: a host writes on one mount, and another one reads on its own, which may show older
/// states.
#[test]
fn a_store_is_read_on_another_mount_while_it_grows() {
    const SOURCES: usize = 8;
    let place = Place::with_runs();
    for name in ["shared", "shared/run", "local", "local/run"] {
        fs::create_dir(place.path(name)).unwrap();
    }
    let mount = |name| Mount::new(&place.path("shared"), place.path(name));
    let Some((writer, reader)) = mount("writer").zip(mount("reader")) else {
        return skipped("there is no bindfs, or FUSE cannot be used");
    };
    let at = |folder: &Path, line: &str| {
        output(command().args(line.split_whitespace()).current_dir(folder))
    };
    let query = "coincidences --window 5ns --format json run";
    let expected: Vec<String> = (0..SOURCES)
        .map(|number| {
            place.done(&format!(
                "simulate --channels 1,2 --rate 90kHz --duration 500ms --start {number}s --seed {number} \
                 local/run/{number}.tags.zst"
            ));
            let answer = at(&place.path("local"), query);
            assert_eq!(answer.code, 0, "{}", answer.stderr);
            answer.text().to_owned()
        })
        .collect();
    let append = |number: usize| {
        let name = format!("run/{number}.tags.zst");
        fs::copy(place.path("local").join(&name), writer.0.join(&name)).unwrap();
        let ingested = at(&writer.0, "ingest run");
        assert_eq!(ingested.code, 0, "{}", ingested.stderr);
    };
    append(0);
    std::thread::scope(|scope| {
        scope.spawn(|| (1..SOURCES).for_each(append));
        let begun = std::time::Instant::now();
        let mut seen = 0;
        while seen + 1 < SOURCES {
            assert!(begun.elapsed().as_secs() < 100, "{seen}");
            let answer = at(&reader.0, &format!("{query} --no-ingest --io read"));
            assert_eq!(answer.code, 0, "{}", answer.stderr);
            let state = expected.iter().position(|expected| *expected == answer.text());
            assert!(state.is_some_and(|state| state >= seen), "{}", answer.text());
            seen = state.unwrap();
            let plan = place.path(&format!("plan{}", begun.elapsed().as_nanos()));
            let plan = plan.display();
            let planned = query.replace(" --format json", "");
            let planned = at(&reader.0, &format!("plan {planned} --no-ingest --parts 3 -o {plan}"));
            assert_eq!(planned.code, 0, "{}", planned.stderr);
            for part in 0..3 {
                let part = format!("partial {plan} --index {part} -o {plan}.{part} --io read");
                let counted = at(&reader.0, &part);
                assert_eq!(counted.code, 0, "{}", counted.stderr);
            }
            let merged = format!("merge {plan} {plan}.0 {plan}.1 {plan}.2 --format json");
            let merged = at(&reader.0, &merged).text().to_owned();
            assert!(expected.iter().skip(seen).any(|expected| *expected == merged), "{merged}");
        }
    });
}

/// The script of docs/clusters.md, as Slurm runs it for each task.
#[test]
#[cfg_attr(windows, ignore = "a shell of Unix")]
fn the_script_for_slurm_counts_its_part() {
    let place = Place::with_runs();
    let program = Path::new(env!("CARGO_BIN_EXE_tagq")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let task = |number: &str| {
        output(
            Command::new("bash")
                .arg(root().join("docs/examples/tagq.sbatch"))
                .envs([
                    ("SLURM_ARRAY_TASK_ID", number),
                    ("SLURM_CPUS_PER_TASK", "1"),
                    ("PATH", &path),
                ])
                // As if it had been tried often enough.
                .env("SLURM_RESTART_COUNT", "3")
                .current_dir(place.path("")),
        )
    };
    place.done(&format!("plan {PAIRS} --parts 3 -o plan.json"));
    for number in ["0", "1", "2"] {
        assert_eq!(task(number).code, 0);
    }
    assert_eq!(place.done("merge plan.json p.0 p.1 p.2").stdout, place.done(PAIRS).stdout);
    assert_eq!(task("3").code, 2);
    fs::remove_file(store_file(&place.path("run/.tagq"), "gap")).unwrap();
    assert_eq!(task("0").code, 75);
}

#[test]
fn the_job_says_which_part_and_whether_to_try_again() {
    let place = Place::with_runs();
    place.done(&format!("plan {PAIRS} --parts 2 -o plan"));
    let of_job = |part: &str, out: &str| {
        output(
            command()
                .args(["partial", "plan", "-o", out])
                .env("SLURM_ARRAY_TASK_ID", part)
                .env("SLURM_CPUS_PER_TASK", "1")
                .current_dir(place.path("")),
        )
    };
    assert_eq!(of_job("0", "part.0").code, 0);
    assert_eq!(of_job("1", "part.1").code, 0);
    assert_eq!(place.done("merge plan part.0 part.1").stdout, place.done(PAIRS).stdout);
    // A result that cannot be written now may be written later; a part that the plan does not have will never be there.
    assert_eq!(of_job("0", "absent/part.0").code, 75);
    assert_eq!(of_job("2", "part.2").code, 2);
    fs::rename(place.path("plan"), place.path("moved")).unwrap();
    assert!(Path::new(&place.path("moved")).exists());
    assert_ne!(of_job("0", "part.0").code, 0);
}
