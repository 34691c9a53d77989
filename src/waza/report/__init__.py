"""Listeners and documents for people and machines; and the reporters, a table of names, so that listing them imports nothing."""

TYPES = {
    "html": "waza.report.html_report:HtmlReporter",
    "junit": "waza.report.junit:JUnitReporter",
    "markdown": "waza.report.markdown:MarkdownReporter",
}
