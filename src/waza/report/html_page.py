"""The frame of HTML reports: one page that needs nothing else, no network and no other file.

Whatever agents and graders wrote is text: it is escaped, and the page's own policy lets a browser run no script but
ours. Without scripts everything is there, too, but for the filters. With a `PageApp` a page turns into an app where
scripts run; what it is without them is its reduced form.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path

import msgspec

from waza.kit.unsafe_text import escape_unsafe
from waza.report.section import Draw, Part, Table
from waza.report.words import one_line

_THEME = "Dark or light"
_SCRIPT_END = re.compile(r"<(?=/script|!--)", re.IGNORECASE)
# Until the app takes over, its style does not apply: the page has the style of its reduced form.
_START = 'document.getElementById("app-style").media = "all";\n'


class PageApp(msgspec.Struct, frozen=True, kw_only=True):
    """What takes the place of a page where scripts run: it removes all elements that are `data-reduced`."""

    script: str
    """A JavaScript module, which draws into the element `app`."""
    style: str
    """Its CSS."""
    data: str
    """JSON, which it reads from the element `waza-data`; it may hold any text."""


class PageParts(msgspec.Struct, frozen=True, kw_only=True):
    """A page in parts, of which all but `title` and `style` are HTML; `tools` are for the script of the frame."""

    title: str
    header: list[str]
    tools: list[str]
    main: list[str]
    style: str

    def draw(self) -> str:
        """Return the page as a whole."""
        return make_page(self.title, self.header, [*self.tools, *self.main], self.style)


def make_page(
    title: str, header: Iterable[str], main: Iterable[str], style: str, app: PageApp | None = None
) -> str:
    """Return a page; `header` and `main` are HTML, `style` is CSS besides that of the frame."""
    if app is not None:
        return _make_app_page(title, header, main, style, app)
    theme = element("button", "◐", type="button", id="theme", aria_label=_THEME, title=_THEME, hidden="")
    parts = [
        f'<!doctype html>\n<html lang="en">\n{_head(title, style, _read("page.js"))}\n<body><header>',
        *header,
        theme,
        "</header><main>",
        *main,
        f"</main><script>{_read('page.js')}</script></body>\n</html>\n",
    ]
    return "".join(parts)  # once: pages may be large


def _make_app_page(title: str, header: Iterable[str], main: Iterable[str], style: str, app: PageApp) -> str:
    script = _START + _SCRIPT_END.sub(r"\\x3c", app.script)
    parts = [
        f'<!doctype html>\n<html lang="en">\n{_head(title, style, script, app)}\n<body>',
        "<div data-reduced><header>",
        *header,
        "</header><main>",
        *main,
        '</main></div><div id="app"></div><script type="application/json" id="waza-data">',
        _escape_json(app.data),
        f'</script><script type="module">{script}</script></body>\n</html>\n',
    ]
    return "".join(parts)


def _escape_json(text: str) -> str:
    """Return JSON that no parser of HTML or JavaScript takes for anything else."""
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _head(title: str, style: str, script: str, app: PageApp | None = None) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    own = page_style() + _read("plots.css") + style
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    if app is not None:
        policy += "; img-src data:; base-uri 'none'; form-action 'none'"
    styles = [element("style", own, data_reduced="" if app else None)]
    if app is not None:
        styles.append(element("style", app.style.replace("</", "<\\/"), id="app-style", media="not all"))
    return element(
        "head",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        element("title", escape_text(title)),
        *styles,
    )


@cache
def _read(file: str) -> str:
    return Path(__file__).with_name(file).read_text(encoding="utf-8")


def page_style() -> str:
    """Return the styles that all pages have in common."""
    return _read("palette.css") + _read("page.css")


def escape_text(value: object) -> str:
    r"""Return any value as HTML that shows just its text; what cannot be seen becomes an escape such as \x1b."""
    return escape(escape_unsafe(str(value)))


def element(name: str, *content: str, **attributes: str | None) -> str:
    """Return an element. `content` is HTML; attributes are text (None: left out), a `_` at their end is cut."""
    own = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape_text(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{own}>{''.join(content)}</{name}>"


def make_table(head: Iterable[str], rows: Iterable[str], name: str) -> str:
    """Return a table of these cells and rows, which are HTML; `name` are its classes."""
    return element("table", element("thead", element("tr", *head)), element("tbody", *rows), class_=name)


def make_wide_table(table: Table, name: str) -> str:
    """Return a table that may be too wide for a screen, and is then scrolled by itself."""
    rows = [
        make_row(
            escape_text(one_line(first)),
            *(element("td", escape_text(one_line(cell)), class_="number") for cell in rest),
        )
        for first, *rest in table.lines
    ]
    numbers = range(1, len(table.titles))
    inner = make_table(make_titles(table.titles, numbers=numbers), rows, "framed")
    return element("div", inner, class_="scroll", role="region", aria_label=name, tabindex="0")


def make_row(first: str, *cells: str, **attributes: str | None) -> str:
    """Return a row of a table; `first` is the HTML of its heading."""
    return element("tr", element("th", first, scope="row"), *cells, **attributes)


def make_titles(titles: Iterable[str], numbers: Iterable[int] = ()) -> list[str]:
    """Return the cells of the head of a table; `numbers` are the places of columns with numbers."""
    right = set(numbers)
    return [
        element("th", escape_text(title), scope="col", class_="number" if i in right else None)
        for i, title in enumerate(titles)
    ]


def make_section_page(title: str, print_sections: Callable[[Draw], None]) -> str:
    """Return a page of the sections that a function draws: lines as paragraphs, and tables."""
    main = list[str]()

    def draw(name: str, parts: Sequence[Part]) -> None:
        if parts:
            main.append(element("h2", escape_text(name.capitalize())))
        for part in parts:
            shown = (
                make_wide_table(part, name) if isinstance(part, Table) else element("p", escape_text(part))
            )
            main.append(shown)

    print_sections(draw)
    return make_page(title, [element("h1", escape_text(title))], main, "")


def make_bar(tones: Iterable[tuple[str, int]]) -> str:
    """Return a bar of shares, each a tone and a count; the numbers must be beside it."""
    parts = [element("i", class_=tone, style=f"flex:{count}") for tone, count in tones if count]
    return element("div", *parts, class_="bar", aria_hidden="true")


def make_facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Return names and values as a line of facts."""
    items = [
        element("li", f"{escape_text(name)} ", element("b", escape_text(value))) for name, value in pairs
    ]
    return element("ul", *items, class_="facts")


