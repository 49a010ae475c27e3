"""Panels, variables and the grid: the building blocks of every dashboard here.

Plain dictionaries in Grafana's dashboard schema, with nothing but the standard library, so that
Python alone can build the dashboards. No metric is named here; those are in the other files.
"""

TAG = "callboard"
SCHEMA = 41  # Grafana 11.6 and 12; an older one ignores what it does not know.

PROMETHEUS = {"type": "prometheus", "uid": "${datasource}"}
TEMPO = {"type": "tempo", "uid": "${traces}"}
# Grafana's built-in data source, for annotations added by hand and panels without a query.
GRAFANA = {"type": "grafana", "uid": "-- Grafana --"}

GREEN, YELLOW, ORANGE, RED, BLUE, PURPLE, GREY = (
    "green",
    "yellow",
    "orange",
    "red",
    "blue",
    "purple",
    "#8e8e8e",
)

# One colour for one meaning on every dashboard, by the label whose values name the series, and for
# series of the same names.
COLORS = {
    "callboard_job_state": {
        "completed": GREEN,
        "failed": RED,
        "canceled": GREY,
        "rejected": PURPLE,
    },
    "callboard_job_status": {
        "planning": "super-light-blue",
        "executing": BLUE,
        "replanning": "dark-blue",
        "parked": YELLOW,
        "backing-off": ORANGE,
        "paused": GREY,
        "poisoned": RED,
    },
    "callboard_outcome": {
        "done": GREEN,
        "unwanted": GREY,
        "given_up": ORANGE,
        "lost": RED,
        "broken": PURPLE,
    },
    "gen_ai_token_type": {"input": BLUE, "output": GREEN},
    None: {"p50": GREEN, "p90": YELLOW, "p99": RED, "limit": RED, "used": BLUE},
}


# Queries


def select(metric, *matchers):
    """A selector within the installation that the user chose at the top."""
    return metric + "{" + ",".join(('job=~"$installation"', *matchers)) + "}"


def rate(metric, *matchers):
    return f"rate({select(metric, *matchers)}[$interval])"


def grown(metric, *matchers):
    """The increase of a counter over the displayed time range."""
    return f"increase({select(metric, *matchers)}[$__range])"


def by(labels, expr):
    return f"sum by ({labels}) ({expr})" if labels else f"sum({expr})"


def ratio(part, whole):
    """A part of a whole: 0 if the part is absent, and empty if the whole is 0."""
    return f"({part} or {whole} * 0) / ({whole} > 0)"


def query(expr, legend="", *, instant=False, table=False):
    target = {
        "datasource": PROMETHEUS,
        "editorMode": "code",
        "expr": expr,
        "legendFormat": legend or "__auto",
        "instant": instant,
        "range": not instant,
        "format": "table" if table else "time_series",
    }
    if not instant:
        target["exemplar"] = True
    return target


def quantiles(metric, *matchers, labels=""):
    """The three standard quantiles (p50, p90, p99) of a histogram of seconds."""
    group = f"le, {labels}" if labels else "le"
    before = f"{{{{{labels}}}}} " if labels else ""
    return [
        query(
            f"histogram_quantile({q}, sum by ({group}) ({rate(metric + '_bucket', *matchers)}))",
            before + name,
        )
        for q, name in ((0.5, "p50"), (0.9, "p90"), (0.99, "p99"))
    ]


def traceql(text, *, limit=50, table="traces"):
    return {
        "datasource": TEMPO,
        "queryType": "traceql",
        "query": text,
        "limit": limit,
        "spss": 10,
        "tableType": table,
    }


# Panels


def steps(*pairs):
    """Thresholds: pairs of a lower bound and a colour; the first pair has no bound."""
    return {"mode": "absolute", "steps": [{"color": c, "value": v} for v, c in pairs]}


NEUTRAL = steps((None, BLUE))


def alarm_above(warn, bad):
    return steps((None, GREEN), (warn, ORANGE), (bad, RED))


