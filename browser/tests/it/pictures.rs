//! The pictures of `docs/console.md`, taken from the real pages. `CALLBOARD_WRITE_PICTURES=1` writes
//! them; without it the test only checks that every picture can be taken and fits.

use callboard_browser::Look;
use callboard_tests::{company::Company, root};
use serde_json::json;

use crate::{flow, stage::Stage};

/// A picture: its name, the page, what the page shows when it is complete, and the look.
const PICTURES: &[(&str, &str, &str, bool, bool)] = &[
    ("console-jobs", "/jobs", ".job-row", false, false),
    ("console-plan", "/jobs/release-2-4", ".card.ask .plan-list", false, false),
    ("console-workflow", "/jobs/notes-2-4?node=judge", ".panel .call", false, false),
    ("console-time", "/jobs/release-2-3?tab=time", ".fall-row", true, false),
    ("console-approval", "/inbox?job=invoice-2291&ask=q1", ".exact", false, false),
    ("console-costs", "/costs?days=7", ".bars-bar", false, false),
    ("console-phone", "/inbox?job=release-2-3&ask=q1", ".option", true, true),
];

/// The price of the model.
const PRICE: &str = "{ input_per_million = 3.0, output_per_million = 15.0 }";

/// The largest picture, in bytes.
const BYTES_MAX: usize = 150 * 1024;

#[tokio::test(flavor = "multi_thread")]
async fn the_pictures_of_the_document_can_be_taken() {
    let price = |company: &mut Company| company.set("MODEL__PRICE", PRICE);
    let script = format!("{}{}", include_str!("pictures.yaml"), flow::RULES);
    let Some(stage) = Stage::with(&script, price).await else { return };
    let jobs = [
        ("backup-12", "Run the nightly backup and verify it", false, "working"),
        ("import-7", "Repeat the import of Tuesday", false, "failed"),
        ("translate-3", "Translate the price list", false, "completed"),
        ("invoice-2291", "Pay invoice INV-2291", false, "input-required"),
        ("release-2-3", "Write the release notes of 2.3", false, "input-required"),
        ("release-2-4", "Write and publish the release notes of 2.4", true, "input-required"),
    ];
    for (id, goal, confirm, state) in jobs {
        stage.submit(&json!({"id": id, "goal": goal, "confirm": confirm})).await;
        stage.until(id, state).await;
    }
    stage.submit(&flow::job("notes-2-4")).await;
    stage.until("notes-2-4", "input-required").await;
    let write = std::env::var_os("CALLBOARD_WRITE_PICTURES").is_some();
    for (name, path, complete, dark, phone) in PICTURES {
        let size = if *phone {
            Look::phone()
        } else {
            Look { width: 1240, height: 760, ..Look::default() }
        };
        let page = stage.page(&Look { dark: *dark, ..size }, path).await;
        page.find(complete, "").await;
        page.lose(".exact", "…").await;
        let picture = page.picture().await;
        assert!(picture.starts_with(b"\x89PNG"), "{name}");
        assert!(picture.len() <= BYTES_MAX, "{name} has {} bytes", picture.len());
        let file = root().join(format!("docs/images/{name}.png"));
        if write {
            std::fs::write(&file, picture).unwrap();
        }
        assert!(file.exists(), "CALLBOARD_WRITE_PICTURES=1 writes {}", file.display());
        page.is_clean(&stage.host).await;
        page.close().await;
    }
}
