//! One definition: an operator with its operands, parsed from a text and written as one.
//!
//! `Alice&"second arm" within 2 ns` is the operator `&` with two operands and a duration, and is written with one
//! blank between its parts. A written definition parses to the same definition.

use std::{fmt, str::FromStr};

use tagq_store::Duration;

use super::{
    pattern::{Element, elements, is_reserved, sign},
    token::{Token, TokenKind, tokens},
};
use crate::{
    error::Error,
    operators::{ALL, Operator, OperatorForm, Setting},
};

/// A channel or definition as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Operand {
    /// The number of a channel.
    Number(u16),
    /// The name of a channel or a definition.
    Name(String),
}

/// A definition as it is written: an operator with its operands.
///
/// ```
/// use tagq_derived::Expression;
///
/// let expression: Expression = "Alice&\"second arm\" within 2 ns".parse()?;
/// assert_eq!(expression.operator().key(), "coincide");
/// assert_eq!(expression.to_string(), "Alice & \"second arm\" within 2 ns");
/// # Ok::<(), tagq_derived::Error>(())
/// ```
#[derive(Clone)]
pub struct Expression {
    operator: &'static dyn Operator,
    form: &'static OperatorForm,
    operands: Vec<Operand>,
    setting: Setting,
}

impl Expression {
    /// Returns the operator.
    pub fn operator(&self) -> &'static dyn Operator {
        self.operator
    }

    /// Returns the operands, in order.
    pub fn operands(&self) -> &[Operand] {
        &self.operands
    }

    /// Returns the same with another operand in place of the name `before`; `None` if it does not have this name.
    pub fn renamed(&self, before: &str, now: &Operand) -> Option<Self> {
        let mut renamed = self.clone();
        let mut is_found = false;
        for operand in &mut renamed.operands {
            if matches!(operand, Operand::Name(name) if name == before) {
                operand.clone_from(now);
                is_found = true;
            }
        }
        is_found.then_some(renamed)
    }

    /// Returns the number or duration.
    pub fn setting(&self) -> &Setting {
        &self.setting
    }
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.form.pattern == other.form.pattern
            && self.operands == other.operands
            && self.setting == other.setting
    }
}

impl Eq for Expression {}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Expression({self})")
    }
}

/// The word that identifies an operator in texts, such as `&`.
pub(crate) fn sign_of(operator: &dyn Operator) -> &'static str {
    operator.forms().first().map_or("", sign)
}

impl FromStr for Expression {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let tokens = tokens(text)?;
        let operator = operator_of(text, &tokens)?;
        let mut error = None;
        for form in operator.forms() {
            let mut parser = Parser { text, tokens: &tokens, operator };
            match parser.read(form) {
                Ok(Some(expression)) => return Ok(expression),
                Ok(None) => {}
                Err(other) => error = Some(other),
            }
        }
        Err(error.unwrap_or_else(|| wrong_form(text, operator)))
    }
}

fn wrong_form(text: &str, operator: &dyn Operator) -> Error {
    let forms: Vec<String> =
        operator.forms().iter().map(|form| format!("`{}`", form.pattern)).collect();
    let example = operator.forms().first().map_or("", |form| form.example);
    Error::Form { text: text.into(), forms: forms.join(" or "), example }
}

