"""The overview: the overall health, and links to the dashboard of each part."""

import kit
from kit import by, grown, quantiles, query, ratio, rate, select, series, stat

OF_AGENT = 'gen_ai_agent_name=~"$agent"'
ENDED = "callboard_jobs_ended_total"
OPEN = "callboard_jobs_open"


def ended(state):
    return by("", grown(ENDED, OF_AGENT, f'callboard_job_state=~"{state}"'))


NOW = [
    stat(
        "Jobs open",
        "Jobs that have not ended, in any state.",
        by("", select(OPEN, OF_AGENT)),
        noValue="0",
    ),
    stat(
        "Waiting for people",
        "Open jobs that nothing but a person can move. They cost nothing while they wait.",
        by("", select(OPEN, OF_AGENT, 'callboard_job_state="input-required"')),
        noValue="0",
        panel_links=[kit.to("callboard-people", "People and inbox")],
    ),
    stat(
        "Jobs ended",
        "Jobs that ended in the time that is shown, in whatever way.",
        by("", grown(ENDED, OF_AGENT)),
        decimals=0,
        instant=True,
        noValue="0",
    ),
    stat(
        "Failed",
        "Part of the jobs that failed, of those that completed or failed in the time that is shown.",
        ratio(ended("failed"), ended("completed|failed")),
        unit="percentunit",
        decimals=1,
        instant=True,
        thresholds=kit.alarm_above(0.05, 0.2),
        noValue="–",
    ),
    stat(
        "Oldest command",
        "Age of the oldest unfinished command. It grows when workers are missing, full or stuck.",
        f"max({select('callboard_queue_oldest_age_seconds')})",
        unit="s",
        thresholds=kit.alarm_above(300, 900),
        panel_links=[kit.to("callboard-queues", "Queues and workers")],
    ),
    stat(
        "Money",
        "Spent on models in the time that is shown, by the prices in the configuration.",
        by("", grown("callboard_model_cost_usd_total")),
        unit="currencyUSD",
        decimals=2,
        instant=True,
        noValue="0",
        panel_links=[kit.to("callboard-models", "Models and cost")],
    ),
    stat(
        "Shards without a supervisor",
        "Jobs of these shards do not advance. Must be 0, except for seconds while supervisors change.",
        f"max({select('callboard_shards')}) - sum({select('callboard_shards_owned')})",
        thresholds=kit.steps((None, kit.GREEN), (1, kit.RED)),
        panel_links=[kit.to("callboard-queues", "Queues and workers")],
    ),
    stat(
        "Dead letters",
        "New dead letters in the time that is shown: commands delivered too often, or records that cannot be read.",
        by("", grown("callboard_dead_letters_total")),
        decimals=0,
        instant=True,
        thresholds=kit.steps((None, kit.GREEN), (0.5, kit.RED)),
        noValue="0",
        panel_links=[kit.to("callboard-queues", "Queues and workers")],
    ),
    stat(
        "Storage of NATS",
        "Used part of the account's storage limit. Without a limit there is nothing to show: watch the "
        "disk of the servers.",
        f"max({select('callboard_storage_used_bytes')}) / max({select('callboard_storage_limit_bytes')})",
        unit="percentunit",
        decimals=1,
        thresholds=kit.alarm_above(0.7, 0.8),
        noValue="no limit",
    ),
    stat(
        "Processes",
        "Processes of Callboard that are scraped.",
        f"count({select('process_uptime_seconds')})",
    ),
    stat(
        "Alerts",
        "Alerts of Callboard that fire now.",
        'count(ALERTS{alertname=~"Callboard.*",alertstate="firing",job=~"$installation"})',
        thresholds=kit.steps((None, kit.GREEN), (1, kit.RED)),
        noValue="0",
    ),
    stat(
        "Set going by a sweep",
        "Jobs that a sweep had to reactivate. Must be 0: anything else is a defect of Callboard.",
        by("", grown("callboard_sweep_found_total")),
        decimals=0,
        instant=True,
        thresholds=kit.steps((None, kit.GREEN), (0.5, kit.RED)),
        noValue="0",
    ),
]

JOBS = [
    series(
        "Submitted",
        "Jobs stored a second, by agent.",
        [query(by("gen_ai_agent_name", rate("callboard_jobs_submitted_total", OF_AGENT)))],
        unit="ops",
        stack=True,
    ),
    series(
        "Ended",
        "Jobs that ended a second, by how they ended.",
        [query(by("callboard_job_state", rate(ENDED, OF_AGENT)))],
        unit="ops",
        stack=True,
    ),
    series(
        "Open, by status",
        "The status of open jobs. `parked` wait for a person, `backing-off` for a timer, `paused` for an "
        "operator; `poisoned` need an operator now.",
        [query(by("callboard_job_status", select(OPEN, OF_AGENT)))],
        stack=True,
    ),
    series(
        "How long jobs take",
        "From submission to the end, waiting for people included.",
        quantiles("callboard_job_duration_seconds", OF_AGENT),
        unit="s",
    ),
    series(
        "Why jobs fail",
        "Jobs that failed a second, by reason.",
        [
            query(
                by("error_type", rate(ENDED, OF_AGENT, 'callboard_job_state="failed"')),
            )
        ],
        unit="ops",
        stack=True,
    ),
    kit.bars(
        "Open, by agent",
        "Which agents the open jobs belong to.",
        [query(by("gen_ai_agent_name", select(OPEN, OF_AGENT)))],
    ),
]

