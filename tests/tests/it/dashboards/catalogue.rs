//! The catalogue of metrics in `docs/metrics.md`, and its comparison with the exported metrics.

use std::collections::{BTreeMap, BTreeSet};

/// A row of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Metric {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) attributes: BTreeSet<String>,
}

impl Metric {
    /// Returns the metric's names in Prometheus. A histogram has three.
    pub(crate) fn series(&self) -> Vec<String> {
        match self.kind.as_str() {
            "histogram" => {
                ["_bucket", "_count", "_sum"].map(|end| format!("{}{end}", self.name)).into()
            }
            _ => vec![self.name.clone()],
        }
    }
}

/// Parses the rows of all tables. `same` in the column of attributes refers to the row above; words
/// in parentheses are values.
pub(crate) fn parse(document: &str) -> Vec<Metric> {
    let mut metrics: Vec<Metric> = Vec::new();
    for line in document.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let mut attributes: BTreeSet<String> = BTreeSet::new();
        if let (true, Some(above)) = (cells[2].starts_with("same"), metrics.last()) {
            attributes.clone_from(&above.attributes);
        }
        let (mut depth, mut without) = (0, false);
        for (at, piece) in cells[2].split('`').enumerate() {
            if at % 2 == 0 {
                depth += piece.matches('(').count();
                depth -= piece.matches(')').count().min(depth);
                without = piece.trim_end().ends_with("no");
            } else if depth == 0 && without {
                attributes.remove(piece);
            } else if depth == 0 {
                attributes.insert(piece.to_owned());
            }
        }
        let name = cells[0].trim_matches('`').to_owned();
        metrics.push(Metric { name, kind: cells[1].to_owned(), attributes });
    }
    metrics
}

/// Labels that Prometheus or the exporter adds to every metric.
const ADDED: [&str; 7] = [
    "__name__",
    "job",
    "instance",
    "le",
    "otel_scope_name",
    "otel_scope_version",
    "otel_scope_schema_url",
];

/// The labels with which each metric was seen, by its name.
pub(crate) type Seen = BTreeMap<String, BTreeSet<String>>;

/// Returns the differences between the documented and the exported metrics. `unseen` lists metrics
/// and `metric.attribute`s that the run cannot show, each with the reason; an entry that is seen is
/// a difference too.
pub(crate) fn differences(
    promised: &[Metric],
    seen: &Seen,
    unseen: &[(&str, &str)],
) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut unseen: BTreeSet<&str> = unseen.iter().map(|(name, _)| *name).collect();
    let mut known = BTreeSet::new();
    for metric in promised {
        let series = metric.series();
        known.extend(series.iter().cloned());
        let Some(labels) = series.iter().find_map(|name| seen.get(name)) else {
            if !unseen.remove(metric.name.as_str()) {
                wrong.push(format!("{} is documented and never exported", metric.name));
            }
            continue;
        };
        if series.iter().any(|name| !seen.contains_key(name)) {
            wrong.push(format!(
                "{} is documented as a {} and is of another kind",
                metric.name, metric.kind
            ));
        }
        for attribute in metric.attributes.difference(labels) {
            if !unseen.remove(format!("{}.{attribute}", metric.name).as_str()) {
                wrong.push(format!("{} is documented with {attribute} and has none", metric.name));
            }
        }
        for label in labels.difference(&metric.attributes).filter(|l| !ADDED.contains(&l.as_str()))
        {
            wrong.push(format!("{} has the label {label}, which is not documented", metric.name));
        }
    }
    let undocumented = seen.keys().filter(|name| !known.contains(*name));
    wrong.extend(undocumented.map(|name| format!("{name} is exported and not documented")));
    wrong.extend(unseen.iter().map(|name| format!("{name} is excused and needs no excuse")));
    wrong
}

#[test]
fn what_is_missing_on_either_side_is_found() {
    let promised = parse(
        "| `a_total` | counter | `x` (`v`, `w`), `y` | a |\n| `b_seconds` | histogram | same, no `x`, `z` | b |\n| `c` | gauge | | c |\n",
    );
    assert_eq!(promised[1].attributes, ["y", "z"].map(str::to_owned).into());
    let labels = |all: &[&str]| all.iter().map(|l| (*l).to_owned()).collect::<BTreeSet<_>>();
    let mut seen = Seen::from([
        ("a_total".to_owned(), labels(&["x", "y", "job"])),
        ("b_seconds_bucket".to_owned(), labels(&["y", "z", "le"])),
        ("b_seconds_count".to_owned(), labels(&["y", "z"])),
        ("b_seconds_sum".to_owned(), labels(&["y", "z"])),
        ("c".to_owned(), labels(&[])),
    ]);
    assert_eq!(differences(&promised, &seen, &[]), Vec::<String>::new());
    seen.remove("c");
    assert_eq!(differences(&promised, &seen, &[("c", "why")]), Vec::<String>::new());
    seen.insert("a_total".to_owned(), labels(&["x", "person"]));
    seen.remove("b_seconds_sum");
    seen.insert("d".to_owned(), labels(&[]));
    assert_eq!(differences(&promised, &seen, &[("e", "why")]).len(), 6);
}
