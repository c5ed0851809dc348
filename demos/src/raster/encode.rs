//! A picture as the bytes of a PNG file.

use crate::raster::Raster;

impl Raster {
    /// The bytes of a PNG file, the same for the same picture.
    ///
    /// # Panics
    /// Never: memory takes every byte, and the sides were checked when the
    /// picture was made.
    #[must_use]
    pub fn png(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.encode(&mut bytes).expect("a picture in memory can be encoded");
        bytes
    }

    fn encode(&self, bytes: &mut Vec<u8>) -> Result<(), png::EncodingError> {
        let mut encoder = png::Encoder::new(bytes, self.width, self.height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let channels: Vec<u8> = self.pixels.iter().flat_map(|pixel| pixel.0).collect();
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&channels)?;
        writer.finish()
    }
}
