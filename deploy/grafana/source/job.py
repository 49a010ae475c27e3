"""One job, from its traces. No metric has a job label, so no panel here queries Prometheus."""

import kit

JOB = 'span.callboard.job.id = "$job"'


def of_job(condition, shown):
    """Spans with the job's id."""
    return f"{{ {JOB} && {condition} }} | select({', '.join(shown)})"


def below_job(condition, shown):
    """Descendants of spans with the job's id: model calls do not carry the id themselves."""
    return f"{{ {JOB} }} >> {{ {condition} }} | select({', '.join(shown)})"


HOW = [
    kit.text(
        "Which job",
        "How to get from a job to its traces and to its log.",
        "Type the id of a job at the top. `callboard jobs ls` lists them; `callboard jobs describe JOB` says what "
        "a job is at and **why**; `callboard jobs show JOB` prints its log, which is the truth: traces are sampled "
        "(`telemetry.trace_sample_ratio`) and kept for a time, the log is neither.\n\n"
        "A job is one trace from its submission to its end, in whatever processes. While it waits for a person "
        "no span is open: it continues under the same trace, with a link to where it stopped. Click a trace id below "
        "to draw the trace. Nothing here? Widen the time; the job may be older.",
        height=6,
    )
]

TO_TRACE = [
    {
        "matcher": {"id": "byRegexp", "options": "/^(traceID|Trace ID|traceIdHidden)$/"},
        "properties": [
            {
                "id": "links",
                "value": [
                    kit.link(
                        "Draw this trace below",
                        "/d/callboard-job?${__url_time_range}&${traces:queryparam}"
                        "&${job:queryparam}&var-trace=${__value.raw}",
                    )
                ],
            }
        ],
    }
]

WHOLE = [
    kit.traces(
        "Traces of this job",
        "Usually one. Sub-jobs and tool workers in other languages continue it.",
        f"{{ {JOB} }}",
        height=6,
        links=TO_TRACE,
    ),
    kit.panel(
        "traces",
        "The trace",
        "Every span of the trace whose id is at the top, from the submission to the result.",
        [kit.traceql("$trace")],
        width=24,
        height=20,
    ),
]

STEPS = [
    kit.traces(
        "Errors",
        "Spans of this job that ended with an error, and what it says.",
        below_job(
            "status = error",
            ["span.callboard.work", "span.callboard.attempt", "span.error.type", "statusMessage"],
        ),
        kind="spans",
        width=24,
    ),
    kit.traces(
        "Models",
        "Calls to models that this job made: which model, how many tokens.",
        below_job(
            'span.gen_ai.operation.name = "chat"',
            [
                "span.gen_ai.request.model",
                "span.gen_ai.usage.input_tokens",
                "span.gen_ai.usage.output_tokens",
            ],
        ),
        kind="spans",
        width=12,
        height=10,
    ),
    kit.traces(
        "Tools",
        "Tools that this job called.",
        of_job(
            'span.gen_ai.operation.name = "execute_tool"',
            ["span.gen_ai.tool.name", "span.callboard.work", "span.callboard.attempt"],
        ),
        kind="spans",
        width=12,
        height=10,
    ),
    kit.traces(
        "Attempts after the first",
        "Retried work.",
        of_job(
            "span.callboard.attempt > 1 && span.callboard.outcome != nil",
            ["span.callboard.work", "span.callboard.attempt", "span.callboard.outcome"],
        ),
        kind="spans",
        width=12,
        height=8,
    ),
    kit.traces(
        "Slow",
        "Spans that took longer than a second.",
        below_job("duration > 1s", ["span.callboard.work", "resource.service.instance.id"]),
        kind="spans",
        width=12,
        height=8,
    ),
]

DASHBOARD = kit.dashboard(
    "job",
    "One job",
    "Everything about one job, from its traces. Metrics never carry a job.",
    [
        kit.TRACES,
        kit.box("job", "Job", "The id of a job, as `callboard jobs ls` shows it."),
        kit.box("trace", "Trace", "The id of a trace; click one in the first table."),
    ],
    [("Which job", HOW), ("The whole", WHOLE), ("In parts", STEPS)],
    since="now-24h",
    measured=False,
)