def panel(kind, title, description, targets, *, width, height, unit=None, **more):
    if not description:
        raise ValueError(f"{title}: every panel says what it shows")
    for letter, target in zip("ABCDEFGHIJ", targets):
        target["refId"] = letter
    defaults = {"color": more.pop("color", {"mode": "palette-classic"})}
    if unit:
        defaults["unit"] = unit
    for name in ("decimals", "min", "max", "noValue", "thresholds", "custom", "mappings", "links"):
        if (value := more.pop(name, None)) is not None:
            defaults[name] = value
    made = {
        "type": kind,
        "title": title,
        "description": description,
        "gridPos": {"h": height, "w": width, "x": 0, "y": 0},
        "fieldConfig": {"defaults": defaults, "overrides": more.pop("overrides", [])},
        "options": more.pop("options", {}),
        "targets": targets,
        "datasource": targets[0]["datasource"] if targets else GRAFANA,
    }
    if links := more.pop("panel_links", None):
        made["links"] = links
    if transformations := more.pop("transformations", None):
        made["transformations"] = transformations
    if more:
        raise ValueError(f"{title}: {', '.join(more)} is no option of a panel")
    return made


def colored(targets):
    """The colours of `COLORS` for the series of these queries."""
    names = {}
    for target in targets:
        for label, colors in COLORS.items():
            if label is None:
                colors = {name: c for name, c in colors.items() if name == target["legendFormat"]}
            elif f"by ({label})" not in target["expr"]:
                continue
            names |= colors
    return [
        {
            "matcher": {"id": "byName", "options": name},
            "properties": [{"id": "color", "value": {"mode": "fixed", "fixedColor": color}}],
        }
        for name, color in names.items()
    ]


def series(title, description, targets, *, unit="short", stack=False, width=8, height=8, **more):
    """A time series, stacked if the sum has a meaning."""
    custom = {
        "drawStyle": "line",
        "lineInterpolation": "linear",
        "lineWidth": 1,
        "fillOpacity": 30 if stack else 8,
        "showPoints": "never",
        "spanNulls": False,
        "stacking": {"mode": "normal" if stack else "none", "group": "A"},
    }
    if "thresholds" in more:
        custom["thresholdsStyle"] = {"mode": "dashed"}
    more.setdefault("min", 0)
    return panel(
        "timeseries",
        title,
        description,
        targets,
        width=width,
        height=height,
        unit=unit,
        custom=custom,
        overrides=colored(targets) + more.pop("overrides", []),
        options={
            "legend": {
                "displayMode": "table",
                "placement": "bottom",
                "showLegend": True,
                "calcs": ["lastNotNull", "max"],
            },
            "tooltip": {"mode": "multi", "sort": "desc"},
        },
        **more,
    )


def stat(title, description, expr, *, unit="short", thresholds=NEUTRAL, width=4, height=4, **more):
    """One number, coloured by thresholds, with a sparkline of its past. A count over the displayed
    time range (`instant`) has no sparkline.
    """
    instant = more.pop("instant", False)
    return panel(
        "stat",
        title,
        description,
        [query(expr, instant=instant)],
        width=width,
        height=height,
        unit=unit,
        thresholds=thresholds,
        color={"mode": "thresholds"},
        options={
            "colorMode": "value",
            "graphMode": "none" if instant else "area",
            "justifyMode": "auto",
            "orientation": "auto",
            "textMode": "auto",
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        },
        **more,
    )


def bars(title, description, targets, *, unit="short", width=8, height=8, **more):
    """One bar for the current value of each series."""
    return panel(
        "bargauge",
        title,
        description,
        targets,
        width=width,
        height=height,
        unit=unit,
        color={"mode": "thresholds"} if "thresholds" in more else {"mode": "palette-classic"},
        overrides=colored(targets),
        options={
            "displayMode": "gradient",
            "orientation": "horizontal",
            "showUnfilled": True,
            "valueMode": "color",
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        },
        **more,
    )


