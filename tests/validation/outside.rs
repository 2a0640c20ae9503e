//! Answers of other programs: recorded in the list, or in a file of the folder.

use std::{
    fs::{self, File},
    io::Read as _,
    path::Path,
};

use serde_json::{Value, json};

use super::{list::Outside, ours::sha256};

impl Outside {
    /// Returns the answer. `None` if its file is absent, or if the list has only sum and digest of an array.
    pub(super) fn answer(&self, folder: &Path) -> Option<Value> {
        let Some(file) = &self.file else { return self.value.clone() };
        let path = folder.join(file);
        let bytes = fs::read(&path).ok()?;
        if let Some(array) = &self.array {
            return Some(numbers_of_array(&path, array).into());
        }
        if self.text {
            let mut text = zstd::decode_all(&*bytes).unwrap();
            text.retain(|&byte| byte != b'\r');
            return Some(json!(sha256(&text)));
        }
        let text = String::from_utf8(bytes).unwrap();
        if let Some(pointer) = &self.pointer {
            let all: Value = serde_json::from_str(&text).unwrap();
            let found = all.pointer(pointer).unwrap_or_else(|| panic!("{file} has no {pointer}"));
            let scaled = |scale: f64| json!(found.as_f64().unwrap() * scale);
            return Some(self.scale.map_or_else(|| found.clone(), scaled));
        }
        let cells = |line: &str| -> Vec<Value> {
            line.split([',', '\t', ' '])
                .filter(|cell| !cell.trim().is_empty())
                .map(number)
                .collect()
        };
        let mut rows: Vec<Vec<Value>> = text.lines().map(cells).collect();
        if self.inner {
            rows.pop();
            rows.remove(0);
        }
        match self.column {
            Some(column) => Some(rows.iter().map(|row| row[column].clone()).collect()),
            None => Some(rows.concat().into()),
        }
    }
}

fn number(text: &str) -> Value {
    let text = text.trim();
    text.parse::<i64>().map_or_else(|_| json!(text.parse::<f64>().unwrap()), Value::from)
}

/// Returns an array of 64-bit integers of a file of `numpy.savez_compressed`.
fn numbers_of_array(path: &Path, name: &str) -> Vec<i64> {
    let mut archive = zip::ZipArchive::new(File::open(path).unwrap()).unwrap();
    let mut bytes = Vec::new();
    archive.by_name(&format!("{name}.npy")).unwrap().read_to_end(&mut bytes).unwrap();
    assert!(bytes.starts_with(b"\x93NUMPY\x01\x00"), "{name}");
    let header_len = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let (header, values) = bytes[10..].split_at(header_len);
    assert!(String::from_utf8_lossy(header).contains("'descr': '<i8'"), "{name}");
    let (values, rest) = values.as_chunks::<8>();
    assert!(rest.is_empty(), "{name}");
    values.iter().map(|value| i64::from_le_bytes(*value)).collect()
}
