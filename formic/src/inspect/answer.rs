//! The answer to a request.

use serde_json::{Value, json};

/// An HTTP status, a media type and content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status: 200 for success.
    pub status: u16,
    /// The media type of the bytes.
    pub media_type: &'static str,
    /// The content.
    pub bytes: Vec<u8>,
}

impl Answer {
    /// The media type of JSON.
    pub const JSON: &'static str = "application/json";

    /// Creates an answer from a JSON value.
    #[must_use]
    pub fn json(value: &Value) -> Self {
        Self { status: 200, media_type: Self::JSON, bytes: value.to_string().into_bytes() }
    }

    /// Creates an error: a JSON object with the key `error`.
    #[must_use]
    pub fn error(status: u16, text: &str) -> Self {
        Self { status, ..Self::json(&json!({ "error": text })) }
    }

    /// Creates an answer with a picture, as a PNG file.
    #[must_use]
    pub fn png(bytes: Vec<u8>) -> Self {
        Self { status: 200, media_type: "image/png", bytes }
    }

    /// Creates an answer with bytes in a format of our own.
    #[must_use]
    pub fn bytes(bytes: Vec<u8>) -> Self {
        Self { status: 200, media_type: "application/octet-stream", bytes }
    }
}
