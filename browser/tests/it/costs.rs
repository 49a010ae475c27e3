//! The page of costs, with a model that has a price and one that has none.

use callboard_browser::{Look, Page};
use serde_json::json;

use crate::stage::Stage;

/// Every plan costs 1,000 tokens in and 100 out.
const SCRIPT: &str = r#"
rules:
  - name: plan
    when: { system: 'You are a planner' }
    reply:
      json:
        title: "an echo"
        steps:
          - { id: one, title: "Say it", description: "echo", tool: echo, args: { value: "one" } }
      usage: { input: 1000, output: 100 }
"#;

/// The price of the model of the configuration: such a plan costs 20 cents.
const PRICE: &str = "{ input_per_million = 100.0, output_per_million = 1000.0 }";

async fn fits(page: &Page) {
    let fits: bool = page.value("document.documentElement.scrollWidth <= innerWidth").await;
    assert!(fits, "the page scrolls sideways");
}

#[tokio::test(flavor = "multi_thread")]
async fn costs_are_shown_by_day_agent_model_and_job_and_an_unknown_price_is_no_zero() {
    let set = |company: &mut callboard_tests::company::Company| company.set("MODEL__PRICE", PRICE);
    let Some(stage) = Stage::with(SCRIPT, set).await else { return };
    let page = stage.page(&Look::default(), "/costs").await;
    page.find(".empty", "No job in this time").await;
    stage.submit(&json!({"id": "paid", "goal": "Say one", "confirm": false})).await;
    let unknown = json!({"name": "other", "confirm": false, "model": "secret"});
    stage.submit(&json!({"id": "unpriced", "goal": "Say two", "agent": unknown})).await;
    stage.until("paid", "completed").await;
    stage.until("unpriced", "completed").await;

    page.open(&stage.url("/jobs")).await;
    page.find(".job-row .c-cost", "$0.2000").await;
    page.find(".job-row .c-cost", "1.1 k tokens").await;
    page.press("g").await;
    page.press("u").await;
    page.find(".tile", "$0.2000 + ?").await;
    page.find(".warn-line", "1,100 tokens have no known price").await;
    page.find(".costs-parts td", "secret").await;
    page.find(".costs-parts .num", "?").await;
    let bars = "document.querySelectorAll('.bars-bar').length";
    assert_eq!(page.value::<u32>(bars).await, 30);
    page.click(".segments button", "7 days").await;
    let _: bool = page.until("the bars of a week", &format!("{bars} === 7")).await;
    page.click(".segments button", "Tokens").await;
    let label = "document.querySelector('.bars svg').getAttribute('aria-label')";
    let of_tokens = format!("{label}.startsWith('Bars of 7 days') && {label}.endsWith('2.2 k')");
    let _: bool = page.until("the bars of tokens", &of_tokens).await;
    let address: String = page.value("location.search").await;
    assert_eq!(address, "?days=7&by=tokens");

    // The address has the whole choice, and the keys reach it.
    page.open(&stage.url("/costs?days=90&agent=other")).await;
    page.find(".tile", "?").await;
    assert_eq!(page.value::<u32>(bars).await, 90);
    page.press("/").await;
    page.fill("#cost-agent", "nobody").await;
    page.press("Enter").await;
    page.find(".empty", "No job in this time").await;
    let address: String = page.value("location.search").await;
    assert_eq!(address, "?days=90&agent=nobody");

    let look = Look { language: "zh-CN", dark: true, ..Look::phone() };
    let phone = stage.page(&look, "/costs").await;
    phone.find(".warn-line", "没有已知价格").await;
    fits(&phone).await;
    phone.click(".costs td a", "Say one").await;
    phone.find(".why-bar", "已完成").await;
    for page in [&page, &phone] {
        page.is_clean(&stage.host).await;
    }
}
