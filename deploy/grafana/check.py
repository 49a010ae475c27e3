#!/usr/bin/env python3
"""Compares dashboards/*.json with Grafana's own types (grafana-foundation-sdk, see tools/pins/).

Each dashboard is decoded into the types and encoded again: fields that Grafana does not know are
lost, and values of wrong types are refused. Prints the differences; exits with 1 if there are any.
"""

import json
import sys
from pathlib import Path

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

# Fields that Grafana has but its published types lack: those of a Prometheus annotation, and the
# display text of a variable's query.
UNTYPED = {"step", "titleFormat", "textFormat", "tagKeys", "definition"}


def lost(before, after, path):
    if isinstance(before, dict):
        for key, value in before.items():
            if isinstance(after, dict) and key in after:
                yield from lost(value, after[key], f"{path}.{key}")
            elif key not in UNTYPED and value not in (None, False, [], {}, ""):
                yield f"{path}.{key} is nothing that Grafana knows"
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for at, (one, other) in enumerate(zip(before, after)):
            yield from lost(one, other, f"{path}[{at}]")
    elif before != after:
        yield f"{path} is {before!r}; Grafana makes {after!r} of it"


def main():
    register_default_plugins()
    given = [Path(name) for name in sys.argv[1:]]
    wrong = []
    for path in given or sorted((Path(__file__).resolve().parent / "dashboards").glob("*.json")):
        before = json.loads(path.read_text())
        try:
            after = json.loads(JSONEncoder().encode(Dashboard.from_json(before)))
        except (KeyError, TypeError, ValueError) as error:
            wrong.append(f"{path.name}: {error!r}")
            continue
        wrong += lost(before, after, path.name)
    print("\n".join(wrong), end="\n" if wrong else "")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