FLOW = [
    series(
        "Transitions",
        "Facts taken in and decisions stored a second, by kind: what moves.",
        [
            query(
                by(
                    "callboard_record_family, callboard_record_kind",
                    rate("callboard_transitions_total"),
                ),
                "{{callboard_record_family}}.{{callboard_record_kind}}",
            )
        ],
        unit="ops",
        stack=True,
    ),
    series(
        "Time to decide",
        "Time from the receipt of facts until all their decisions are stored. Milliseconds when "
        "all is well; it is the delay Callboard itself adds to every step.",
        quantiles("callboard_decision_duration_seconds"),
        unit="s",
    ),
    series(
        "Time to store",
        "Storing a record until it is known to be stored: what NATS takes.",
        quantiles("messaging_client_operation_duration_seconds"),
        unit="s",
    ),
    series(
        "Retries",
        "Attempts after the first, by the kind of command.",
        [query(by("callboard_record_kind", rate("callboard_retries_total")))],
        unit="ops",
        width=6,
    ),
    series(
        "Redeliveries",
        "Records that were delivered more than once: a process died, or did not answer in time.",
        [
            query(
                by("callboard_record_kind", rate("callboard_redeliveries_total")),
            )
        ],
        unit="ops",
        width=6,
    ),
    series(
        "Results that changed nothing",
        "Results that arrived late, twice, or without effect. Harmless; many of them are wasted work.",
        [query(by("callboard_record_kind", rate("callboard_results_ignored_total")))],
        unit="ops",
        width=6,
    ),
    series(
        "Conflicts",
        "Decisions that lost a conflict with another supervisor. A few while supervisors change, else none.",
        [query(by("", rate("callboard_conflicts_total")), "conflicts")],
        unit="ops",
        width=6,
    ),
]

DOOR = [
    series(
        "Requests",
        "Requests at the front door a second, by verb.",
        [query(by("callboard_door_verb", rate("callboard_door_duration_seconds_count")))],
        unit="reqps",
    ),
    series(
        "Refused",
        "Requests that got an error, by its code (docs/errors/). `overloaded`, `unavailable`, `timeout` and "
        "`internal` are ours; the others are the caller's.",
        [
            query(
                by(
                    "error_type",
                    rate("callboard_door_duration_seconds_count", 'error_type!=""'),
                )
            )
        ],
        unit="reqps",
    ),
    series(
        "Time to answer",
        "The slowest hundredth of the requests, by verb.",
        [
            query(
                "histogram_quantile(0.99, sum by (le, callboard_door_verb) "
                f"({rate('callboard_door_duration_seconds_bucket')}))",
                "{{callboard_door_verb}}",
            )
        ],
        unit="s",
    ),
]

TO_JOB = [
    {
        "matcher": {"id": "byRegexp", "options": "/callboard\\.job\\.id$/"},
        "properties": [
            {
                "id": "links",
                "value": [
                    kit.link(
                        "This job",
                        "/d/callboard-job?${__url_time_range}&var-job=${__value.raw}",
                    )
                ],
            }
        ],
    }
]

TRACES = [
    kit.traces(
        "Jobs that went wrong",
        "Traces of jobs with an error in them. Click a job to see it whole.",
        '{ span.callboard.job.id != nil && status = error } | select(span.callboard.job.id, statusMessage)',
        kind="spans",
        limit=20,
        width=12,
        links=TO_JOB,
    ),
    kit.traces(
        "Slow work",
        "Commands that took more than ten seconds: plans, turns of a model, tools. Click a job to see it whole.",
        "{ span.callboard.job.id != nil && span.callboard.outcome != nil && duration > 10s } | "
        "select(span.callboard.job.id, span.callboard.work, span.gen_ai.tool.name)",
        kind="spans",
        limit=20,
        width=12,
        links=TO_JOB,
    ),
]

DASHBOARD = kit.dashboard(
    "overview",
    "Overview",
    "Is all well? What is not leads to the dashboard that says why. docs/alerts.md says what to do about "
    "each alert, docs/metrics.md what each metric is.",
    [kit.DATASOURCE, kit.TRACES, kit.INSTALLATION, kit.AGENT, kit.interval()],
    [
        ("Now", NOW),
        ("Jobs", JOBS),
        ("What moves", FLOW),
        ("The front door", DOOR),
        ("Traces", TRACES),
    ],
)
