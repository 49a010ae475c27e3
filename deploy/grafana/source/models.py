"""Models and cost: latency, errors and price of the models' answers."""

import kit
from kit import by, grown, quantiles, query, ratio, rate, series, stat

SCOPE = ('gen_ai_provider_name=~"$provider"', 'gen_ai_request_model=~"$model"')
CALLS = "gen_ai_client_operation_duration_seconds"
FIRST = "gen_ai_client_operation_time_to_first_chunk_seconds"
TOKENS = "gen_ai_client_token_usage"
COST = "callboard_model_cost_usd_total"
MODEL = "gen_ai_request_model"


def tokens(kind, change=rate):
    return change(f"{TOKENS}_sum", *SCOPE, f'gen_ai_token_type="{kind}"')


NOW = [
    stat(
        "Calls",
        "Calls to models in the time that is shown.",
        by("", grown(f"{CALLS}_count", *SCOPE)),
        decimals=0,
        instant=True,
        noValue="0",
    ),
    stat(
        "Failed",
        "Part of the calls that failed in the end, after every attempt.",
        ratio(
            by("", grown(f"{CALLS}_count", *SCOPE, 'error_type!=""')),
            by("", grown(f"{CALLS}_count", *SCOPE)),
        ),
        unit="percentunit",
        decimals=1,
        instant=True,
        thresholds=kit.alarm_above(0.02, 0.1),
        noValue="–",
    ),
    stat(
        "Half of them within",
        "Median time of a call, its retries included.",
        f"histogram_quantile(0.5, {by('le', grown(f'{CALLS}_bucket', *SCOPE))})",
        unit="s",
        instant=True,
    ),
    stat(
        "Money",
        "Spent in the time that is shown, by the prices in the configuration (model.price).",
        by("", grown(COST, *SCOPE)),
        unit="currencyUSD",
        decimals=2,
        instant=True,
        noValue="0",
    ),
    stat(
        "Money a day",
        "What a day costs at the pace of the last hour.",
        'sum(callboard:model_cost_usd:rate1h{job=~"$installation"}) * 86400',
        unit="currencyUSD",
        decimals=2,
        noValue="0",
    ),
    stat(
        "Of the month's budget",
        "What thirty days cost at the pace of the last six hours, as a part of the budget in "
        "deploy/prometheus/rules/callboard-budget.yml.",
        'sum(callboard:model_cost_usd:rate6h{job=~"$installation"}) * 2592000 '
        "/ scalar(callboard:model_budget_usd:month)",
        unit="percentunit",
        decimals=0,
        thresholds=kit.alarm_above(0.8, 1),
        noValue="0",
    ),
]

MONEY = [
    series(
        "Money an hour",
        "What models cost an hour at the pace of the moment, by model.",
        [query(by(MODEL, rate(COST, *SCOPE)) + " * 3600", "{{gen_ai_request_model}}")],
        unit="currencyUSD",
        stack=True,
        width=12,
    ),
    kit.bars(
        "Money by model",
        "Spent in the time that is shown.",
        [query(by(MODEL, grown(COST, *SCOPE)), "{{gen_ai_request_model}}", instant=True)],
        unit="currencyUSD",
        width=12,
    ),
]

TOKEN = [
    series(
        "Tokens",
        "Tokens read and written a second.",
        [query(by("gen_ai_token_type", rate(f"{TOKENS}_sum", *SCOPE)), "{{gen_ai_token_type}}")],
        stack=True,
    ),
    series(
        "Tokens read by a call",
        "How much a call gives the model to read. It grows with the turns of a step; the quantile is of "
        "coarse buckets.",
        quantiles(TOKENS, *SCOPE, 'gen_ai_token_type="input"'),
    ),
    series(
        "Tokens written by a call",
        "How much a call makes the model write.",
        quantiles(TOKENS, *SCOPE, 'gen_ai_token_type="output"'),
    ),
]

