"""Queues and workers: the capacity for the load, and the liveness of all processes."""

import kit
from kit import bars, by, query, rate, select, series, stat

OF = ('callboard_command_kind=~"$kind"', 'callboard_pool=~"$pool"')
KIND = "callboard_command_kind, callboard_pool"
KIND_NAME = "{{callboard_command_kind}} {{callboard_pool}}"
MESSAGES = "callboard_queue_messages"
PENDING = 'callboard_queue_state="pending"'

NOW = [
    stat(
        "Waiting",
        "Commands that no worker has taken yet.",
        by("", select(MESSAGES, *OF, PENDING)),
    ),
    stat(
        "In hand",
        "Commands in progress in workers.",
        by("", select(MESSAGES, *OF, 'callboard_queue_state="in_flight"')),
    ),
    stat(
        "Oldest",
        "Age of the oldest unfinished command.",
        f"max({select('callboard_queue_oldest_age_seconds', *OF)})",
        unit="s",
        thresholds=kit.alarm_above(300, 900),
    ),
    stat(
        "In use",
        "Used part of the capacity of all live workers, for the kind that is fullest.",
        f"max({by(KIND, select('callboard_crew_in_flight', *OF))} "
        f"/ ({by(KIND, select('callboard_crew_capacity', *OF))} > 0))",
        unit="percentunit",
        decimals=0,
        thresholds=kit.alarm_above(0.8, 0.95),
    ),
    stat(
        "Shards without a supervisor",
        "Jobs of these shards do not advance. Must be 0, except for seconds while supervisors change.",
        f"max({select('callboard_shards')}) - sum({select('callboard_shards_owned')})",
        thresholds=kit.steps((None, kit.GREEN), (1, kit.RED)),
    ),
    stat(
        "Processes",
        "Processes of Callboard that are scraped.",
        f"count({select('process_uptime_seconds')})",
    ),
]

QUEUES = [
    series(
        "Waiting and in progress",
        "Commands that are not done, by kind and pool: the signal to scale on. What waits for long is "
        "missing workers; long processing is slow work.",
        [query(by(KIND, select(MESSAGES, *OF)), KIND_NAME)],
        stack=True,
    ),
    series(
        "Waiting",
        "Of those, commands that no worker has taken yet.",
        [query(by(KIND, select(MESSAGES, *OF, PENDING)), KIND_NAME)],
        stack=True,
    ),
    series(
        "Age of the oldest",
        "Age of the oldest unfinished command, by kind and pool.",
        [
            query(
                f"max by ({KIND}) ({select('callboard_queue_oldest_age_seconds', *OF)})",
                KIND_NAME,
            )
        ],
        unit="s",
        thresholds=kit.alarm_above(300, 900),
    ),
    series(
        "Commands done",
        "Commands that were acknowledged a second, by what became of them.",
        [
            query(
                by("callboard_outcome", rate("messaging_process_duration_seconds_count")),
            )
        ],
        unit="ops",
        stack=True,
    ),
    series(
        "Processing time",
        "From taking a command to its acknowledgement; the slowest tenth, by queue.",
        [
            query(
                "histogram_quantile(0.9, sum by (le, messaging_destination_template) "
                f"({rate('messaging_process_duration_seconds_bucket')}))",
            )
        ],
        unit="s",
    ),
    series(
        "Given up",
        "Dead letters a second, by reason: lost, unreadable, unstorable, panicked. docs/alerts.md says "
        "what to do.",
        [query(by("callboard_dead_letter_reason", rate("callboard_dead_letters_total")))],
        unit="ops",
    ),
]

CREW = [
    bars(
        "Crew",
        "Live processes that play a role.",
        [query(f"max by (callboard_role) ({select('callboard_crew_workers')})")],
        width=6,
        min=0,
    ),
    series(
        "In progress and capacity",
        "Commands in progress in all live workers, and their capacity: add workers where the two meet.",
        [
            query(by(KIND, select("callboard_crew_in_flight", *OF)), f"{KIND_NAME} in progress"),
            query(by(KIND, select("callboard_crew_capacity", *OF)), f"{KIND_NAME} capacity"),
        ],
        width=9,
    ),
    series(
        "In hand, by process",
        "Commands in progress in each process. A process that stays full while others are idle is stuck.",
        [
            query(by("instance", select("callboard_worker_in_flight", *OF)), "{{instance}}"),
        ],
        width=9,
    ),
    series(
        "In use, by process",
        "Part of what each process takes at most.",
        [
            query(
                f"{by('instance', select('callboard_worker_in_flight', *OF))} "
                f"/ ({by('instance', select('callboard_worker_capacity', *OF))} > 0)",
                "{{instance}}",
            )
        ],
        unit="percentunit",
        max=1,
        width=12,
    ),
    series(
        "Redeliveries",
        "Redelivered commands and facts a second. A worker that dies, stalls or "
        "loses its connection shows here.",
        [
            query(
                by(
                    "callboard_record_family, callboard_record_kind",
                    rate("callboard_redeliveries_total"),
                ),
                "{{callboard_record_family}}.{{callboard_record_kind}}",
            )
        ],
        unit="ops",
        width=12,
    ),
]

