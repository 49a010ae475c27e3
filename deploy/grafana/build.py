#!/usr/bin/env python3
"""Writes dashboards/*.json from source/*.py; `--check` only says whether they are as they would be.

The dashboards are built because their JSON cannot be reviewed: a query stands once in the source,
every panel has the same look, and holes in the grid are refused. The JSON is committed beside it, so
that Grafana (or whoever imports a dashboard by hand) needs none of this.
"""

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE / "source"))

import job  # noqa: E402
import models  # noqa: E402
import overview  # noqa: E402
import people  # noqa: E402
import queues  # noqa: E402
import tools  # noqa: E402


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit(__doc__)
    wanted = {
        HERE / "dashboards" / f"{module.__name__}.json": json.dumps(
            module.DASHBOARD, indent=1, ensure_ascii=False
        )
        + "\n"
        for module in (overview, job, models, tools, queues, people)
    }
    there = set((HERE / "dashboards").glob("*.json"))
    wrong = [path for path, text in wanted.items() if path not in there or path.read_text() != text]
    wrong += sorted(there - wanted.keys())
    if check:
        for path in wrong:
            print(f"{path.relative_to(HERE)} is not what source/ makes: run deploy/grafana/build.py")
        sys.exit(1 if wrong else 0)
    (HERE / "dashboards").mkdir(exist_ok=True)
    for path in there - wanted.keys():
        path.unlink()
    for path, text in wanted.items():
        path.write_text(text)


if __name__ == "__main__":
    main()
