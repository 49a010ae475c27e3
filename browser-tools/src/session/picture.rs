//! Pictures of pages.

use data_encoding::BASE64;
use serde_json::json;

use super::{Fault, Session};
use crate::{
    refusal::Refusal,
    request::{PICTURE_BYTES_MAX, Picture},
};

/// Largest sides of a picture, in pixels.
const WIDTH_MAX: f64 = 4_096.0;
const HEIGHT_MAX: f64 = 16_384.0;
/// Qualities to try until the picture fits its bound.
const QUALITIES: [u32; 3] = [80, 50, 20];

impl Session {
    /// Takes a picture of the current tab.
    pub(super) async fn picture(&self, full: bool) -> Result<Picture, Fault> {
        let tab = self.tab()?;
        self.call(&tab.session, "Page.bringToFront", json!({})).await?;
        let mut take = json!({"format": "jpeg", "captureBeyondViewport": full});
        if full {
            let page = self.call(&tab.session, "Page.getLayoutMetrics", json!({})).await?;
            let size = |side: &str| page["cssContentSize"][side].as_f64().unwrap_or(1.0).max(1.0);
            let (width, height) = (size("width").min(WIDTH_MAX), size("height").min(HEIGHT_MAX));
            take["clip"] = json!({"x": 0, "y": 0, "width": width, "height": height, "scale": 1});
        }
        for quality in QUALITIES {
            take["quality"] = json!(quality);
            let taken = self.call(&tab.session, "Page.captureScreenshot", take.clone()).await?;
            let data = taken["data"].as_str().unwrap_or_default();
            let jpeg = BASE64.decode(data.as_bytes());
            let jpeg = jpeg.map_err(|error| Refusal::Browser(error.to_string()))?;
            if jpeg.len() <= PICTURE_BYTES_MAX {
                return Ok(Picture { jpeg });
            }
        }
        Err(Refusal::Picture.into())
    }
}
