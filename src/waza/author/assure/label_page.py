"""The page on which a rater labels answers: HTML without a script. Answers are text, whatever they look like."""

from __future__ import annotations

from pathlib import Path

from waza.author.assure.labels import CHOICES, Choice, Labelling, LabelQuestion
from waza.kit.text import pluralize
from waza.report.html_page import element, escape_text, page_style

STYLE = "style.css"
"""Where pages look for their styles, beside themselves."""

_SHOWN: dict[Choice, str] = {"pass": "Pass", "fail": "Fail", "unsure": "Unsure"}
_TONES: dict[Choice, str] = {"pass": "pass", "fail": "fail", "unsure": "partial"}


def read_style() -> bytes:
    """Return the styles of the pages."""
    return (page_style() + Path(__file__).with_name("label_page.css").read_text(encoding="utf-8")).encode()


def make_question_page(labelling: Labelling, number: int) -> str:
    """Return the page of a question by its place in the order, with the label that the rater gave it before."""
    question, count = labelling.questions[number], len(labelling.questions)
    title = f"Question {number + 1} of {count}"
    main = [
        _section("Prompt", question.answer.prompt),
        _section("Expected", question.expected) if question.expected.strip() else "",
        _section("Answer", question.answer.output, _note(question)),
        _form(question, number, labelling.label_of(number)),
        _links(number, count),
    ]
    return _page(title, labelling, main)


def make_end_page(labelling: Labelling) -> str:
    """Return the page of a rater who has labelled everything."""
    count = len(labelling.questions)
    text = f"{pluralize(count, 'question')} labelled. Labels are kept; you can close this page, and end waza with Ctrl-C."
    back = element("a", "Look at the labels again", href="0")
    return _page("All labelled", labelling, [element("p", escape_text(text)), element("p", back)])


def make_message_page(title: str, message: str) -> str:
    """Return a page that says what is wrong."""
    return _document(title, [element("h1", escape_text(title)), element("p", escape_text(message))])


def _page(title: str, labelling: Labelling, main: list[str]) -> str:
    done = element("p", escape_text(labelling.describe()), class_="quiet")
    return _document(title, [element("h1", escape_text(title)), done, *main])


def _document(title: str, main: list[str]) -> str:
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape_text(title)}</title>"
        f'<link rel="icon" href="data:,"><link rel="stylesheet" href="{STYLE}">'
    )
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{element("main", *main)}</body></html>\n'
    )


def _section(title: str, text: str, note: str = "") -> str:
    shown = (
        element("pre", escape_text(text), dir="auto")
        if text.strip()
        else element("p", "It is empty.", class_="quiet")
    )
    return element("section", element("h2", title), note, shown)


def _note(question: LabelQuestion) -> str:
    cut = "It was very long; only its beginning and its end were kept."
    return element("p", cut, class_="quiet") if question.answer.truncated else ""


def _form(question: LabelQuestion, number: int, now: Choice | None) -> str:
    criterion = (
        element("pre", escape_text(question.criterion), dir="auto")
        if question.criterion.strip()
        else element("p", "The results do not hold its criterion.", class_="quiet")
    )
    given = element("p", f"Your label: {_SHOWN[now]}", role="status") if now else ""
    buttons = [
        element("button", _SHOWN[one], name_="label", value=one, class_=_TONES[one], accesskey=one[0])
        for one in CHOICES
    ]
    asked = f"Does the answer meet the criterion of {question.grader}?"
    fields = element(
        "fieldset",
        element("legend", escape_text(asked)),
        criterion,
        element("div", *buttons, class_="choices"),
        given,
    )
    return element("form", fields, method="post", action=str(number))


def _links(number: int, count: int) -> str:
    links = []
    if number > 0:
        links.append(element("a", "Previous", href=str(number - 1), rel="prev"))
    if number + 1 < count:
        links.append(element("a", "Next", href=str(number + 1), rel="next"))
    return element("nav", *links, aria_label="Questions") if links else ""
