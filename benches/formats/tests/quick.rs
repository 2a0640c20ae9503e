//! The whole comparison over a few thousand tags: every answer is compared among the formats.

use std::{fs, process::Command};

#[test]
fn all_formats_give_the_same_answers() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tagq-formats"));
    let output = command.arg("--quick").arg("--out").arg(folder.path()).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}");
    for table in ["sizes", "latency", "lookups", "rows", "suspend"] {
        let text = fs::read_to_string(folder.path().join(format!("{table}.md"))).unwrap();
        assert!(text.lines().count() > 5, "{table}: {text}");
        assert!(!text.contains("NaN"), "{table}: {text}");
    }
    // Sizes that follow from the layout: 5,000 tags of 9 and 32 bytes.
    let sizes = fs::read_to_string(folder.path().join("sizes.csv")).unwrap();
    for line in ["rows9,none,,bytes,1,45000", "mmap32,none,,bytes,1,160000"] {
        assert!(sizes.lines().any(|of| of == line), "{line}");
    }
}