SHARDS = [
    series(
        "Shards owned",
        "Shards that each supervisor owns; together as many as there are.",
        [
            query(by("instance", select("callboard_shards_owned")), "{{instance}}"),
        ],
        stack=True,
    ),
    series(
        "Open jobs, by shard",
        "Jobs that have not ended. Shards are filled evenly by the hash of the id; one that grows alone "
        "does not advance.",
        [query(by("callboard_shard", select("callboard_jobs_open")), "shard {{callboard_shard}}")],
        stack=True,
    ),
    series(
        "Time to decide",
        "Time from the receipt of facts until all their decisions are stored; the slowest hundredth, by process.",
        [
            query(
                "histogram_quantile(0.99, sum by (le, instance) "
                f"({rate('callboard_decision_duration_seconds_bucket')}))",
                "{{instance}}",
            )
        ],
        unit="s",
    ),
]

STORAGE = [
    series(
        "Used and allowed",
        "Bytes that the account stores on the disks of NATS, and its limit; there is no second line without "
        "a limit.",
        [
            query(f"max({select('callboard_storage_used_bytes')})", "used"),
            query(f"max({select('callboard_storage_limit_bytes')})", "limit"),
        ],
        unit="bytes",
    ),
    series(
        "Size of the logs",
        "Bytes of records, by shard.",
        [
            query(
                f"max by (callboard_shard) ({select('callboard_log_size_bytes')})",
                "shard {{callboard_shard}}",
            )
        ],
        unit="bytes",
        stack=True,
    ),
    series(
        "Records in the logs",
        "Records that are kept, by shard.",
        [
            query(
                f"max by (callboard_shard) ({select('callboard_log_messages')})",
                "shard {{callboard_shard}}",
            )
        ],
        stack=True,
    ),
    series(
        "Shards that store records",
        "1 for a shard that stores records, 0 for one that answers reads alone: its disk was full or failed.",
        [
            query(
                f"min by (callboard_shard) ({select('callboard_shard_writable')})",
                "shard {{callboard_shard}}",
            )
        ],
    ),
    series(
        "Time to store",
        "Storing a record until it is known to be stored, the slowest hundredth, by kind of record.",
        [
            query(
                "histogram_quantile(0.99, sum by (le, callboard_record_kind) "
                f"({rate('messaging_client_operation_duration_seconds_bucket')}))",
            )
        ],
        unit="s",
    ),
    series(
        "Records that could not be stored",
        "Attempts to store a record that failed a second, by error.",
        [
            query(
                by(
                    "error_type",
                    rate("messaging_client_operation_duration_seconds_count", 'error_type!=""'),
                )
            )
        ],
        unit="ops",
    ),
]

WHO = 'service_instance_id, instance, callboard_roles, service_version'
PROCESSES = [
    series(
        "Processor",
        "Processors each process keeps busy.",
        [query(by("instance", rate("process_cpu_time_seconds_total")), "{{instance}}")],
        unit="short",
        width=12,
    ),
    series(
        "Memory",
        "Resident memory of each process.",
        [query(by("instance", select("process_memory_usage_bytes")), "{{instance}}")],
        unit="bytes",
        width=12,
    ),
    kit.table(
        "Processes",
        "Every process that is scraped: its id as in `callboard crew ls`, its roles and version, and how long "
        "it has been running.",
        [
            (
                "Up for",
                f"{select('process_uptime_seconds')} * on (job, instance) group_left "
                f"(service_instance_id, callboard_roles, service_version) {select('target_info')}",
                "s",
                None,
            ),
        ],
        WHO,
        names={
            "service_instance_id": "Process",
            "instance": "Address",
            "callboard_roles": "Roles",
            "service_version": "Version",
        },
        sort="Up for",
    ),
]

DASHBOARD = kit.dashboard(
    "queues",
    "Queues and workers",
    "Is there enough of everybody, and is everybody alive? `waiting and in progress` is the signal to scale on.",
    [
        kit.DATASOURCE,
        kit.INSTALLATION,
        kit.values("kind", "Command", MESSAGES, "callboard_command_kind", "plan, turn, call or ask."),
        kit.values("pool", "Pool", MESSAGES, "callboard_pool", "Who may take a command."),
        kit.interval(),
    ],
    [
        ("Now", NOW),
        ("Queues", QUEUES),
        ("Crew", CREW),
        ("Shards", SHARDS),
        ("Storage", STORAGE),
        ("Processes", PROCESSES),
    ],
)
