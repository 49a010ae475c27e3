//! The style sheets of the console, which a browser gets as one file: it paints nothing before it has
//! them all, and opens few connections at a time.

use std::collections::BTreeMap;

use super::BUILD;

/// Name of the file with all style sheets.
const ALL: &str = "console.css";
/// The beginning of a line of the index that names a style sheet, up to its path.
const LINK: &str = "<link rel=\"stylesheet\" href=\"";

/// Joins the style sheets that an index names, in their order, and returns the index that names the
/// result in place of the first one. The files of the sheets are replaced by that of all.
pub(super) fn joined(index: &str, files: &mut BTreeMap<String, Vec<u8>>) -> String {
    let (mut all, mut lines) = (Vec::new(), Vec::new());
    for line in index.lines() {
        let name = line.strip_prefix(LINK).and_then(|rest| rest.strip_prefix(BUILD));
        let Some(name) = name.and_then(|rest| rest.split('"').next()) else {
            lines.push(line.to_owned());
            continue;
        };
        if all.is_empty() {
            lines.push(format!("{LINK}{BUILD}{ALL}\">"));
        }
        all.extend(files.remove(name).unwrap_or_default());
        all.push(b'\n');
    }
    files.insert(ALL.to_owned(), all);
    lines.push(String::new());
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn style_sheets_are_one_file_in_the_order_of_the_index() {
        let index = "<head>\n<link rel=\"stylesheet\" href=\"/ui/BUILD/z.css\">\n\
                     <link rel=\"stylesheet\" href=\"/ui/BUILD/a.css\">\n</head>\n";
        let files = [("a.css", "a {}"), ("z.css", "z {}"), ("app.js", "")];
        let mut files =
            files.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec())).into();
        assert_eq!(
            joined(index, &mut files),
            "<head>\n<link rel=\"stylesheet\" href=\"/ui/BUILD/console.css\">\n</head>\n"
        );
        assert_eq!(files.keys().collect::<Vec<_>>(), ["app.js", "console.css"]);
        assert_eq!(files["console.css"], b"z {}\na {}\n");
    }
}
