"""What can be measured of how a page looks."""

from __future__ import annotations

import re

from playwright.sync_api import Page

# The least contrast of texts with what is behind them (WCAG 2.2, success criterion 1.4.3), and where it is.
CONTRAST = """() => {
  const rgb = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => rgb(colour).slice(0, 3).map((part) => part / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const colour = getComputedStyle(one).backgroundColor;
      if (rgb(colour)[3] !== 0) return colour;
    }
    return "rgb(255, 255, 255)"; // paper
  };
  const found = [...document.body.querySelectorAll("*")]
    .filter((one) => one.checkVisibility() && [...one.childNodes].some((node) => node.nodeType === 3))
    .map((one) => {
      const lights = [light(getComputedStyle(one).color), light(behind(one))].sort((a, b) => b - a);
      return [(lights[0] + 0.05) / (lights[1] + 0.05), one.outerHTML.slice(0, 80)];
    });
  return [found.length, ...found.sort((a, b) => a[0] - b[0])[0]];
}"""


def is_bright(page: Page) -> bool:
    """Whether the page is bright."""
    colour: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return sum(map(int, re.findall(r"\d+", colour)[:3])) > 3 * 128