TIME = [
    series(
        "Time of a call",
        "From the request to the end of the reply, retries included.",
        quantiles(CALLS, *SCOPE),
        unit="s",
        width=8,
    ),
    series(
        "Time to the first piece",
        "From the request to the first piece of the reply: what a person waits for.",
        quantiles(FIRST, *SCOPE),
        unit="s",
        width=8,
    ),
    series(
        "Slowest tenth, by model",
        "Nine of ten calls take less.",
        [
            query(
                f"histogram_quantile(0.9, {by(f'le, {MODEL}', rate(f'{CALLS}_bucket', *SCOPE))})",
                "{{gen_ai_request_model}}",
            )
        ],
        unit="s",
        width=8,
    ),
    kit.heatmap(
        "How calls are spread",
        "Calls by how long they took. Two bands are two kinds of call; a band that rises is a provider "
        "that slows down.",
        CALLS,
        *SCOPE,
        width=24,
    ),
]

TROUBLE = [
    series(
        "Calls",
        "Calls a second, by model.",
        [query(by(MODEL, rate(f"{CALLS}_count", *SCOPE)), "{{gen_ai_request_model}}")],
        unit="reqps",
        stack=True,
    ),
    series(
        "Calls that failed",
        "Calls that failed in the end a second, by kind of error.",
        [query(by("error_type", rate(f"{CALLS}_count", *SCOPE, 'error_type!=""')))],
        unit="reqps",
        stack=True,
    ),
    series(
        "Retried attempts",
        "Failed attempts that were retried a second, by kind of error. They hide trouble of the "
        "provider until they run out.",
        [query(by("error_type", rate("callboard_model_retries_total", *SCOPE)))],
        unit="reqps",
        stack=True,
    ),
    series(
        "Waits in outages",
        "Waits a minute of work for a model or a tool's service that cannot be reached, by agent. The "
        "jobs continue when it returns.",
        [query(by("gen_ai_agent_name", rate("callboard_outage_waits_total")) + " * 60")],
        stack=True,
        width=12,
    ),
    series(
        "Loop guards",
        "Notices a minute of the guards against loops, by kind: a tool that keeps failing, a call "
        "that is repeated, work that makes no progress.",
        [query(by("callboard_notice_kind", rate("callboard_guard_notices_total")) + " * 60")],
        stack=True,
        width=12,
    ),
    kit.table(
        "Models",
        "Every model in the time that is shown.",
        [
            ("Calls", by(MODEL, grown(f"{CALLS}_count", *SCOPE)), "short", None),
            (
                "Failed",
                ratio(
                    by(MODEL, grown(f"{CALLS}_count", *SCOPE, 'error_type!=""')),
                    by(MODEL, grown(f"{CALLS}_count", *SCOPE)),
                ),
                "percentunit",
                kit.alarm_above(0.02, 0.1),
            ),
            (
                "p50",
                f"histogram_quantile(0.5, {by(f'le, {MODEL}', grown(f'{CALLS}_bucket', *SCOPE))})",
                "s",
                None,
            ),
            (
                "p99",
                f"histogram_quantile(0.99, {by(f'le, {MODEL}', grown(f'{CALLS}_bucket', *SCOPE))})",
                "s",
                None,
            ),
            ("Tokens read", by(MODEL, tokens("input", grown)), "short", None),
            ("Tokens written", by(MODEL, tokens("output", grown)), "short", None),
            ("Money", by(MODEL, grown(COST, *SCOPE)), "currencyUSD", None),
        ],
        MODEL,
        names={MODEL: "Model"},
    ),
]

DASHBOARD = kit.dashboard(
    "models",
    "Models and cost",
    "How fast, how well and for how much models answer.",
    [
        kit.DATASOURCE,
        kit.INSTALLATION,
        kit.values("provider", "Provider", f"{CALLS}_count", "gen_ai_provider_name", "Who serves the model."),
        kit.values("model", "Model", f"{CALLS}_count", MODEL, "The model, as it was asked for."),
        kit.interval(),
    ],
    [("Now", NOW), ("Money", MONEY), ("Time", TIME), ("Tokens", TOKEN), ("Trouble", TROUBLE)],
    since="now-6h",
)