def heatmap(title, description, metric, *matchers, width=12, height=8):
    """The distribution of a histogram of seconds over time."""
    target = query(by("le", rate(metric + "_bucket", *matchers)), "{{le}}")
    target["format"] = "heatmap"
    target["exemplar"] = True
    return panel(
        "heatmap",
        title,
        description,
        [target],
        width=width,
        height=height,
        custom={"scaleDistribution": {"type": "linear"}},
        options={
            "calculate": False,
            "yAxis": {"axisPlacement": "left", "unit": "s"},
            "rowsFrame": {"layout": "auto"},
            "cellGap": 1,
            "color": {
                "mode": "scheme",
                "scheme": "Turbo",
                "fill": "dark-orange",
                "scale": "exponential",
                "exponent": 0.5,
                "steps": 64,
                "reverse": False,
            },
            "exemplars": {"color": "rgba(255,0,255,0.7)"},
            "filterValues": {"le": 1e-09},
            "legend": {"show": True},
            "showValue": "never",
            "tooltip": {"mode": "single", "yHistogram": False, "showColorScale": True},
        },
    )


def table(title, description, columns, key, *, names=None, width=24, height=8, links=None, sort=None):
    """One row for each value of the labels in `key` (comma-separated), and one column for each
    (name, query, unit, thresholds or None).
    """
    keys = [name.strip() for name in key.split(",")]
    names = names or {}
    targets = [query(expr, instant=True, table=True) for _, expr, _, _ in columns]
    renamed = {label: names.get(label, label) for label in keys}
    overrides = []
    for letter, (name, _, unit, thresholds) in zip("ABCDEFGHIJ", columns):
        renamed[f"Value #{letter}" if len(columns) > 1 else "Value"] = name
        properties = [{"id": "unit", "value": unit}]
        if thresholds:
            properties += [
                {"id": "thresholds", "value": thresholds},
                {"id": "custom.cellOptions", "value": {"type": "color-text"}},
                {"id": "color", "value": {"mode": "thresholds"}},
            ]
        overrides.append({"matcher": {"id": "byName", "options": name}, "properties": properties})
    if links:
        first = renamed[keys[0]]
        overrides.append(
            {
                "matcher": {"id": "byName", "options": first},
                "properties": [{"id": "links", "value": links}],
            }
        )
    order = {label: at for at, label in enumerate(keys)}
    return panel(
        "table",
        title,
        description,
        targets,
        width=width,
        height=height,
        custom={"align": "auto", "cellOptions": {"type": "auto"}, "filterable": True},
        overrides=overrides,
        options={
            "showHeader": True,
            "cellHeight": "sm",
            "sortBy": [{"displayName": sort or columns[0][0], "desc": True}],
        },
        transformations=[
            {"id": "merge", "options": {}},
            {
                "id": "organize",
                "options": {
                    "excludeByName": {"Time": True},
                    "indexByName": order,
                    "renameByName": renamed,
                },
            },
        ],
    )


def traces(title, description, text, *, width=24, height=8, limit=50, kind="traces", links=None):
    """A table of the results of a TraceQL query."""
    return panel(
        "table",
        title,
        description,
        [traceql(text, limit=limit, table=kind)],
        width=width,
        height=height,
        custom={"align": "auto", "cellOptions": {"type": "auto"}, "filterable": True},
        overrides=links or [],
        options={"showHeader": True, "cellHeight": "sm"},
    )


def text(title, description, content, *, width=24, height=4):
    return panel(
        "text",
        title,
        description,
        [],
        width=width,
        height=height,
        options={"mode": "markdown", "content": content},
    )


def link(title, url):
    return {"title": title, "url": url, "targetBlank": False}


def to(uid, title, **variables):
    """A link to another dashboard that preserves the time range and the chosen variables."""
    chosen = "".join(f"&var-{name}={value}" for name, value in variables.items())
    return link(title, f"/d/{uid}?${{__url_time_range}}&${{installation:queryparam}}{chosen}")


# Variables


def source(name, label, kind):
    return {
        "type": "datasource",
        "name": name,
        "label": label,
        "query": kind,
        "current": {},
        "options": [],
        "refresh": 1,
        "regex": "",
        "multi": False,
        "includeAll": False,
    }


def values(name, label, metric, attribute, description, *, many=True):
    """The values of a label: in the chosen installation, or in all to list installations."""
    within = metric if name == "installation" else f'{metric}{{job=~"$installation"}}'
    made = {
        "type": "query",
        "name": name,
        "label": label,
        "description": description,
        "datasource": PROMETHEUS,
        "definition": f"label_values({within}, {attribute})",
        "query": {
            "qryType": 1,
            "query": f"label_values({within}, {attribute})",
            "refId": "PrometheusVariableQueryEditor-VariableQuery",
        },
        "refresh": 2,
        "sort": 1,
        "regex": "",
        "options": [],
        "multi": many,
        "includeAll": many,
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]} if many else {},
    }
    if many:
        made["allValue"] = ".*"
    return made


