//! The tokens of a definition.
//!
//! `1&2 within 2ns` has the tokens `1`, `&`, `2`, `within` and `2ns`. A name in quotes is never taken for a symbol or
//! word.

use crate::error::Error;

/// A token of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'a> {
    /// The text, without the quotes of a name.
    pub text: &'a str,
    pub kind: TokenKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// `|`, `&`, `/` or `..`.
    Symbol,
    /// Anything between blanks, symbols and quotes.
    Word,
    /// A name in quotes.
    Quoted,
}

const SYMBOLS: [&str; 4] = ["|", "&", "/", ".."];

/// Splits a text into tokens.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, Error> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (token, len) = if let Some(quoted) = rest.strip_prefix('"') {
            let end =
                end_of_quoted(quoted).ok_or_else(|| Error::OpenQuote { text: text.into() })?;
            (Token { text: &quoted[..end], kind: TokenKind::Quoted }, end + 2)
        } else if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            (Token { text: symbol, kind: TokenKind::Symbol }, symbol.len())
        } else {
            let is_end = |at: usize| {
                let rest = &rest[at..];
                rest.starts_with(|letter: char| letter.is_whitespace() || letter == '"')
                    || SYMBOLS.iter().any(|symbol| rest.starts_with(symbol))
            };
            let end = rest.char_indices().map(|(at, _)| at).find(|&at| is_end(at));
            let end = end.unwrap_or(rest.len());
            (Token { text: &rest[..end], kind: TokenKind::Word }, end)
        };
        tokens.push(token);
        rest = rest[len..].trim_start();
    }
    Ok(tokens)
}

/// Returns where the quote ends; two quotes stand for one in the name.
fn end_of_quoted(quoted: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        at += quoted[at..].find('"')?;
        if !quoted[at + 1..].starts_with('"') {
            return Some(at);
        }
        at += 2;
    }
}