def make_legend(lines: Iterable[tuple[str, str, int, str]]) -> str:
    """Return counts of statuses with their meanings; a line is a tone, a status, its count and its meaning."""
    parts = [
        element(
            "div",
            element("dt", element("b", str(count)), f" {status}"),
            element("dd", meaning),
            class_=tone if count else "none",
        )
        for tone, status, count, meaning in lines
    ]
    return element("dl", *parts, class_="legend")


def make_tools(noun: str, buttons: Iterable[tuple[str, str, int]], *others: str) -> str:
    """Return what only the script can serve, which shows it: filters of items by status and by words.

    A button is a tone, a status and its count; `others` are further controls, as HTML. Items are all elements with
    `data-item`, a key, and `data-status`; `noun` is what they are called.
    """
    status = [
        element(
            "button",
            f"{name} {count}",
            type="button",
            class_=tone,
            data_show=name,
            aria_pressed=str(name == "all").lower(),
        )
        for tone, name, count in buttons
        if count or name == "all"
    ]
    return element(
        "search",
        element("div", *status, role="group", aria_label="Status"),
        f'<input id="words" type="search" placeholder="Search" autocomplete="off" aria-label="Search {noun}">',
        *others,
        element("button", "Expand all", type="button", id="fold"),
        element("output", id="shown"),
        id="tools",
        aria_label=noun.capitalize(),
        data_noun=noun,
        hidden="",
    )


def make_select(name: str, label: str, options: Mapping[str, str]) -> str:
    """Return a choice between options, values and how they are shown."""
    choices = [element("option", escape_text(shown), value=value) for value, shown in options.items()]
    return element("select", *choices, id=name, aria_label=label, autocomplete="off")


def make_text(label: str, text: str, width: str | None = None) -> str:
    """Return a text under its label, as a part of a `dl` of the class `texts`."""
    return element("div", element("dt", label), element("dd", escape_text(text)), class_=width)
