//! Answers of other programs, compared with those of tagq. `data/validation.json` is the one list of them.
//!
//! `TAGQ_REAL_DATA` names the folder of the recordings. `cargo xtask validate FOLDER` prints the table and writes it
//! into docs/validation.md, between two markers; the test compares it with the page.

mod checks;
mod compare;
mod lifetimes;
mod list;
mod ours;
mod outside;
mod page;

use std::{env, fs, path::Path};

use crate::support::{root, skipped};

pub(crate) use list::recorded;

const PAGE: &str = "docs/validation.md";

#[test]
fn other_programs_have_the_same_answers_or_a_reason() {
    let Some(folder) = env::var_os("TAGQ_REAL_DATA") else {
        return skipped(
            "TAGQ_REAL_DATA does not name the folder of the recordings of data/validation.json",
        );
    };
    let list = list::List::read();
    let compared = compare::all(&list, Path::new(&folder));
    for file in &compared.absent {
        skipped(&format!("TAGQ_REAL_DATA has no {file}"));
    }
    let table = page::table(&list, &compared);
    let is_written = env::var_os("TAGQ_VALIDATION").is_some_and(|mode| mode == "write");
    let mut failures = compared.failures();
    if let Some(answers) = env::var_os("TAGQ_VALIDATION_PROGRAMS") {
        let (notes, differences) =
            compare::programs(&list, Path::new(&folder), Path::new(&answers));
        for note in notes {
            println!("{note}");
        }
        failures.extend(differences);
    }
    if is_written {
        println!("{table}");
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(compared.found > 0, "no recording of data/validation.json is in {}", folder.display());
    if !compared.absent.is_empty() {
        return skipped(
            "docs/validation.md is not compared and not written, because recordings are absent",
        );
    }
    let path = root().join(PAGE);
    let text = fs::read_to_string(&path).unwrap();
    let expected = page::with_table(&text, &table);
    if is_written {
        fs::write(&path, expected).unwrap();
    } else {
        assert!(
            text == expected,
            "{PAGE} is not that of `cargo xtask validate {}`",
            folder.display()
        );
    }
}

#[test]
fn the_list_is_whole() {
    let list = list::List::read();
    let mut ids: Vec<&str> = list.questions.iter().map(|question| &*question.id).collect();
    ids.sort_unstable();
    assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "two questions have the same id");
    for question in &list.questions {
        let id = &question.id;
        assert!(
            list.groups.iter().any(|group| group.id == question.group),
            "{id}: {}",
            question.group
        );
        assert!(list.file(&question.file).is_some(), "{id}: {}", question.file);
        assert!(question.ours.is_one(), "{id}: neither a command nor a check");
        assert!(!question.answers.is_empty(), "{id}: no answer of another program");
        for answer in &question.answers {
            list.program(&answer.by);
            assert!(
                answer.file.iter().all(|file| list.file(file).is_some()),
                "{id}: {:?}",
                answer.file
            );
            let is_other = answer.why.is_some();
            assert!(
                answer.why.iter().all(|why| list.reasons.contains_key(why)),
                "{id}: {:?}",
                answer.why
            );
            assert_eq!(
                answer.theirs.is_one(),
                is_other,
                "{id}: a reason needs its way of counting"
            );
        }
    }
}

/// Numbers with groups of digits in the text stand in the tables, which the program made.
#[test]
fn the_text_around_the_tables_has_their_numbers() {
    let page = fs::read_to_string(root().join(PAGE)).unwrap();
    let (text, tables) = page::parts(&page);
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_ascii_digit() && c != ',' && c != '.');
        let words = words.map(|word| word.trim_matches(['.', ',']).to_owned());
        words.filter(|word| word.contains(',')).collect()
    };
    let known = words(tables);
    let stated = words(&text);
    assert!(stated.len() >= 15, "{stated:?}");
    for number in stated {
        assert!(known.contains(&number), "{PAGE}: {number} is in no table");
    }
}
