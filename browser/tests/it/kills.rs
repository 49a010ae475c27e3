//! A page across the deaths of the gateway, the supervisor and nats-server.

use callboard_browser::Look;
use serde_json::json;

use crate::stage::Stage;

/// The transcript: the id of each line, and its text.
const SHOWN: &str = "[...document.querySelectorAll('.say')].map((el) => [el.querySelector('.say-time')?.title ?? '', el.innerText])";

#[tokio::test(flavor = "multi_thread")]
async fn a_page_misses_and_repeats_nothing_across_kills() {
    let Some(mut stage) = Stage::start().await else { return };
    stage.submit(&json!({"id": "j1", "goal": "Say two things", "confirm": true})).await;
    let look = Look::default();
    let page = stage.page(&look, "/jobs/j1?tab=said").await;
    page.find(".card.ask .plan-title", "two echoes").await;
    stage.gateway.restart(&stage.company);
    // A request that broke with the gateway leaves the card as it was; the person sends it again.
    let next = "__page.find('.question-prompt', 'Whom is it for?') ? 'asked' \
                : __page.find('.card.ask button.primary', 'Confirm') && !__page.find('.strip', '') ? 'again' : ''";
    while page.until::<String>("the question, or its button", next).await == "again" {
        let click = "(__page.find('.card.ask button.primary', 'Confirm')?.click(), true)";
        let _: bool = page.value(click).await;
    }
    stage.others.restart(&stage.company);
    stage.company.nats.kill9();
    stage.company.nats.restart().await;
    stage.until("j1", "input-required").await;
    page.fill(".card.ask textarea", "Ann").await;
    page.click(".card.ask button.primary", "Send").await;
    // The mark of a stream that has ended: every event is there.
    page.find(".live-dot.off", "").await;
    let live: Vec<[String; 2]> = page.value(SHOWN).await;
    // A page that opens now reads the stored events.
    let fresh = stage.page(&look, "/jobs/j1?tab=said").await;
    fresh.find(".live-dot.off", "").await;
    assert_eq!(live, fresh.value::<Vec<[String; 2]>>(SHOWN).await);
    assert!(live.len() > 8, "{live:?}");
}
