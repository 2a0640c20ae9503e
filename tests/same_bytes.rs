//! The bytes of stores, frozen in tests/outputs/stores.txt: every system and processor writes the same.
//!
//! The header page of a file has the random number of its run, so that the checksums are of the bytes after it. With
//! `TAGQ_OUTPUTS=write` the list is written again.

use std::{env, fmt::Write as _, fs, path::Path};

use serde_json::Value;

use crate::support::{command, fixture_copy, output, root};

/// Bytes of the header page.
const HEADER: usize = 4_096;

/// Fixtures that are one file.
const FILES: [&str; 6] = [
    "picoquant/t2.ptu",
    "picoquant/t3.ptu",
    "pycapnp/odd_lists.tags",
    "photon_hdf5/v110.h5",
    "photon_hdf5/earliest.h5",
    "parquet/checksums.parquet",
];

/// Ingests a run and lists the files of its store.
fn stored(folder: &Path, run: &str, options: &str) -> String {
    let store = folder.join("store");
    let mut ingest = command();
    ingest.current_dir(folder).args(["ingest", "-q", "--store", "store"]);
    let ingested = output(ingest.args(options.split_whitespace()).arg(run));
    assert_eq!(ingested.code, 0, "{run}: {}", ingested.stderr);
    let manifest = fs::read_to_string(store.join("manifest.json")).unwrap();
    assert!(manifest.is_ascii() && !manifest.contains('\r'), "{manifest}");
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let mut text =
        format!("{run} {options}\n  rows {}, chain {}\n", manifest["rows"], manifest["chain"]);
    let mut files: Vec<_> =
        fs::read_dir(&store).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for path in files {
        let name = path.file_name().unwrap().to_str().unwrap();
        if !["lock", "manifest.json"].contains(&name) {
            let bytes = fs::read(&path).unwrap();
            let sum = crc32c::crc32c(&bytes[HEADER..]);
            let _ = writeln!(text, "  {name}: {} bytes, {sum:08x}", bytes.len());
        }
    }
    fs::remove_dir_all(store).unwrap();
    text
}

#[test]
fn stores_have_the_same_bytes_on_every_system() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fixture_copy(folder);
    let mut now = stored(folder, "run", "") + &stored(folder, "run", "--times");
    for file in FILES {
        let name = file.rsplit('/').next().unwrap();
        fs::copy(root().join("data/fixtures").join(file), folder.join(name)).unwrap();
        now += &stored(folder, name, if name.ends_with(".parquet") { "--tick 1ps" } else { "" });
    }
    // Each of the usual ticks, and several blocks.
    for (name, tick) in
        [("a.tags.zst", "1ps"), ("b.tags.zst", "156.25ps"), ("c.tags.zst", "96.97ps")]
    {
        let args = [
            "simulate",
            "--seed",
            "3",
            "--rate",
            "50kHz",
            "--duration",
            "1s",
            "--tick",
            tick,
            name,
        ];
        let made = output(command().current_dir(folder).args(args));
        assert_eq!(made.code, 0, "{}", made.stderr);
        now += &stored(folder, name, &format!("--tick {tick}"));
    }
    let path = root().join("tests/outputs/stores.txt");
    if env::var_os("TAGQ_OUTPUTS").is_some_and(|word| word == "write") {
        fs::write(path, now).unwrap();
    } else {
        assert_eq!(now, fs::read_to_string(path).unwrap(), "TAGQ_OUTPUTS=write writes it again");
    }
}
