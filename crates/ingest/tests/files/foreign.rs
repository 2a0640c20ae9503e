//! Files of other programs: refused by name, as docs/sources.md lists them.

use std::{fs, path::Path};

use tagq_ingest::{ForeignFile, Settings, described, foreign_files, read_tags};

const DOCUMENT: &str = include_str!("../../../../docs/sources.md");

fn refused(path: &Path, bytes: &[u8]) -> String {
    fs::write(path, bytes).unwrap();
    read_tags(path, &Settings::default(), |_| Ok(())).unwrap_err().to_string()
}

/// A small file of each kind is refused with its name and a way out.
#[test]
fn each_kind_is_refused_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let at = |suffix: &str| folder.path().join(format!("a{suffix}"));
    let check = |path: &Path, bytes: &[u8], file: &ForeignFile| {
        let error = refused(path, bytes);
        assert!(error.contains(&format!("it is {}; {}", file.kind, file.way)), "{error}");
    };
    for file in foreign_files() {
        let bytes = [file.first, &b"\x01\xfe\0\xff"[..]].concat();
        for suffix in file.suffixes {
            check(&at(suffix), &bytes, &file);
            check(&at(&suffix.to_uppercase()), &bytes, &file);
        }
        // Only the name tells apart what begins alike, and text in UTF-16 is of any program.
        let alike = foreign_files().filter(|other| other.first == file.first);
        if alike.last() == Some(file) && !file.first.is_empty() && file.suffixes != [".oif"] {
            check(&at(".tags"), &bytes, &file);
        }
    }
    let leica = foreign_files().find(|file| file.suffixes == [".lif"]).unwrap();
    check(&at(".tags"), b"\x70\0\0\0\x09\x01\0\0*\0\0\0", &leica);
}

/// The name of a file that can be read refuses nothing.
#[test]
fn a_name_alone_refuses_no_tags() {
    let folder = tempfile::tempdir().unwrap();
    for suffix in foreign_files().flat_map(|file| file.suffixes) {
        let path = folder.path().join(format!("a{suffix}"));
        fs::write(&path, "1\t10\n2\t20\n").unwrap();
        let read = read_tags(&path, &Settings::default(), |_| Ok(())).unwrap();
        assert_eq!(read.tags, 2, "{suffix}");
    }
}

/// Files of a module often begin as messages do: two small numbers.
#[test]
fn a_file_of_a_module_is_never_taken_for_messages() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = [0, 0, 0, 0, 5, 0, 0, 0];
    let error = refused(&folder.path().join("a.spc"), &bytes);
    assert!(error.contains("a Becker & Hickl file") && error.contains("--micro-tick"), "{error}");
    let path = folder.path().join("a.tags");
    fs::write(&path, bytes).unwrap();
    let read = read_tags(&path, &Settings::default(), |_| Ok(()));
    assert!(!format!("{read:?}").contains("Becker"), "{read:?}");
}

#[test]
fn what_nothing_tells_has_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let error = refused(&folder.path().join("a.xyz"), b"\xf1\xf2\xf3\xf4");
    assert!(error.contains("`tagq formats`") && error.contains("--source-format"), "{error}");
}

/// The table of the document has each suffix that is read, and each kind that is refused as the error says it.
#[test]
fn the_document_lists_every_suffix() {
    let (_, table) = DOCUMENT.split_once("\n## Files by the ends of their names\n").unwrap();
    let table = table.split("\n## ").next().unwrap();
    let quoted = |suffixes: &[&str]| {
        let suffixes: Vec<String> = suffixes.iter().map(|suffix| format!("`{suffix}`")).collect();
        if suffixes.is_empty() { "–".into() } else { suffixes.join(", ") }
    };
    let row = |file: ForeignFile| {
        let way = file.way.replace('|', "\\|");
        format!("| {} | {} | {way} |", quoted(file.suffixes), file.kind)
    };
    let missing: Vec<String> =
        foreign_files().map(row).filter(|row| !table.contains(row)).collect();
    assert!(missing.is_empty(), "write into docs/sources.md:\n{}", missing.join("\n"));
    let refused = table.lines().filter(|line| line.starts_with('|')).count();
    let suffixes: Vec<&str> = table.split('`').filter(|word| word.starts_with('.')).collect();
    for suffix in described().flat_map(|format| format.suffixes) {
        assert!(suffixes.contains(suffix), "{suffix}");
    }
    assert!(suffixes.len() >= 40 && refused > foreign_files().count(), "{suffixes:?}");
}
