"""The plots of reports as trees of elements, which pages draw without making HTML of texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as ET

from waza.dashboard.pages import PlotNode
from waza.report.rows import TaskRow
from waza.report.task_plots import plot_tasks


def plot_nodes(rows: Sequence[TaskRow]) -> list[PlotNode]:
    """Return the plots of a run, whose tasks are these; none of a single trial."""
    return [_node(ET.fromstring(plots)) for plots in plot_tasks(1, rows)]  # noqa: S314  we have just written it


def _node(element: ET.Element) -> PlotNode:
    return PlotNode(tag=element.tag, attributes=dict(element.attrib), children=list(_children(element)))


def _children(element: ET.Element) -> Iterator[PlotNode | str]:
    if element.text:
        yield element.text
    for child in element:
        yield _node(child)
        if child.tail:
            yield child.tail
