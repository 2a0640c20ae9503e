//! Commands that take a query: their options and those of the query stand in any order.
//!
//! `tagq watch --window 2ns coincidences run/` is parsed as `tagq watch coincidences --window 2ns run/`: options of the
//! command come first, then the name of the query, then all other words in their order. Words after `--` are never
//! options of the command.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
};

use clap::{ArgAction, Command};
use tagq::{FIT_TYPES, QUERY_TYPES, pasted};

/// The commands that take a query, as it is typed after `tagq`.
const OF_QUERIES: [&str; 4] = [FIT, SCAN, "plan", "watch"];
const FIT: &str = "fit";
pub(super) const SCAN: &str = "scan";
/// The word between two queries of a watch.
const AND: &str = "--and";

/// Returns the words after `tagq` in the order in which they are parsed: the options of a command that takes a query, the name of
/// the query, and then its options, also those that were written before its name.
pub(super) fn in_order(program: &Command, words: Vec<OsString>) -> Vec<OsString> {
    let Some((command, head, rest)) = taking_query(program, &words) else { return words };
    let (own, rest) = own_options(command, &rest);
    let parts = rest.split(|word| word == AND).map(|part| query_first(program, part));
    let parts: Vec<Vec<OsString>> = parts.collect();
    [&head[..], &own, &parts.join(&OsString::from(AND))].concat()
}

/// Returns the command that takes a query, the words that name it, and the other words. A fit has a model, too.
fn taking_query<'a>(
    program: &'a Command,
    words: &[OsString],
) -> Option<(&'a Command, Vec<OsString>, Vec<OsString>)> {
    let (first, rest) = words.split_first()?;
    let command = named(program, first)?;
    if !OF_QUERIES.contains(&command.get_name()) {
        return None;
    }
    if command.get_name() != FIT {
        return Some((command, vec![first.clone()], rest.to_vec()));
    }
    let place = first_named(rest, |word| named(command, word).is_some())?;
    let model = named(command, &rest[place])?;
    let head = vec![first.clone(), rest[place].clone()];
    Some((model, head, [&rest[..place], &rest[place + 1..]].concat()))
}

fn is_option(word: &OsString) -> bool {
    word.as_encoded_bytes().starts_with(b"-")
}

/// Returns the place of the first word that is a name, if nothing but options stands before it.
fn first_named(words: &[OsString], is_name: impl Fn(&OsStr) -> bool) -> Option<usize> {
    let place = words.iter().position(|word| is_name(word))?;
    let is_help = words[..place].iter().any(|word| word == "--help" || word == "-h");
    (place == 0 || is_option(&words[0]) && !is_help).then_some(place)
}

/// Returns the command that a word calls: its name, another word for it, or the beginning of its name alone.
pub(super) fn named<'a>(commands: &'a Command, word: &OsStr) -> Option<&'a Command> {
    let word = word.to_str()?;
    let is_named =
        |of: &&Command| of.get_name() == word || of.get_all_aliases().any(|other| other == word);
    let begins = |of: &&Command| of.get_name().starts_with(word);
    let mut beginning = commands.get_subcommands().filter(begins);
    let only = || beginning.next().filter(|_| beginning.next().is_none());
    commands.get_subcommands().find(is_named).or_else(only)
}

/// Divides words into options of the command with their values, and the others.
fn own_options(command: &Command, words: &[OsString]) -> (Vec<OsString>, Vec<OsString>) {
    let takes_value = |word: &OsString| {
        let name = word.to_str()?.strip_prefix("--")?;
        let (name, value) =
            name.split_once('=').map_or((name, None), |(name, of)| (name, Some(of)));
        let option = command.get_arguments().find(|of| of.get_long() == Some(name))?;
        Some(value.is_none() && !matches!(option.get_action(), ArgAction::SetTrue))
    };
    let (mut own, mut others) = (Vec::new(), Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match takes_value(word) {
            _ if word == "--" => {
                others.push(word.clone());
                others.extend(words.by_ref().cloned());
            }
            Some(takes_value) => {
                own.push(word.clone());
                own.extend(words.by_ref().take(usize::from(takes_value)).cloned());
            }
            None => others.push(word.clone()),
        }
    }
    (own, others)
}

/// Puts the name of a query before its options. A scan is a query of a query.
fn query_first(program: &Command, words: &[OsString]) -> Vec<OsString> {
    let Some(place) = first_named(words, |word| is_query(program, word)) else {
        return words.to_vec();
    };
    in_order(program, [&words[place..=place], &words[..place], &words[place + 1..]].concat())
}

/// Whether a word names a query or a scan.
fn is_query(program: &Command, word: &OsStr) -> bool {
    let of = named(program, word).map(Command::get_name);
    of.is_some_and(|of| of == SCAN || QUERY_TYPES.iter().any(|query| query.name == of))
}

/// Returns what is wrong with the words of this process, if they are those of a command that takes a query, and name none. The
/// parser stopped at `word`, and `meant` suggests similar words.
pub(super) fn without_query(program: &Command, word: &str, meant: &str) -> Option<String> {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let command = named(program, words.first()?)?;
    let is_missing = word.starts_with('-');
    let Some((of, _, rest)) = taking_query(program, &words) else {
        if command.get_name() != FIT {
            return None;
        }
        let models = FIT_TYPES.map(|of| of.name).join(", ");
        let problem = if is_missing { "the model is missing" } else { "no model is called" };
        let of = if is_missing { String::new() } else { format!(" '{word}'{meant}") };
        return Some(format!("{problem}{of}; the models are {models}"));
    };
    let queries: Vec<&str> = of.get_subcommands().map(Command::get_name).collect();
    let is_taken = |word: &OsString| {
        is_query(program, word) && (queries.is_empty() || named(of, word).is_some())
    };
    if rest.iter().any(is_taken) {
        return None;
    }
    let name = command.get_name();
    if is_query(program, OsStr::new(word)) {
        return Some(format!("tagq {name} takes no '{word}'; it takes {}", queries.join(", ")));
    }
    let example = example_of(of)?;
    Some(if is_missing {
        format!("the query is missing; write one, as {example}")
    } else if Path::new(word).exists() {
        let run = pasted(Path::new(word));
        format!("'{word}' is no query; write one before it, as {}", example.replace("run/", &run))
    } else {
        format!("no query is called '{word}'{meant}; write one, as {example}")
    })
}

/// Returns the first example of the help of a command.
pub(super) fn example_of(command: &Command) -> Option<String> {
    let help = command.get_after_help().or_else(|| command.get_after_long_help())?.to_string();
    let line = help.lines().skip_while(|line| *line != "Examples:").nth(1)?;
    Some(line.trim().to_owned())
}
