//! Errors of the command line in one line: what is wrong, and what to write instead.
//!
//! `tagq coincidences -window 2ns run/` says that there is no option `-window`, and asks whether `--window` was meant.
//! A word is suggested only if it begins with the same letter, because others are similar by chance. Errors that clap
//! states well in one line stay as they are.

use std::{error::Error as _, num::ParseIntError, path::Path};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use tagq::FitType;

use super::nested::without_query;

/// Returns the error in one line, for the errors that clap spreads over several lines or leaves without a way out.
pub(super) fn one_line(program: &clap::Command, error: &clap::Error) -> Option<String> {
    let context = |kind| error.get(kind).map(words).filter(|words| !words.is_empty());
    let word = |kind| context(kind).map(|words| words.concat());
    match error.kind() {
        ErrorKind::MissingRequiredArgument => {
            let missing = context(ContextKind::InvalidArg)?;
            let missing: Vec<String> = missing.iter().map(|of| alternatives(of)).collect();
            Some(format!("missing: {}", missing.join(" and ")))
        }
        ErrorKind::InvalidSubcommand => {
            let meant = context(ContextKind::SuggestedSubcommand).unwrap_or_default();
            Some(no_command(program, &word(ContextKind::InvalidSubcommand)?, &meant))
        }
        ErrorKind::UnknownArgument => {
            let meant = context(ContextKind::SuggestedArg).unwrap_or_default();
            Some(no_argument(program, &word(ContextKind::InvalidArg)?, &meant))
        }
        ErrorKind::InvalidValue => {
            let values = context(ContextKind::ValidValue)?.join(", ");
            let meant = context(ContextKind::SuggestedValue).unwrap_or_default();
            let meant = did_you_mean(&word(ContextKind::InvalidValue)?, &meant);
            Some(format!("{}{meant}; write one of {values}", invalid_value(error)?))
        }
        ErrorKind::ValueValidation if error.source()?.is::<ParseIntError>() => {
            Some(format!("{}; write a whole number, as 4", invalid_value(error)?))
        }
        _ => None,
    }
}

fn words(value: &ContextValue) -> Vec<String> {
    match value {
        ContextValue::String(word) => vec![word.clone()],
        ContextValue::Strings(words) => words.clone(),
        _ => Vec::new(),
    }
}

fn invalid_value(error: &clap::Error) -> Option<String> {
    let value = words(error.get(ContextKind::InvalidValue)?).concat();
    let argument = words(error.get(ContextKind::InvalidArg)?).concat();
    Some(format!("invalid value '{value}' for '{argument}'"))
}

/// Returns options of which one is needed, `<--tick <TICK>|--gaps <ON|OFF>>`, joined by `or`.
fn alternatives(argument: &str) -> String {
    let inner = argument.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    match inner.filter(|inner| inner.starts_with('-')) {
        Some(inner) => inner.replace("|-", " or -"),
        None => argument.to_owned(),
    }
}

fn no_command(program: &clap::Command, word: &str, meant: &[String]) -> String {
    let meant = did_you_mean(word, meant);
    match without_query(program, word, &meant) {
        Some(problem) => problem,
        None if Path::new(word).exists() => {
            format!("'{word}' is no command; write one first, as tagq rates {word}")
        }
        None => format!("no command is called '{word}'{meant}"),
    }
}

fn no_argument(program: &clap::Command, word: &str, meant: &[String]) -> String {
    // Of -window clap takes -w for an option.
    let given = std::env::args_os().map(|given| given.to_string_lossy().into_owned());
    let given: Vec<String> = given.collect();
    let at = given.iter().position(|given| given.starts_with(word));
    let whole = at.map_or(word, |at| &given[at]);
    let short = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    let Some(short) = short else {
        return if let Some(problem) = without_query(program, word, "") {
            problem
        } else if first_word().is_some_and(|first| first == word) {
            format!("'{word}' is no command; write one first, as tagq rates run/")
        } else if word.starts_with('-') {
            no_option(word) + &instead(word).unwrap_or_else(|| did_you_mean(word, meant))
        } else {
            let is_export = first_word().is_some_and(|first| first == "export");
            let place = if is_export { "; the file to write is named with --output" } else { "" };
            format!("'{word}' is one argument too many{place}")
        };
    };
    if short.starts_with(|c: char| c.is_ascii_digit()) {
        let before = at.and_then(|at| given[..at].last());
        let place = before.filter(|before| before.starts_with("--")).map_or_else(
            || "channels are numbers from 0 to 65535, and a file is named ./-NAME".to_owned(),
            |option| format!("{option} takes no negative value"),
        );
        return format!("'{whole}' begins with a minus sign: {place}");
    }
    let is_long = whole.len() > word.len() + 1;
    let meant = if is_long { format!("; did you mean '-{whole}'?") } else { String::new() };
    no_option(whole) + &meant
}

/// Names the command, because others may have the option.
fn no_option(word: &str) -> String {
    let words: Vec<String> = std::env::args().skip(1).take(2).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        // Each model has options of its own.
        ["fit", model] if FitType::named(model).is_some() => {
            format!("tagq fit {model} has no option '{word}', and its query has none")
        }
        [first, ..] if !first.starts_with('-') => format!("tagq {first} has no option '{word}'"),
        _ => format!("there is no option '{word}'"),
    }
}

/// Commands, options that others have, and what to write instead.
const INSTEAD: [(&[&str], &[&str], &str); 2] = [
    (
        &["g2", "histogram"],
        &["--window"],
        "; --range is how far it reaches, and --bin the width of its bins",
    ),
    (
        &["convert"],
        &["--from", "--to", "--last", "--channels"],
        "; it converts all tags, and tagq export writes a selection of them",
    ),
];

/// Returns what to write instead of an option that the command does not have.
fn instead(word: &str) -> Option<String> {
    let first = first_word()?;
    let is_meant = |of: &&(&[&str], &[&str], &str)| of.0.contains(&&*first) && of.1.contains(&word);
    INSTEAD.iter().find(is_meant).map(|(.., instead)| (*instead).to_owned())
}

/// Names what a word was meant to be, if it begins like it: others are similar by chance.
fn did_you_mean(word: &str, meant: &[String]) -> String {
    let letter = |word: &str| word.trim_start_matches('-').chars().next();
    let meant = meant.iter().filter(|meant| letter(meant) == letter(word));
    let meant: Vec<String> = meant.map(|meant| format!("'{meant}'")).collect();
    if meant.is_empty() { String::new() } else { format!("; did you mean {}?", meant.join(" or ")) }
}

/// Returns the first argument, if it is UTF-8.
fn first_word() -> Option<String> {
    std::env::args_os().nth(1)?.into_string().ok()
}
