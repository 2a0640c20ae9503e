//! Tests of the layers in ARCHITECTURE.md, and of names. They read the sources and manifests of the crates as text: a
//! new dependency, or one more file with unsafe code, is added to a list here on purpose.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::support::root;

pub(crate) fn sources_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources_below(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

/// Returns the names of the normal dependencies of a crate.
fn dependencies(name: &str) -> Vec<String> {
    let manifest = fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).unwrap();
    manifest
        .lines()
        .skip_while(|line| *line != "[dependencies]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split(['.', ' ', '=']).next())
        .filter(|name| !name.is_empty() && !name.starts_with('#'))
        .map(str::to_owned)
        .collect()
}

#[test]
fn crates_know_only_those_below_them() {
    let ours = |name: &str| -> Vec<String> {
        dependencies(name).into_iter().filter(|d| d.starts_with("tagq")).collect()
    };
    assert_eq!(ours("store"), [""; 0]);
    assert_eq!(ours("spectrum"), [""; 0]);
    assert_eq!(ours("fit"), ["tagq-spectrum"]);
    assert_eq!(ours("ingest"), ["tagq-store"]);
    assert_eq!(ours("query"), ["tagq-store"]);
    assert_eq!(ours("derived"), ["tagq-query", "tagq-store"]);
    assert_eq!(ours("simulate"), ["tagq-ingest", "tagq-store"]);
    assert_eq!(
        ours("run"),
        ["tagq-ingest", "tagq-query", "tagq-simulate", "tagq-store", "tagq-derived"]
    );
    assert_eq!(
        ours("ask"),
        ["tagq-fit", "tagq-ingest", "tagq-query", "tagq-run", "tagq-spectrum", "tagq-store"]
    );
    assert_eq!(ours("study"), ["tagq-ask", "tagq-fit", "tagq-query", "tagq-run", "tagq-store"]);
    assert_eq!(
        ours("tagq"),
        [
            "tagq-ask",
            "tagq-fit",
            "tagq-ingest",
            "tagq-query",
            "tagq-run",
            "tagq-simulate",
            "tagq-store",
            "tagq-study"
        ]
    );
    assert_eq!(ours("export"), ["tagq"]);
    assert_eq!(ours("plot"), ["tagq"]);
    assert_eq!(ours("python"), ["tagq", "tagq-export", "tagq-plot"]);
    assert_eq!(ours("serve"), ["tagq", "tagq-export", "tagq-plot"]);
    assert_eq!(ours("cli"), ["tagq", "tagq-export", "tagq-plot", "tagq-serve"]);
}

#[test]
fn each_library_stands_in_its_own_crate() {
    let only = [
        ("clap", &["cli"][..]),
        ("anyhow", &["cli"]),
        ("indicatif", &["cli"]),
        ("memmap2", &["store"]),
        ("zstd", &["ingest"]),
        ("hdf5", &["ingest"]),
        ("capnp", &["ingest"]),
        ("lz4_flex", &["ingest"]),
        ("tiff", &["ingest"]),
        ("arrow", &["export", "ingest", "python"]),
        ("parquet", &["export", "ingest"]),
        ("pyo3", &["python"]),
        ("tiny", &["plot"]),
        ("ttf", &["plot"]),
        ("axum", &["serve"]),
        ("hyper", &["serve"]),
        ("tokio", &["serve"]),
    ];
    let mut crates = 0;
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        crates += 1;
        for (library, homes) in only {
            let is_of = |d: &String| d == library || d.starts_with(&format!("{library}-"));
            let uses = dependencies(&name).iter().any(is_of);
            assert!(!uses || homes.contains(&name.as_str()), "{name} uses {library}");
        }
    }
    assert!(crates >= 9);
}

/// Nouns that once named several types.
const NOUNS: [&str; 17] = [
    "Plan", "Part", "Kind", "Column", "Rows", "Tally", "Morsel", "Window", "Asked", "Counted",
    "Found", "Form", "Layout", "Places", "Tags", "Walk", "Wanted",
];

