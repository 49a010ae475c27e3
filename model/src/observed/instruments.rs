//! The metrics of model calls. Attributes are providers, configured models and kinds of errors,
//! never text from a caller.

use std::{sync::LazyLock, time::Duration};

use opentelemetry::{
    KeyValue, global,
    metrics::{Counter, Histogram},
};
use proto::{budget::Price, message::Usage};

use super::{Labels, call::keys};
use crate::ErrorKind;

/// Bucket boundaries of the conventions, extended because a reply may take ten minutes.
const SECONDS: [f64; 17] = [
    0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84,
    327.68, 655.36,
];
/// Bucket boundaries of the conventions.
const TOKENS: [f64; 12] = [
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1_024.0,
    4_096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
];

struct Instruments {
    duration: Histogram<f64>,
    first_chunk: Histogram<f64>,
    tokens: Histogram<u64>,
    cost: Counter<f64>,
    retries: Counter<u64>,
}

static INSTRUMENTS: LazyLock<Instruments> = LazyLock::new(|| {
    let meter = global::meter("callboard");
    let seconds = |name: &'static str, what: &'static str| {
        meter
            .f64_histogram(name)
            .with_unit("s")
            .with_description(what)
            .with_boundaries(SECONDS.to_vec())
            .build()
    };
    Instruments {
        duration: seconds(
            "gen_ai.client.operation.duration",
            "A call to a model, retries included.",
        ),
        first_chunk: seconds(
            "gen_ai.client.operation.time_to_first_chunk",
            "Time until a model starts its reply, retries included.",
        ),
        tokens: meter
            .u64_histogram("gen_ai.client.token.usage")
            .with_unit("{token}")
            .with_description("Tokens of a call to a model.")
            .with_boundaries(TOKENS.to_vec())
            .build(),
        // Prometheus has no unit suffix for money, so the name contains the unit.
        cost: meter
            .f64_counter("callboard.model.cost.usd")
            .with_unit("{USD}")
            .with_description("Money spent on models, by model.known and model.price.")
            .build(),
        retries: meter
            .u64_counter("callboard.model.retries")
            .with_description("Failed attempts of model calls that were retried.")
            .build(),
    }
});

/// Counts a failed attempt that is retried.
pub(crate) fn count_retry(labels: &Labels, model: Option<&str>, kind: ErrorKind) {
    let attributes = [
        KeyValue::new(keys::PROVIDER, labels.provider()),
        KeyValue::new(keys::REQUEST_MODEL, labels.model(model).to_owned()),
        KeyValue::new(keys::ERROR_TYPE, kind.as_str()),
    ];
    INSTRUMENTS.retries.add(1, &attributes);
}

/// The measurements of a finished call.
pub(super) struct Measured<'a> {
    pub(super) labels: &'a Labels,
    pub(super) model: Option<&'a str>,
    pub(super) took: Duration,
    pub(super) first_chunk: Option<Duration>,
    pub(super) usage: Usage,
    /// Error label; empty on success.
    pub(super) error: &'static str,
    pub(super) price: Option<Price>,
}

impl Measured<'_> {
    pub(super) fn record(&self) {
        let provider = KeyValue::new(keys::PROVIDER, self.labels.provider());
        let model = KeyValue::new(keys::REQUEST_MODEL, self.labels.model(self.model).to_owned());
        let common = [KeyValue::new(keys::OPERATION, keys::CHAT), provider.clone(), model.clone()];
        let with = |more: KeyValue| {
            let [operation, provider, model] = common.clone();
            [operation, provider, model, more]
        };
        let error = with(KeyValue::new(keys::ERROR_TYPE, self.error));
        INSTRUMENTS.duration.record(self.took.as_secs_f64(), &error);
        if let Some(first) = self.first_chunk {
            INSTRUMENTS.first_chunk.record(first.as_secs_f64(), &common);
        }
        let Usage { input_tokens, output_tokens, .. } = self.usage;
        // A provider without token counts reports zeros.
        if self.usage != Usage::default() {
            for (word, tokens) in [("input", input_tokens), ("output", output_tokens)] {
                let attributes = with(KeyValue::new("gen_ai.token.type", word));
                INSTRUMENTS.tokens.record(tokens, &attributes);
            }
        }
        if let Some(price) = self.price {
            INSTRUMENTS.cost.add(price.of(self.usage), &[provider, model]);
        }
    }
}
