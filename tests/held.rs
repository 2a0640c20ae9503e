//! Files of counts: what answers from them, and what is refused, with a command that works.

use std::{fs, path::Path};

use serde_json::Value;

use crate::{
    image_regions::npy,
    sdt_writer::{SdtBlock, sdt},
    support::{Output, command, output},
};

/// Asks as a shell would, in a folder.
fn ask(folder: &Path, words: &str) -> Output {
    output(command().args(words.split_whitespace()).current_dir(folder))
}

fn column(answer: &Value, key: &str) -> Vec<u64> {
    answer["rows"].as_array().unwrap().iter().map(|row| row[key].as_u64().unwrap()).collect()
}

/// A decay curve of 64 bins of 195.3125 ps with a lifetime of 2 ns, and images of two lines of three pixels.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    // exp(-0.1953125 / 2) from bin to bin.
    let curve = std::iter::successors(Some(9e4_f64), |count| Some(count * 0.906_960_617_887_383_4));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 90,000")]
    let curve: Vec<u32> = curve.take(64).map(|count| count as u32).collect();
    let image: Vec<u16> = (0..384).map(|at| if at % 64 == 5 { at / 64 + 1 } else { 0 }).collect();
    let write = |name: &str, blocks: &[SdtBlock]| {
        fs::write(folder.path().join(name), sdt(64, [3, 2, 0, 0], blocks)).unwrap();
    };
    write("decay.sdt", &[SdtBlock::long(0x08, &curve)]);
    write("image.sdt", &[SdtBlock::short(0x68, &image), SdtBlock::short(0x68, &image)]);
    folder
}

#[test]
fn counts_are_answered_fitted_drawn_saved_and_reproduced() {
    let folder = folder();
    let answer = ask(folder.path(), "micro decay.sdt").json();
    let counts = column(&answer, "count");
    // 90,000·exp(-2·0.1953125/2).
    assert_eq!((counts.len(), counts[0], counts[2]), (64, 90_000, 74_031));
    assert_eq!(answer["query"]["micro_tick"], "195312500/1");
    let both = ask(folder.path(), "micro --sum decay.sdt decay.sdt").json();
    assert!(column(&both, "count").iter().zip(&counts).all(|(two, one)| *two == 2 * one));
    let fitted = ask(folder.path(), "fit decay micro decay.sdt").json();
    let tau = fitted["rows"][0]["tau_s"].as_f64().unwrap();
    assert!((tau - 2e-9).abs() < 1e-11, "{tau}");
    for words in [
        "micro decay.sdt --plot decay.svg",
        "image image.sdt -o image.tif",
        "micro decay.sdt -o decay.json",
        "reproduce decay.json",
        "micro 1 --bin 1ns --range 0ns..10ns --explain decay.sdt",
        "micro decay.sdt.tagq --no-ingest",
    ] {
        let done = ask(folder.path(), words);
        assert_eq!(done.code, 0, "{words}: {}", done.stderr);
    }
    let image = ask(folder.path(), "image --channels 2 --micro --bin 2t image.sdt").json();
    assert_eq!(column(&image, "count"), [1, 2, 3, 4, 5, 6]);
    assert_eq!(image["rows"][4]["line"], 1);
    // The third bin holds the fifth micro time of 195.3125 ps each.
    assert_eq!(image["rows"][3]["micro_counts"][2], 4);
    let mean = image["rows"][3]["micro_mean_s"].as_f64().unwrap();
    assert!((mean - 5.0 * 195.312_5e-12).abs() < 1e-18, "{mean}");
    assert_eq!(
        column(&ask(folder.path(), "image image.sdt").json(), "count"),
        [2, 4, 6, 8, 10, 12]
    );
    // Its regions have no time of lines.
    fs::write(folder.path().join("mask.npy"), npy([2, 3], [0, 9, 9, 4, 0, 9])).unwrap();
    let regions = ask(folder.path(), "image --mask mask.npy image.sdt").json();
    assert_eq!((column(&regions, "label"), column(&regions, "count")), (vec![4, 9], vec![8, 22]));
    assert_eq!(column(&regions, "pixels"), [1, 3]);
    assert!(regions["rows"][0]["dwell_s"].is_null() && regions["rows"][0]["rate_hz"].is_null());
    // Without that time, no pulse is counted, and nothing is corrected for.
    let fitted =
        ask(folder.path(), "fit decay --pulse-period 10ns image --mask mask.npy image.sdt");
    assert_eq!(column(&fitted.json(), "label"), [4, 9], "{}", fitted.stderr);
    assert!(!fitted.stderr.contains("a pulse"), "{}", fitted.stderr);
}

#[test]
fn what_needs_tags_is_refused_with_a_way() {
    let folder = folder();
    for words in [
        "rates decay.sdt",
        "coincidences --window 1ns decay.sdt",
        "g2 1,2 --range 1ns decay.sdt",
        "histogram 1,2 decay.sdt",
        "delays 1,2 decay.sdt",
        "micro --derive X=1|2 decay.sdt",
        "convert decay.sdt a.tsv",
        "convert decay.sdt.tagq a.ptu",
        "export decay.sdt -o a.arrow",
        "cat decay.sdt",
        "cat decay.sdt.tagq",
        "derive decay.sdt -o new.tagq X=1|2",
    ] {
        let refused = ask(folder.path(), words);
        assert_ne!(refused.code, 0, "{words}");
        let said = &refused.stderr;
        assert!(said.contains("it holds counts and no tags"), "{words}: {said}");
        let hint = said.split('`').nth(1).unwrap().strip_prefix("tagq ").unwrap();
        assert_eq!(ask(folder.path(), hint).code, 0, "{words}: {hint}");
        assert!(!folder.path().join("a.tsv").exists());
    }
    for (words, said) in [
        ("micro --trace 1s decay.sdt", "is for tags, and decay.sdt holds counts"),
        ("image --line 3 image.sdt", "is for tags, and image.sdt holds counts"),
        ("image decay.sdt", "no image"),
        ("micro 7 decay.sdt", "channel 7 is not in decay.sdt: it holds channel 1 alone"),
        ("plan micro decay.sdt -o plan.json --parts 2", "which have no parts"),
    ] {
        let refused = ask(folder.path(), words);
        assert_eq!(refused.code, 2, "{words}: {}", refused.stderr);
        assert!(refused.stderr.contains(said), "{words}: {}", refused.stderr);
    }
    // The store has the counts of the file no more when it changes, and none without it.
    fs::rename(folder.path().join("decay.sdt"), folder.path().join("gone")).unwrap();
    let gone = ask(folder.path(), "micro decay.sdt.tagq --no-ingest");
    assert!(gone.stderr.contains("the counts are in it"), "{}", gone.stderr);
}