#[test]
fn a_noun_names_one_type() {
    let mut files = Vec::new();
    sources_below(&root().join("crates"), &mut files);
    let mut named = std::collections::BTreeMap::<String, Vec<String>>::new();
    for path in files.iter().filter(|path| path.components().any(|part| part.as_os_str() == "src"))
    {
        for line in fs::read_to_string(path).unwrap().lines() {
            let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
            let is_type = |word: &&str| matches!(*word, "struct" | "enum" | "trait" | "type");
            let Some(at) = words.iter().position(is_type) else { continue };
            if let Some(name) = words.get(at + 1).filter(|name| NOUNS.contains(name))
                && !line.trim_start().starts_with("//")
            {
                named.entry((*name).to_owned()).or_default().push(path.display().to_string());
            }
        }
    }
    assert!(named.len() > 5, "{named:?}");
    named.retain(|_, files| files.len() > 1);
    assert!(named.is_empty(), "{named:#?}");
}

#[test]
fn the_tests_that_are_left_out_by_name_exist() {
    let text = fs::read_to_string(root().join("xtask/src/tests.rs")).unwrap();
    let mut names: Vec<&str> = Vec::new();
    for list in ["const SLOWEST", "const SLOW:", "const NOT_EMULATED"] {
        let list = text.split(list).nth(1).and_then(|rest| rest.split("];").next()).unwrap();
        names.extend(list.split('"').skip(1).step_by(2));
    }
    assert!(names.len() > 8, "{names:?}");
    let mut files = Vec::new();
    sources_below(&root().join("crates"), &mut files);
    sources_below(&root().join("tests"), &mut files);
    let sources: Vec<String> = files.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    for name in names {
        let function = format!("fn {}(", name.rsplit("::").next().unwrap());
        assert!(sources.iter().any(|source| source.contains(&function)), "{name}");
    }
}

#[test]
fn unsafe_code_stands_in_few_files() {
    let mut files = Vec::new();
    sources_below(&root().join("crates"), &mut files);
    let mut unsafe_files: Vec<String> = files
        .iter()
        .filter(|path| {
            let text = fs::read_to_string(path).unwrap();
            text.lines()
                .any(|line| !line.trim_start().starts_with("//") && line.contains("unsafe {"))
        })
        .map(|path| path.strip_prefix(root().join("crates")).unwrap().display().to_string())
        .map(|path| path.replace('\\', "/"))
        .collect();
    unsafe_files.sort();
    let expected = [
        "python/src/stream.rs",
        "query/src/kernels/avx2.rs",
        "query/src/kernels/avx512.rs",
        "query/src/kernels/distances.rs",
        "query/src/kernels/distances/narrow.rs",
        "query/src/kernels/merges.rs",
        "query/src/kernels/mod.rs",
        "query/src/kernels/neighbours/gaps/avx2.rs",
        "query/src/kernels/neighbours/gaps/avx512.rs",
        "query/src/kernels/neighbours/gaps/vbmi2.rs",
        "query/src/kernels/neighbours/times/avx2.rs",
        "query/src/kernels/neighbours/times/avx512.rs",
        "query/src/kernels/neighbours/wide_gaps/avx2.rs",
        "query/src/kernels/neighbours/wide_gaps/avx512.rs",
        "query/src/kernels/prefetch.rs",
        "query/src/kernels/two_lists.rs",
        "query/src/kernels/window_counts/avx2.rs",
        "query/src/kernels/window_counts/avx512.rs",
        "query/src/kernels/window_counts/lanes.rs",
        "query/src/kernels/window_counts/mod.rs",
        "store/src/decode/avx2.rs",
        "store/src/decode/avx512.rs",
        "store/src/decode/mod.rs",
        "store/src/os/map.rs",
        "store/src/os/unix/ahead.rs",
        "store/src/os/unix/guard.rs",
        "store/src/os/unix/machine.rs",
        "store/src/os/unix/signals.rs",
        "store/src/os/unix/writeback.rs",
        "store/src/os/windows/machine.rs",
        "store/src/simd.rs",
    ];
    assert_eq!(unsafe_files, expected);
}