/// Finds the operator whose word or symbol stands in a text.
fn operator_of(text: &str, tokens: &[Token<'_>]) -> Result<&'static dyn Operator, Error> {
    let stands = |sign: &str| {
        tokens.iter().position(|token| token.kind != TokenKind::Quoted && token.text == sign)
    };
    let found = ALL.into_iter().filter_map(|operator| Some((stands(sign_of(operator))?, operator)));
    let mut found: Vec<(usize, &'static dyn Operator)> = found.collect();
    // The two points also stand in ranges.
    if found.len() > 1 {
        found.retain(|(_, operator)| sign_of(*operator) != "..");
    }
    found.sort_by_key(|(at, _)| *at);
    match found[..] {
        [(_, operator)] => Ok(operator),
        [] => {
            let forms = ALL.iter().flat_map(|operator| operator.forms());
            let examples: Vec<String> = forms.map(|form| format!("`{}`", form.example)).collect();
            Err(Error::NoOperator { text: text.into(), examples: examples.join(", ") })
        }
        [(_, first), (_, second), ..] => Err(Error::TwoOperators {
            text: text.into(),
            first: sign_of(first),
            second: sign_of(second),
        }),
    }
}

/// Reads the tokens of a text by a form.
struct Parser<'a> {
    text: &'a str,
    /// The tokens that are left.
    tokens: &'a [Token<'a>],
    operator: &'static dyn Operator,
}

impl<'a> Parser<'a> {
    /// Reads all tokens. Returns `None` if they do not have the form.
    fn read(&mut self, form: &'static OperatorForm) -> Result<Option<Expression>, Error> {
        let (mut operands, mut setting) = (Vec::new(), Setting::None);
        for element in elements(form) {
            let is_found = match element {
                Element::Literal(literal) => self.literal(literal),
                Element::Operand => self.operand()?.map(|operand| operands.push(operand)).is_some(),
                Element::More(separator) => {
                    let mut is_found = true;
                    while is_found && self.literal(separator) {
                        let operand = self.operand()?;
                        is_found = operand.map(|operand| operands.push(operand)).is_some();
                    }
                    is_found
                }
                Element::Number => {
                    self.number()?.map(|number| setting = Setting::Number(number)).is_some()
                }
                Element::Length => {
                    self.length()?.map(|length| setting = Setting::Length(length)).is_some()
                }
                Element::Range => match (self.length()?, self.literal(".."), self.length()?) {
                    (Some(low), true, Some(high)) => {
                        setting = Setting::Range(low, high);
                        true
                    }
                    _ => false,
                },
            };
            if !is_found {
                return Ok(None);
            }
        }
        if !self.tokens.is_empty() {
            return Ok(None);
        }
        let (operator, most) = (self.operator, self.operator.operands_max());
        if operands.len() > most {
            return Err(Error::Operands {
                text: self.text.into(),
                operator: sign_of(operator),
                operands: operands.len(),
                most,
            });
        }
        Ok(Some(Expression { operator, form, operands, setting }))
    }

    fn next_if(&mut self, is_expected: impl Fn(&Token<'a>) -> bool) -> Option<&'a str> {
        let (first, rest) = self.tokens.split_first()?;
        is_expected(first).then(|| {
            self.tokens = rest;
            first.text
        })
    }

    fn literal(&mut self, literal: &str) -> bool {
        self.next_if(|token| token.kind != TokenKind::Quoted && token.text == literal).is_some()
    }

    /// Reads a word that has no meaning in the grammar.
    fn word(&mut self) -> Option<&'a str> {
        self.next_if(|token| token.kind == TokenKind::Word && !is_reserved(token.text))
    }

    fn operand(&mut self) -> Result<Option<Operand>, Error> {
        if let Some(name) = self.next_if(|token| token.kind == TokenKind::Quoted) {
            return Ok(Some(Operand::Name(name.replace("\"\"", "\""))));
        }
        let Some(word) = self.word() else { return Ok(None) };
        if is_number(word) {
            let number = word.parse().map_err(|_| Error::ChannelNumber {
                text: self.text.into(),
                number: word.into(),
            })?;
            return Ok(Some(Operand::Number(number)));
        }
        if is_plain(word) {
            return Ok(Some(Operand::Name(word.into())));
        }
        Err(Error::NotPlain { text: self.text.into(), word: word.into() })
    }

    fn number(&mut self) -> Result<Option<u64>, Error> {
        let Some(word) = self.word() else { return Ok(None) };
        let numbers = self.operator.numbers();
        match word.parse() {
            Ok(number) if is_number(word) && numbers.contains(&number) => Ok(Some(number)),
            _ => Err(Error::Number {
                text: self.text.into(),
                operator: sign_of(self.operator),
                number: word.into(),
                least: *numbers.start(),
                most: *numbers.end(),
            }),
        }
    }

    /// Reads a duration, which may have a blank before its unit.
    fn length(&mut self) -> Result<Option<Duration>, Error> {
        let Some(word) = self.word() else { return Ok(None) };
        let is_bare = |word: &str| !word.contains(|letter: char| letter.is_alphabetic());
        let unit = if is_bare(word) { self.word() } else { None };
        let duration = match unit {
            Some(unit) => format!("{word} {unit}").parse(),
            None => word.parse(),
        };
        let of_text = |error| Error::Duration { text: self.text.into(), error };
        duration.map(Some).map_err(of_text)
    }
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|letter| letter.is_ascii_digit())
}

/// Returns whether a name needs no quotes.
fn is_plain(word: &str) -> bool {
    let is_first = |letter: char| letter.is_alphabetic() || letter == '_';
    word.starts_with(is_first)
        && word.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-'))
        && !is_reserved(word)
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Name(name) if is_plain(name) => f.write_str(name),
            Self::Name(name) => write!(f, "\"{}\"", name.replace('"', "\"\"")),
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut operands = self.operands.iter();
        // Operands after the last one of the pattern belong to its `…`.
        let of_pattern = |element: &Element| matches!(element, Element::Operand);
        let mut more =
            self.operands.len() - elements(self.form).iter().filter(|e| of_pattern(e)).count();
        for (at, element) in elements(self.form).into_iter().enumerate() {
            if at > 0 && !matches!(element, Element::More(_)) {
                f.write_str(" ")?;
            }
            match (element, &self.setting) {
                (Element::Operand, _) => {
                    operands.next().map_or(Ok(()), |operand| operand.fmt(f))?;
                }
                (Element::More(separator), _) => {
                    for operand in operands.by_ref().take(std::mem::take(&mut more)) {
                        write!(f, " {separator} {operand}")?;
                    }
                }
                (Element::Literal(literal), _) => f.write_str(literal)?,
                (Element::Number, Setting::Number(number)) => number.fmt(f)?,
                (Element::Length, Setting::Length(length)) => f.write_str(length.asked())?,
                (Element::Range, Setting::Range(low, high)) => {
                    write!(f, "{}..{}", low.asked(), high.asked())?;
                }
                (Element::Number | Element::Length | Element::Range, _) => {}
            }
        }
        Ok(())
    }
}
