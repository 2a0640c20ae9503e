//! Patterns of the operators, from their texts.
//!
//! `A & B … within D` is an operand, the word `&`, an operand, more operands after `&` each, the word `within` and a
//! duration. All words that stand for themselves are reserved; names like them need quotes.

use crate::operators::{ALL, OperatorForm};

/// An element of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    Operand,
    /// More operands, each after this word.
    More(&'static str),
    /// A word or symbol that stands for itself.
    Literal(&'static str),
    Number,
    Length,
    Range,
}

/// Returns the elements of a form.
pub(super) fn elements(form: &OperatorForm) -> Vec<Element> {
    let mut elements = Vec::new();
    let mut separator = "";
    for word in form.pattern.split(' ') {
        elements.push(match word {
            "A" | "B" => Element::Operand,
            "…" => Element::More(separator),
            "N" => Element::Number,
            "D" => Element::Length,
            "LO..HI" => Element::Range,
            literal => {
                separator = literal;
                Element::Literal(literal)
            }
        });
    }
    elements
}

/// Returns the word that identifies the operator of a form.
pub(super) fn sign(form: &OperatorForm) -> &'static str {
    let literal = elements(form).into_iter().find_map(|element| match element {
        Element::Literal(literal) => Some(literal),
        _ => None,
    });
    literal.unwrap_or_default()
}

/// Returns whether a word has a meaning in the grammar.
pub(super) fn is_reserved(word: &str) -> bool {
    let mut forms = ALL.iter().flat_map(|operator| operator.forms());
    forms.any(|form| {
        elements(form)
            .iter()
            .any(|element| matches!(element, Element::Literal(literal) if *literal == word))
    })
}
