//! Every case of every query (`RequestType::cases`), as users ask it: from the command line, as parts, from the server
//! and in a watch.

use std::{
    env,
    fmt::Write as _,
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;
use tagq::{
    QUERY_TYPES, cases, is_search,
    requests::{Asking, OptionValues},
    store::{Creation, RunId, SourceFacts, Tick, Writer},
};
use tagq_sampling::some_requests;

use crate::support::{Output, command, interruptible, output, root};

/// Lines of an answer that are frozen.
const LINES: usize = 24;

/// Makes a run of two sources in `folder`, with tags of the channels 1 to 5 that have micro times.
pub(crate) fn make(folder: &Path) {
    let run_id = Some(RunId(*b"tagq every case!"));
    let creation = Creation { tick: Tick::DEFAULT, tick_assumed: false, run_id };
    let mut writer = Writer::open(&folder.join("run.tagq"), &creation).unwrap();
    writer.set_micro_tick("25ps".parse().unwrap()).unwrap();
    let mut time = 0;
    for name in ["first", "second"] {
        let (mut times, mut channels, mut micro) = (Vec::new(), Vec::new(), Vec::new());
        for row in 0..1_500_u32 {
            time += i64::from(row * 7_919 % 13);
            times.push(time);
            channels.push(1 + u16::try_from(row * row % 31 % 5).unwrap());
            micro.push(row * 37 % 60);
        }
        writer.begin_source();
        writer.append_with_micro(&times, &channels, &micro).unwrap();
        writer.finish_source(SourceFacts::named(name));
        writer.commit().unwrap();
    }
}

/// Returns the groups in a value that is groups.
fn groups_of(value: &Value) -> Option<&Vec<Value>> {
    value.as_array().filter(|groups| groups.iter().all(Value::is_array))
}

/// Returns a request as words of the command line.
pub(crate) fn words(name: &str, options: &OptionValues) -> Vec<String> {
    let of = QUERY_TYPES.into_iter().find(|of| of.name == name).unwrap();
    let mut words = vec![name.to_owned()];
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let listed = |value: &Value| match value {
        Value::Array(values) => values.iter().map(text).collect::<Vec<_>>().join(","),
        value => text(value),
    };
    // Of requests that take channels, every second case has them as an argument, the others as options.
    let is_argument = options.len().is_multiple_of(2);
    let as_argument = |option: &str| is_argument && of.is_channel(option);
    if let Some(argument) = of.channels.filter(|_| is_argument) {
        let given: Vec<&Value> =
            argument.options.iter().filter_map(|option| options.get(*option)).collect();
        match given[..] {
            [value] => match groups_of(value) {
                Some(groups) => words.extend(groups.iter().map(listed)),
                None => words.push(listed(value)),
            },
            _ if given.is_empty() => {}
            _ => words.push(given.into_iter().map(listed).collect::<Vec<_>>().join(",")),
        }
    }
    for (option, value) in options.iter().filter(|(option, _)| !as_argument(option)) {
        let flag = match &**option {
            "groups" => "--group".to_owned(),
            option => format!("--{}", option.replace('_', "-")),
        };
        match value {
            Value::Bool(_) => words.push(flag),
            value if let Some(groups) = groups_of(value) => {
                words.extend(groups.iter().flat_map(|group| [flag.clone(), listed(group)]));
            }
            value => words.push(format!("{flag}={}", listed(value))),
        }
    }
    words
}

/// Interrupts a watch when it is dropped.
struct Watch(std::process::Child);

impl Drop for Watch {
    fn drop(&mut self) {
        // It has answered, or the test fails.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_watch_of_every_case_says_what_each_query_says() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let cases: Vec<Vec<String>> =
        some_requests(cases()).iter().map(|(name, options)| words(name, options)).collect();
    let mut all = cases[0].clone();
    all.push("run.tagq".into());
    for more in &cases[1..] {
        all.push("--and".into());
        all.extend(more.iter().cloned());
    }
    let watch = interruptible()
        .current_dir(folder.path())
        .arg("watch")
        .args(&all)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut watch = Watch(watch.unwrap());
    let mut lines = BufReader::new(watch.0.stdout.take().unwrap()).lines();
    let update: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    let answers = update["answers"].as_array().unwrap();
    assert_eq!(answers.len(), cases.len());
    for (case, answer) in cases.iter().zip(answers) {
        let mut words: Vec<&str> = case.iter().map(String::as_str).collect();
        words.extend(["run.tagq", "--format", "json"]);
        let whole = done(folder.path(), &words).json();
        assert!(answer["rows"].as_array().is_some_and(|rows| !rows.is_empty()), "{case:?}");
        assert_eq!(answer["rows"], whole["rows"], "{case:?}");
    }
}

fn done(folder: &Path, words: &[&str]) -> Output {
    let done = output(command().current_dir(folder).args(words));
    assert_eq!(done.code, 0, "{words:?}: {}", done.stderr);
    done
}

#[test]
#[cfg_attr(windows, ignore = "a shell of Unix")]
fn the_command_of_every_case_gives_its_answer() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("it's a run");
    fs::create_dir(&folder).unwrap();
    make(&folder);
    let program = command().get_program().to_owned();
    let path = "../it's a run/run.tagq";
    for (name, options) in some_requests(cases()) {
        let of = QUERY_TYPES.into_iter().find(|of| of.name == name).unwrap();
        let line = of.command(&options, &[path], Asking::Each);
        let line = line.replacen("tagq", "\"$TAGQ\"", 1) + " --json";
        let mut shell = Command::new("sh");
        shell.args(["-c", &line]).env("TAGQ", &program).current_dir(&folder);
        let typed = output(&mut shell);
        assert_eq!(typed.code, 0, "{line}: {}", typed.stderr);
        let words = words(name, &options);
        let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
        words.extend([path, "--json"]);
        assert_eq!(typed.json(), done(&folder, &words).json(), "{line}");
    }
}

#[test]
fn every_case_counts_explains_and_merges() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let divided = some_requests(cases());
    let write = env::var_os("TAGQ_OUTPUTS").is_some_and(|word| word == "write");
    for of in QUERY_TYPES {
        let mut all = String::new();
        let cases: Vec<_> = cases().into_iter().filter(|(name, _)| *name == of.name).collect();
        assert!(!cases.is_empty(), "{} has no case", of.name);
        for (number, (name, options)) in cases.iter().enumerate() {
            let words = words(name, options);
            let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
            let said = words.join(" ");
            words.push("run.tagq");
            let csv = done(folder.path(), &[&words[..], &["--format", "csv"]].concat());
            let lines: Vec<&str> = csv.text().lines().collect();
            let _ = writeln!(all, "$ tagq {said}\n{}", csv.stderr);
            for line in lines.iter().take(LINES) {
                let _ = writeln!(all, "{line}");
            }
            let _ = writeln!(all, "({} lines)\n", lines.len());
            if !divided.iter().any(|case| case == &(*name, options.clone())) {
                continue;
            }
            if is_search(of) {
                let plan = &[&["plan"], &words[..], &["-o", "plan"]].concat();
                assert_eq!(output(command().current_dir(folder.path()).args(plan)).code, 2);
                continue;
            }
            let explained = done(folder.path(), &[&words[..], &["--explain"]].concat());
            assert!(explained.json()["plan"]["rows"].is_u64(), "{said}");
            if options.contains_key("sync_divider") || options.contains_key("by") {
                continue;
            }
            let plan = format!("plan{number}.{name}");
            done(folder.path(), &[&["plan"], &words[..], &["--parts", "3", "-o", &plan]].concat());
            let parts: Vec<String> = (0..)
                .map(|part| (part.to_string(), format!("{plan}.{part}")))
                .map_while(|(part, to)| {
                    let args = ["partial", &plan, "--index", &part, "-o", &to];
                    let counted = output(command().current_dir(folder.path()).args(args));
                    (counted.code == 0).then_some(to)
                })
                .collect();
            let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
            let merged = [&["merge", &plan][..], &parts, &["--format", "csv"]].concat();
            assert_eq!(done(folder.path(), &merged).text(), csv.text(), "{said}");
        }
        let path = root().join("tests/outputs/cases").join(format!("{}.txt", of.name));
        if write {
            fs::write(path, all).unwrap();
        } else {
            let frozen = fs::read_to_string(path).unwrap();
            assert!(all == frozen, "{}: TAGQ_OUTPUTS=write writes it again", of.name);
        }
    }
}
