"""Renders and lints the chart with Helm's own library, without a cluster.

Standard input: {"chart": path, "cases": {name: values}}. Standard output, for each case: what was
rendered by file, or the error; and what lint found above the level of advice.
"""

import json
import sys

import helm_python

ADVICE = 1

asked = json.load(sys.stdin)
told = {}
with helm_python.Chart.load(asked["chart"]) as chart:
    for name, values in asked["cases"].items():
        try:
            files = chart.render(values, name="demo", namespace="callboard")
            found = helm_python.lint(asked["chart"], values, strict=True)
            lint = [m["error"] for m in found["messages"] if m["severity"] > ADVICE]
            told[name] = {"files": files, "lint": lint + found["errors"]}
        except helm_python.HelmError as error:
            told[name] = {"error": str(error)}
json.dump(told, sys.stdout)
