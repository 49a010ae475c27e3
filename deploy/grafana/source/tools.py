"""Tools: calls, durations and failures."""

import kit
from kit import by, grown, quantiles, query, ratio, rate, series, stat

CALLS = "callboard_tool_duration_seconds"
TOOL = "gen_ai_tool_name"
SCOPE = f'{TOOL}=~"$tool"'
# Failures that are faults: the tool returned no answer at all. See docs/tools.md.
FAILED = 'error_type!=""'

NOW = [
    stat(
        "Calls",
        "Tool calls in the time that is shown.",
        by("", grown(f"{CALLS}_count", SCOPE)),
        decimals=0,
        instant=True,
        width=6,
        noValue="0",
    ),
    stat(
        "Failed",
        "Part of the calls that ended with an error.",
        ratio(
            by("", grown(f"{CALLS}_count", SCOPE, FAILED)),
            by("", grown(f"{CALLS}_count", SCOPE)),
        ),
        unit="percentunit",
        decimals=1,
        instant=True,
        width=6,
        thresholds=kit.alarm_above(0.05, 0.25),
        noValue="–",
    ),
    stat(
        "Half of them within",
        "Median time of a call.",
        f"histogram_quantile(0.5, {by('le', grown(f'{CALLS}_bucket', SCOPE))})",
        unit="s",
        instant=True,
        width=6,
    ),
    stat(
        "Waiting or running",
        "Calls that are queued or in some worker's hands now.",
        by("", kit.select("callboard_queue_messages", 'callboard_command_kind="call"')),
        width=6,
        panel_links=[kit.to("callboard-queues", "Queues and workers", kind="call")],
    ),
]

CALLED = [
    series(
        "Calls",
        "Calls a second, by tool.",
        [query(by(TOOL, rate(f"{CALLS}_count", SCOPE)))],
        unit="ops",
        stack=True,
        width=12,
    ),
    series(
        "Calls that failed",
        "Calls with an error a second, by tool and kind of error.",
        [
            query(
                by(f"{TOOL}, error_type", rate(f"{CALLS}_count", SCOPE, FAILED)),
                "{{gen_ai_tool_name}}: {{error_type}}",
            )
        ],
        unit="ops",
        stack=True,
        width=12,
    ),
]

TIME = [
    series(
        "Time of a call",
        "Over all tools that are chosen at the top.",
        quantiles(CALLS, SCOPE),
        unit="s",
        width=12,
    ),
    series(
        "Slowest tenth, by tool",
        "Nine of ten calls take less.",
        [query(f"histogram_quantile(0.9, {by(f'le, {TOOL}', rate(f'{CALLS}_bucket', SCOPE))})")],
        unit="s",
        width=12,
    ),
    kit.heatmap(
        "How calls are spread",
        "Calls by how long they took. Choose one tool at the top to see its shape.",
        CALLS,
        SCOPE,
        width=24,
    ),
]

EVERY = [
    kit.table(
        "Tools",
        "Every tool in the time that is shown. Click one to see it alone.",
        [
            ("Calls", by(TOOL, grown(f"{CALLS}_count", SCOPE)), "short", None),
            (
                "Failed",
                ratio(
                    by(TOOL, grown(f"{CALLS}_count", SCOPE, FAILED)),
                    by(TOOL, grown(f"{CALLS}_count", SCOPE)),
                ),
                "percentunit",
                kit.alarm_above(0.05, 0.25),
            ),
            (
                "p50",
                f"histogram_quantile(0.5, {by(f'le, {TOOL}', grown(f'{CALLS}_bucket', SCOPE))})",
                "s",
                None,
            ),
            (
                "p99",
                f"histogram_quantile(0.99, {by(f'le, {TOOL}', grown(f'{CALLS}_bucket', SCOPE))})",
                "s",
                None,
            ),
            ("Time in all", by(TOOL, grown(f"{CALLS}_sum", SCOPE)), "s", None),
        ],
        TOOL,
        names={TOOL: "Tool"},
        links=[kit.to("callboard-tools", "This tool", tool="${__value.raw}")],
        height=10,
    ),
]

DASHBOARD = kit.dashboard(
    "tools",
    "Tools",
    "Which tools are called, how long they take, and which fail. Tools of workers in other languages are "
    "measured by those workers; what Callboard's own workers do not offer is not here.",
    [
        kit.DATASOURCE,
        kit.INSTALLATION,
        kit.values("tool", "Tool", f"{CALLS}_count", TOOL, "Tools, by name."),
        kit.interval(),
    ],
    [("Now", NOW), ("Calls", CALLED), ("Time", TIME), ("Every tool", EVERY)],
)
