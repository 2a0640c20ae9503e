//! The secret that opens a server which other computers reach. A wrong token of the same length takes as long to
//! compare as the right one, so that the time of a refusal does not tell where they differ.

use std::{fmt, fmt::Write as _, hint::black_box};

use crate::error::Error;

/// A random secret of 256 bits. Its `Debug` form does not show it.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Creates a new one.
    ///
    /// # Errors
    /// [`Error::Random`].
    pub fn random() -> Result<Self, Error> {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes).map_err(Error::Random)?;
        let mut text = String::new();
        for byte in bytes {
            let _ = write!(text, "{byte:02x}");
        }
        Ok(Self(text))
    }

    /// Returns its text: 64 hexadecimal digits.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Returns whether `given` is this token. The time that this takes does not depend on where they differ.
    pub(crate) fn is(&self, given: &str) -> bool {
        let (own, given) = (self.0.as_bytes(), given.as_bytes());
        if own.len() != given.len() {
            return false;
        }
        let differing = own.iter().zip(given).fold(0, |all, (a, b)| black_box(all | (a ^ b)));
        differing == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_text_is_the_token() {
        let token = Token::random().unwrap();
        let text = token.text().to_owned();
        assert!(text.len() == 64 && token.is(&text));
        for at in 0..64 {
            let mut other = text.clone().into_bytes();
            other[at] ^= 1;
            assert!(!token.is(std::str::from_utf8(&other).unwrap()));
        }
        assert!(!token.is("") && !token.is(&text[1..]) && !token.is(&format!("{text}0")));
        assert!(!Token::random().unwrap().is(&text));
        assert!(!format!("{token:?}").contains(&text));
    }
}