def box(name, label, description):
    empty = {"text": "", "value": ""}
    return {
        "type": "textbox",
        "name": name,
        "label": label,
        "description": description,
        "query": "",
        "current": empty,
        "options": [dict(empty, selected=True)],
    }


INTERVALS = ("1m", "5m", "15m", "1h", "6h", "1d")


def interval():
    return {
        "type": "interval",
        "name": "interval",
        "label": "Averaged over",
        "description": "The window of every rate. Never below one minute: four scrapes at 15 s.",
        "query": ",".join(INTERVALS),
        "auto": True,
        "auto_count": 60,
        "auto_min": "1m",
        "refresh": 2,
        "current": {"text": "auto", "value": "$__auto_interval_interval"},
        "options": [],
    }


DATASOURCE = source("datasource", "Metrics", "prometheus")
TRACES = source("traces", "Traces", "tempo")
INSTALLATION = values(
    "installation",
    "Installation",
    "process_uptime_seconds",
    "job",
    "One installation of Callboard: the job that Prometheus scrapes it as.",
    many=False,
)
AGENT = values(
    "agent",
    "Agent",
    "callboard_jobs_submitted_total",
    "gen_ai_agent_name",
    "The agent of a job, by name; `inline` are those that a submission brings itself.",
)


# Dashboards


def arrange(rows):
    """Lays out panels from left to right and from top to bottom, and refuses gaps: every line of a
    row is 24 wide and its panels have the same height.
    """
    placed, y, number = [], 0, 0
    for title, panels in rows:
        number += 1
        placed.append(
            {
                "type": "row",
                "title": title,
                "id": number,
                "collapsed": False,
                "gridPos": {"h": 1, "w": 24, "x": 0, "y": y},
                "panels": [],
            }
        )
        x, y = 0, y + 1
        for made in panels:
            number += 1
            place = made["gridPos"]
            if x and place["h"] != line:
                raise ValueError(f"{title}: {made['title']} is not as high as its neighbours")
            line = place["h"]
            place["x"], place["y"] = x, y
            x += place["w"]
            if x > 24:
                raise ValueError(f"{title}: {made['title']} does not fit into its line")
            if x == 24:
                x, y = 0, y + line
            placed.append({"id": number, **made})
        if x:
            raise ValueError(f"{title}: the last line is {x} wide, not 24")
    return placed


def restarts():
    """Annotations at process starts: deployments and crashes."""
    return {
        "name": "Processes started",
        "datasource": PROMETHEUS,
        "enable": True,
        "hide": False,
        "iconColor": PURPLE,
        "expr": f"min_over_time({select('process_uptime_seconds')}[$interval]) < 60",
        "step": "30s",
        "titleFormat": "Process started",
        "textFormat": "{{instance}}",
        "tagKeys": "instance",
        "useValueForTime": False,
    }


def dashboard(name, title, description, variables, rows, *, since="now-3h", measured=True):
    annotations = [
        {
            "builtIn": 1,
            "name": "Annotations & Alerts",
            "datasource": GRAFANA,
            "enable": True,
            "hide": True,
            "iconColor": "rgba(0, 211, 255, 1)",
            "type": "dashboard",
        }
    ]
    if measured:
        annotations.append(restarts())
    return {
        "uid": f"callboard-{name}",
        "title": f"Callboard / {title}",
        "description": description,
        "tags": [TAG],
        "schemaVersion": SCHEMA,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "timezone": "browser",
        "refresh": "30s",
        "time": {"from": since, "to": "now"},
        "timepicker": {},
        "fiscalYearStartMonth": 0,
        "annotations": {"list": annotations},
        "links": [
            {
                "type": "dashboards",
                "title": "Callboard",
                "tags": [TAG],
                "asDropdown": False,
                "includeVars": True,
                "keepTime": True,
                "targetBlank": False,
                "icon": "external link",
                "tooltip": "",
                "url": "",
            }
        ],
        "templating": {"list": variables},
        "panels": arrange(rows),
    }
