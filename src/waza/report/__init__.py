"""Listeners and documents for people and machines; and the reporters, a table of names, so that listing them imports nothing."""

TYPES = {
    "junit": "waza.report.junit:JUnitReporter",
    "markdown": "waza.report.markdown:MarkdownReporter",
}
