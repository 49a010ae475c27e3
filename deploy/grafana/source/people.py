"""People and inbox: questions that wait for users, their age, and the users' answers."""

import kit
from kit import bars, by, grown, query, rate, select, series, stat

OF_AGENT = 'gen_ai_agent_name=~"$agent"'
OPEN = "callboard_jobs_open"
WAITING = 'callboard_job_state="input-required"'
DOOR = "callboard_door_duration_seconds_count"
ANSWER = 'callboard_door_verb="answer"'
TRANSITIONS = "callboard_transitions_total"
ASKED = ('callboard_record_family="do"', 'callboard_record_kind="ask"')
ANSWERED = ('callboard_record_family="in"', 'callboard_record_kind="answered"')

NOW = [
    stat(
        "Open questions",
        "Questions in the inbox.",
        by("", select("callboard_questions_open")),
        noValue="0",
    ),
    stat(
        "Oldest question",
        "How long the oldest of them has been waiting.",
        f"max({select('callboard_questions_oldest_age_seconds')})",
        unit="s",
        thresholds=kit.alarm_above(8 * 3600, 24 * 3600),
    ),
    stat(
        "Jobs waiting for people",
        "Open jobs that nothing but a person can move.",
        by("", select(OPEN, OF_AGENT, WAITING)),
        noValue="0",
    ),
    stat(
        "Asked",
        "Questions that were put to people in the time that is shown.",
        by("", grown(TRANSITIONS, *ASKED)),
        decimals=0,
        instant=True,
        noValue="0",
    ),
    stat(
        "Answered",
        "Answers that counted in the time that is shown.",
        by("", grown(TRANSITIONS, *ANSWERED)),
        decimals=0,
        instant=True,
        noValue="0",
    ),
    stat(
        "Paused",
        "Open jobs that an operator paused. They continue after `callboard jobs resume`.",
        by("", select(OPEN, OF_AGENT, 'callboard_job_status="paused"')),
        noValue="0",
    ),
]

WAIT = [
    series(
        "Open questions",
        "Questions in the inbox.",
        [query(by("", select("callboard_questions_open")), "open")],
    ),
    series(
        "Age of the oldest",
        "How long the oldest question has been waiting.",
        [query(f"max({select('callboard_questions_oldest_age_seconds')})", "oldest")],
        unit="s",
        thresholds=kit.alarm_above(8 * 3600, 24 * 3600),
    ),
    series(
        "Asked and answered",
        "Questions put to people, and answers that counted, an hour.",
        [
            query(by("", rate(TRANSITIONS, *ASKED)) + " * 3600", "asked"),
            query(by("", rate(TRANSITIONS, *ANSWERED)) + " * 3600", "answered"),
        ],
    ),
    series(
        "Jobs waiting for people, by agent",
        "An agent whose line only grows asks more than anybody answers.",
        [query(by("gen_ai_agent_name", select(OPEN, OF_AGENT, WAITING)))],
        stack=True,
        width=16,
    ),
    bars(
        "Now, by agent",
        "Which agents wait for people now.",
        [query(by("gen_ai_agent_name", select(OPEN, OF_AGENT, WAITING)))],
    ),
]

ANSWERS = [
    series(
        "What people do",
        "Requests at the front door an hour, by verb.",
        [query(by("callboard_door_verb", rate(DOOR)) + " * 3600", "{{callboard_door_verb}}")],
        width=8,
    ),
    series(
        "Answers that did not count",
        "Answers that were refused an hour, by code (docs/errors/). `already_answered`: another answer was faster; "
        "`stale`: what was approved had changed.",
        [query(by("error_type", rate(DOOR, ANSWER, 'error_type!=""')) + " * 3600", "{{error_type}}")],
        width=8,
    ),
    series(
        "Questions on their way to the inbox",
        "Questions that are not in the inbox yet: workers for `ask` are missing when it stays above 0.",
        [
            query(
                by("", select("callboard_queue_messages", 'callboard_command_kind="ask"')),
                "on their way",
            )
        ],
        width=8,
    ),
]

HOW = [
    kit.text(
        "From here to a question",
        "Metrics carry neither jobs nor people; this says where those are.",
        "Which questions these are: `callboard inbox ls`. One of them: `callboard inbox show JOB`. "
        "Its answer: `callboard inbox approve JOB`, `reject JOB` or `answer JOB QUESTION --text …`.\n\n"
        "A question with a deadline answers itself with its default, or fails its job; one without waits as long "
        "as it must and costs nothing meanwhile. Deadlines are the agent's (`ask.deadline_ms`, docs/agents.md).",
    )
]

DASHBOARD = kit.dashboard(
    "people",
    "People and inbox",
    "What waits for people, for how long, and what they do about it.",
    [kit.DATASOURCE, kit.INSTALLATION, kit.AGENT, kit.interval()],
    [("Now", NOW), ("Waiting", WAIT), ("Answers", ANSWERS), ("Questions", HOW)],
    since="now-24h",
)
