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
/// Qualities and scales to try until the picture fits its bound.
const ATTEMPTS: [(u32, f64); 5] = [(80, 1.0), (50, 1.0), (50, 0.5), (40, 0.25), (20, 0.1)];

impl Session {
    /// Takes a picture of the current tab.
    pub(super) async fn picture(&self, full: bool) -> Result<Picture, Fault> {
        let tab = self.tab()?;
        self.call(&tab.session, "Page.bringToFront", json!({})).await?;
        let page = self.call(&tab.session, "Page.getLayoutMetrics", json!({})).await?;
        let (area, at) = match full {
            true => ("cssContentSize", [json!(0), json!(0)]),
            false => {
                let view = &page["cssVisualViewport"];
                ("cssVisualViewport", ["pageX", "pageY"].map(|side| view[side].clone()))
            }
        };
        let size = |sides: [&str; 2]| {
            let side = sides.iter().find_map(|side| page[area][*side].as_f64());
            side.unwrap_or(1.0).max(1.0)
        };
        let width = size(["width", "clientWidth"]).min(WIDTH_MAX);
        let height = size(["height", "clientHeight"]).min(HEIGHT_MAX);
        let [x, y] = at;
        for (quality, scale) in ATTEMPTS {
            let take = json!({
                "format": "jpeg", "quality": quality, "captureBeyondViewport": full,
                "clip": {"x": x, "y": y, "width": width, "height": height, "scale": scale},
            });
            let taken = self.call(&tab.session, "Page.captureScreenshot", take).await?;
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
