//! The answer to a request.

use serde_json::{Value, json};

/// A status, a type and bytes, as HTTP has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The number: 200 for what went well.
    pub status: u16,
    /// The media type of the bytes.
    pub media_type: &'static str,
    /// The content.
    pub bytes: Vec<u8>,
}

impl Answer {
    /// JSON, as text.
    pub const JSON: &'static str = "application/json";

    /// A JSON value.
    #[must_use]
    pub fn json(value: &Value) -> Self {
        Self { status: 200, media_type: Self::JSON, bytes: value.to_string().into_bytes() }
    }

    /// A complaint: a JSON object with the key `error`.
    #[must_use]
    pub fn error(status: u16, text: &str) -> Self {
        Self { status, ..Self::json(&json!({ "error": text })) }
    }

    /// A picture, as a PNG file.
    #[must_use]
    pub fn png(bytes: Vec<u8>) -> Self {
        Self { status: 200, media_type: "image/png", bytes }
    }

    /// Bytes of our own making.
    #[must_use]
    pub fn bytes(bytes: Vec<u8>) -> Self {
        Self { status: 200, media_type: "application/octet-stream", bytes }
    }
}