#[test]
fn queries_and_views_open_no_file_and_read_no_environment() {
    for folder in ["crates/query/src", "crates/derived/src"] {
        let mut files = Vec::new();
        sources_below(&root().join(folder), &mut files);
        assert!(files.len() > 5);
        for path in files {
            let text = fs::read_to_string(&path).unwrap();
            for word in ["std::fs", "std::env", "println!", "std::io"] {
                assert!(!text.contains(word), "{} has {word}", path.display());
            }
        }
    }
}

#[test]
fn queries_and_requests_name_options_and_not_flags() {
    let is_flag = |line: &str| {
        line.match_indices("--").any(|(at, _)| line[at + 2..].starts_with(char::is_alphabetic))
    };
    assert!(is_flag("leave --bin out") && !is_flag("-------- a line"));
    for folder in ["query/src", "ask/src/requests", "ask/src/peaks", "ask/src/pulses"] {
        let mut files = Vec::new();
        sources_below(&root().join("crates").join(folder), &mut files);
        assert!(files.len() > 3, "{folder}");
        // It writes command lines.
        files.retain(|path| !path.ends_with("requests/command.rs"));
        for path in files {
            let text = fs::read_to_string(&path).unwrap();
            let flag = text.lines().find(|line| is_flag(line));
            assert_eq!(flag, None, "{}", path.display());
        }
    }
}

#[test]
fn clap_is_named_in_one_folder() {
    let sources = root().join("crates/cli/src");
    let mut files = Vec::new();
    sources_below(&sources, &mut files);
    let names_clap = |path: &&PathBuf| fs::read_to_string(path).unwrap().contains("clap::");
    let (inside, outside): (Vec<_>, Vec<_>) =
        files.iter().filter(names_clap).partition(|path| path.starts_with(sources.join("args")));
    assert!(inside.len() > 3, "{inside:?}");
    assert!(outside.is_empty(), "{outside:?}");
}

/// Functions of the standard library whose last bit depends on the system; libm has the same bits everywhere.
const OF_LIBRARIES: [&str; 20] = [
    ".powf(",
    ".exp(",
    ".exp2(",
    ".exp_m1(",
    ".ln(",
    ".ln_1p(",
    ".log10(",
    ".log2(",
    ".log(",
    ".sin(",
    ".cos(",
    ".tan(",
    ".sin_cos(",
    ".asin(",
    ".acos(",
    ".atan(",
    ".atan2(",
    ".hypot(",
    ".cbrt(",
    ".tanh(",
];

#[test]
fn numbers_are_the_same_on_every_system() {
    let mut sources = Vec::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        sources_below(&entry.unwrap().path().join("src"), &mut sources);
    }
    // Tests and simulations for tests may use them.
    sources.retain(|path| !path.ends_with("tests.rs") && !path.ends_with("coverage.rs"));
    let mut found = Vec::new();
    for path in &sources {
        let text = fs::read_to_string(path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        let calls = lines.filter(|line| OF_LIBRARIES.iter().any(|call| line.contains(call)));
        found.extend(calls.map(|line| format!("{}: {}", path.display(), line.trim())));
    }
    assert!(sources.len() > 100, "{}", sources.len());
    assert_eq!(found, Vec::<String>::new());
}

/// Words that name an operating system, or what only one has.
const OF_SYSTEMS: [&str; 8] =
    ["libc::", "rustix::", "std::os::", "os::unix", "os::fd", "\"/proc/", "\"/sys/", "cfg!("];

#[test]
fn one_module_names_the_system() {
    let module = root().join("crates/store/src/os");
    let mut sources = Vec::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        sources_below(&entry.unwrap().path().join("src"), &mut sources);
    }
    let (mut inside, mut outside) = (0, Vec::new());
    for path in sources {
        let text = fs::read_to_string(&path).unwrap();
        // Tests may name it.
        let code = text.split("#[cfg(test)]").next().unwrap();
        let names = code.lines().filter(|line| OF_SYSTEMS.iter().any(|word| line.contains(word)));
        if path.starts_with(&module) {
            inside += names.count();
        } else if path.file_name().is_some_and(|name| name != "faults.rs" && name != "tests.rs") {
            outside.extend(names.map(|line| format!("{}: {line}", path.display())));
        }
    }
    assert!(inside > 20, "the module names the system in {inside} lines");
    assert_eq!(outside, Vec::<String>::new());
}
