//! The dashboards: their panels and queries, and the checks that need no server.

use std::{collections::BTreeSet, fs};

use serde_json::Value;

/// A dashboard in `deploy/grafana/dashboards/`.
pub(crate) struct Dashboard {
    pub(crate) name: String,
    pub(crate) json: Value,
}

/// A query, and its place in a dashboard.
#[derive(Debug, Clone)]
pub(crate) struct Query {
    pub(crate) place: String,
    pub(crate) text: String,
}

pub(crate) fn dashboards() -> Vec<Dashboard> {
    let directory = callboard_tests::root().join("deploy/grafana/dashboards");
    let mut all: Vec<Dashboard> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let json = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
            Dashboard { name: path.file_stem().unwrap().to_string_lossy().into_owned(), json }
        })
        .collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

pub(crate) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

impl Dashboard {
    fn panels(&self) -> impl Iterator<Item = &Value> {
        list(&self.json, "panels").iter().filter(|panel| panel["type"] != "row")
    }

    fn queries(&self, kind: &str, field: &str) -> Vec<Query> {
        let mut found = Vec::new();
        for panel in self.panels() {
            for target in list(panel, "targets").iter().filter(|t| t["datasource"]["type"] == kind)
            {
                let place = format!("{}: {:?}", self.name, text(panel, "title"));
                found.push(Query { place, text: text(target, field).to_owned() });
            }
        }
        found
    }

    /// Returns every query to Prometheus, of panels and annotations.
    pub(crate) fn promql(&self) -> Vec<Query> {
        let mut found = self.queries("prometheus", "expr");
        for annotation in list(&self.json["annotations"], "list") {
            if annotation["datasource"]["type"] == "prometheus" {
                let place = format!("{}: annotation {:?}", self.name, text(annotation, "name"));
                found.push(Query { place, text: text(annotation, "expr").to_owned() });
            }
        }
        found
    }

    /// Returns every query to the trace store.
    pub(crate) fn traceql(&self) -> Vec<Query> {
        self.queries("tempo", "query")
    }

    /// Returns the selector and the label of every variable.
    pub(crate) fn offered(&self) -> Vec<(String, String)> {
        let variables = list(&self.json["templating"], "list").iter();
        let queries = variables.filter(|variable| variable["type"] == "query");
        let definitions = queries.map(|variable| text(variable, "definition"));
        let inner = definitions
            .map(|d| d.strip_prefix("label_values(").unwrap().strip_suffix(')').unwrap());
        inner
            .map(|d| d.rsplit_once(", ").unwrap())
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .collect()
    }

    fn variables(&self) -> BTreeSet<&str> {
        list(&self.json["templating"], "list").iter().map(|v| text(v, "name")).collect()
    }
}

/// Substitutes the variables of a dashboard, with values that fit a short run.
pub(crate) fn filled(query: &str, installation: &str, interval: &str, range: &str) -> String {
    let mut text = query.replace("$installation", installation).replace("$interval", interval);
    text = text.replace("$__range", range);
    for many in ["$agent", "$provider", "$model", "$tool", "$kind", "$pool"] {
        text = text.replace(many, ".*");
    }
    text
}

/// Returns the defects of dashboards by themselves: their grid, descriptions, variables and links.
pub(crate) fn wrong(dashboards: &[Dashboard]) -> Vec<String> {
    let uids: BTreeSet<&str> = dashboards.iter().map(|d| text(&d.json, "uid")).collect();
    let mut wrong = Vec::new();
    if uids.len() != dashboards.len() {
        wrong.push("two dashboards have one uid".to_owned());
    }
    for dashboard in dashboards {
        let mut say = |what: String| wrong.push(format!("{}: {what}", dashboard.name));
        overlaps(dashboard).into_iter().for_each(&mut say);
        for panel in dashboard.panels() {
            let title = text(panel, "title");
            if title.is_empty() || text(panel, "description").is_empty() {
                say(format!("panel {title:?} does not say what it shows"));
            }
            if list(panel, "targets").is_empty() && panel["type"] != "text" {
                say(format!("panel {title:?} asks nothing"));
            }
        }
        let whole = dashboard.json.to_string();
        for (at, start) in whole.match_indices("/d/") {
            let to: String =
                whole[at + start.len()..].chars().take_while(|c| !"?\"/".contains(*c)).collect();
            if !uids.contains(to.as_str()) {
                say(format!("a link leads to {to}, which is no dashboard"));
            }
        }
        for name in
            ["$agent", "$interval", "$installation", "$kind", "$pool", "$model", "$tool", "$job"]
        {
            let uses = |q: &Query| q.text.contains(name);
            let used = dashboard.promql().iter().any(uses) || dashboard.traceql().iter().any(uses);
            if used && !dashboard.variables().contains(&name[1..]) {
                say(format!("{name} is used and cannot be chosen"));
            }
        }
    }
    wrong
}

/// Checks that every cell of the grid is covered at most once, and that every row of panels is
/// full.
fn overlaps(dashboard: &Dashboard) -> Vec<String> {
    let (mut cells, mut wrong, mut ids) = (BTreeSet::new(), Vec::new(), BTreeSet::new());
    let mut lowest = 0;
    for panel in list(&dashboard.json, "panels") {
        let number = |key: &str| panel["gridPos"][key].as_u64().unwrap();
        let (x, y, w, h) = (number("x"), number("y"), number("w"), number("h"));
        if x + w > 24 {
            wrong.push(format!("{:?} is beyond the grid", text(panel, "title")));
            continue;
        }
        for cell in (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))) {
            if !cells.insert(cell) {
                wrong.push(format!("{:?} lies on another panel", text(panel, "title")));
                break;
            }
        }
        if !ids.insert(panel["id"].as_u64()) {
            wrong.push(format!("{:?} has another's id", text(panel, "title")));
        }
        lowest = lowest.max(y + h);
    }
    let empty = usize::try_from(lowest * 24).unwrap() - cells.len();
    if empty > 0 {
        wrong.push(format!("{empty} cells of the grid are empty"));
    }
    wrong
}

#[test]
fn a_dashboard_with_holes_and_dead_links_is_found() {
    let panel = |id, x, description: &str| {
        serde_json::json!({
            "id": id, "type": "stat", "title": "a", "description": description,
            "gridPos": {"x": x, "y": 0, "w": 12, "h": 4},
            "targets": [{"datasource": {"type": "prometheus"}, "expr": "up{a=~\"$agent\"}"}],
        })
    };
    let json = serde_json::json!({
        "uid": "u", "panels": [panel(1, 0, "what it is"), panel(1, 6, "")], "links": [{"url": "/d/nowhere?x"}],
    });
    let found = wrong(&[Dashboard { name: "d".to_owned(), json }]);
    assert_eq!(found.len(), 6, "{found:#?}");
}
